import type { BlameOriginShape, GrepMatchShape, GrepOptions, GrepShape } from "../../../api/file-api.ts";
import { EXIT } from "../../../api/problems.ts";
import type { Input } from "../../../process/input.ts";
import { type Paint, printable, printableText, shortened, widthOf } from "../../../process/printable.ts";
import { groupedDigits } from "../../../util/grouped-digits.ts";
import { optional } from "../../../util/optional.ts";
import { originCells } from "../../render/origins.ts";
import type { TimelineContext } from "../../render/timeline.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";

const DEFAULT_LIMIT = 1_000;

/** The maximum number of unsearched contents that are named. */
const MOST_NAMED = 5;

interface GrepContext extends Pick<CommandContext, "paint"> {
  readonly io: TimelineContext["io"];
}

type Shown = (path: string) => string;

/**
 * Returns one line for each match. With `--history`, each match has a second line: who added the text and when, and
 * when the text was removed.
 */
export function grepLines(context: GrepContext, matches: readonly GrepMatchShape[], shown: Shown): string[] {
  return matches.flatMap((match) => {
    const { from } = match;
    const line = matchLine(context, match, shown);
    return from === undefined ? [line] : [line, `    ${originText(context, from)}, ${endOf(context, match)}`];
  });
}

function matchLine({ paint, io }: GrepContext, match: GrepMatchShape, shown: Shown): string {
  const { path, line, iteration, binary, from } = match;
  const at = from === undefined ? "" : `@${iteration}`;
  const name = paint("magenta", shown(path)) + at;
  if (line === null) return binary === true ? `binary file ${name} matches` : name;
  const colon = paint("cyan", ":");
  const head = `${name}${colon}${paint("green", String(line))}${colon}`;
  return head + (io.out.isTerminal ? fitted(match, paint, io.out.columns - widthOf(head)) : match.text);
}

/** The number of characters that are shown before the first match if the line is wider than the terminal. */
const BEFORE = 20;

/** Returns a part of the line that contains the first match and fits the terminal, with the matches in colour. */
function fitted({ text, spans }: GrepMatchShape, paint: Paint, room: number): string {
  const [first = 0, firstEnd = 0] = spans[0] ?? [];
  const start = firstEnd <= room ? 0 : Math.max(0, first - BEFORE);
  let [shown, left, at] = start > 0 ? ["…", room - 1, start] : ["", room, 0];
  const add = (to: number, isMatch: boolean): void => {
    const part = printableText(text.slice(at, to)).replaceAll("\t", "  ");
    const cut = shortened(part, Math.max(0, left));
    shown += isMatch ? paint(["bold", "red"], cut) : cut;
    left -= cut === part ? widthOf(part) : left;
    at = to;
  };
  for (const [from = 0, to = 0] of spans) {
    if (left <= 0) break;
    if (from < at) continue;
    add(from, false);
    if (left > 0) add(to, true);
  }
  if (left > 0) add(text.length, false);
  return shown;
}

function endOf(context: GrepContext, { iteration, until, until_unknown: isUnknown }: GrepMatchShape): string {
  const { paint } = context;
  if (isUnknown === true) return `last seen in @${iteration}; later contents were not searched`;
  if (until === undefined || until === null) return paint("green", "still there");
  return `${paint("red", "gone")} ${originText(context, until)}`;
}

function originText({ paint, io }: GrepContext, origin: BlameOriginShape): string {
  const [id, who, turn, when] = originCells(origin, io.now());
  const parts = [paint("dim", when), paint("yellow", id), paint("cyan", printable(who))];
  return [...parts, turn === "" ? "" : paint("dim", `turn ${turn}`)].filter((part) => widthOf(part) > 0).join(" ");
}

function optionsOf(input: Input): GrepOptions {
  const limit = input.number("limit") ?? DEFAULT_LIMIT;
  return {
    ...optional({ at: input.text("at") }),
    history: input.flag("history"),
    ignoreCase: input.flag("ignoreCase"),
    fixed: input.flag("fixed"),
    filesOnly: input.flag("files"),
    limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit,
  };
}

/** Returns a warning that names the contents that were not searched; an empty list if the search was complete. */
function warnings({ unsearched, total_unsearched: total, complete }: GrepShape, shown: Shown): string[] {
  if (complete) return [];
  const named = unsearched
    .slice(0, MOST_NAMED)
    .map(({ path, iteration, reason }) => `${shown(path)}@${iteration} (${REASONS[reason]})`);
  const more = total - named.length;
  return [`not searched: ${named.join(", ")}${more > 0 ? `, and ${groupedDigits(more)} more` : ""}`];
}

const REASONS = {
  slow: "the pattern takes too long",
  "too-large": "over 32 MiB",
  time: "the search took too long",
  "not-kept": "no longer kept",
} as const;

export async function grep(context: CommandContext): Promise<number> {
  const { input } = context;
  const [pattern = "", ...typed] = input.args;
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const wanted = await Promise.all(typed.map((path) => paths.toWorkspace(path)));
  const options = { ...optionsOf(input), ...(wanted.length === 0 ? {} : { paths: wanted }) };
  const found = await workspace.grep(pattern, options).catch(async (error: unknown) => {
    throw await withCandidates(workspace, error, paths);
  });
  const shown: Shown = (path) => paths.shown(path);
  if (context.json) context.printJson(found);
  else {
    const matches = input.flag("files") ? found.matches.map(nameOnly) : found.matches;
    for (const line of grepLines(context, matches, shown)) context.print(line);
    const more = found.total_matches - found.matches.length;
    if (more > 0) context.say(`… and ${groupedDigits(more)} more: --limit 0`);
    if (found.total_matches === 0) context.say(nothingIn(found, input.flag("history")));
  }
  for (const warning of warnings(found, shown)) context.say(warning);
  for (const note of context.json ? [] : found.notes) context.say(printable(note));
  return found.complete ? EXIT.done : EXIT.failed;
}

/** Returns the match without `binary` and `from`, because `--files` shows only names. */
function nameOnly(match: GrepMatchShape): GrepMatchShape {
  const { binary: _, from: __, ...name } = match;
  return name;
}

function nothingIn({ contents }: GrepShape, isOfHistory: boolean): string {
  const where = isOfHistory ? "kept" : "recorded";
  return `no line matches in ${groupedDigits(contents)} ${where} content${contents === 1 ? "" : "s"}`;
}
