import * as z from "zod";
import type { BlameOriginShape, GrepMatchShape, UnsearchedShape } from "../../api/file-api.ts";
import type { Answer } from "../tool-answer.ts";
import { inWorkspace, moment, NARROW_PATHS, path, paths, pathsIn } from "../arguments.ts";
import { listed } from "../fit.ts";
import { counted, oneLine } from "../one-line.ts";
import { noteLines, timeOf } from "../show.ts";
import { shortId } from "../short-ids.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";
import { optional } from "../../util/optional.ts";

/** The maximum lengths, in characters, of a line of a file and of a name in an answer. */
const LONGEST_LINE = 160;
const LONGEST_NAME = 40;

const origin = z.looseObject({ kind: output.text, actor: output.text, time: output.text.nullable() });

/** The author and the time of a change, in short. */
interface Origin {
  readonly kind: string;
  readonly actor: string;
  readonly action?: string;
  readonly turn?: string;
  readonly time: string | null;
}

function originOf({ kind, actor, action, turn, timestamp }: BlameOriginShape): Origin {
  return {
    ...{ kind, actor: oneLine(actor, LONGEST_NAME) },
    ...optional({ action: shortIn(action), turn: shortIn(turn) }),
    time: timestamp === null ? null : timeOf(new Date(timestamp).toISOString()),
  };
}

function shortIn(id: string | undefined): string | undefined {
  return id === undefined ? undefined : shortId(id);
}

const NOT_RECORDED: Readonly<Record<string, string>> = {
  nobody: "nobody that was recorded",
  baseline: "the first recorded state",
  unrecorded: "somebody, not recorded yet",
  earlier: "a change that is no longer kept",
  between: "one of several changes that are no longer kept",
};

function originText({ kind, actor, action, turn, time }: Origin): string {
  const who = NOT_RECORDED[kind] ?? actor;
  const ids = [action === undefined ? "" : `action ${action}`, turn === undefined ? "" : `turn ${turn}`];
  return [who, ...ids, time ?? ""].filter((part) => part !== "").join(", ");
}

/** The minimum length, in characters, of a line of an answer. */
const SHORTEST_LINE = 5;

function actionStep(origins: readonly Origin[]): string[] {
  const action = origins.find((one) => one.action !== undefined)?.action;
  return action === undefined ? [] : [`show_action {"id":"${action}","patch":true} shows the whole change.`];
}

const blame = defineTool({
  name: "blame",
  title: "Who wrote each line",
  description:
    "Says who wrote each line of a file, with which action, in which turn, and when. Renames are followed. Use it to find out who " +
    "broke a line, before you undo that action. Give a few lines: the answer is short.",
  input: z.strictObject({
    path,
    from_line: z.number().int().min(1).describe("the first line (default: the first of the file)").optional(),
    to_line: z.number().int().min(1).describe("the last line (default: the last of the file)").optional(),
    at: moment.optional(),
  }),
  output: {
    path: output.path,
    lines: z.array(z.looseObject({ line: output.count, text: output.text, by: origin })).describe("the first lines"),
    total_lines: output.count.describe("the number of requested lines"),
    notes: output.texts,
  },
  effect: "reads",
  hints: { NOT_FOUND: "find_file finds recorded paths by their name, deleted ones included" },
  narrow: "or give a range of lines",
  run: async (workspace, { path: given, from_line, to_line, at }, room): Promise<Answer> => {
    const asked = optional({ at, fromLine: from_line, toLine: to_line });
    const found = await workspace.blame(inWorkspace(workspace, given), asked);
    const origins = found.origins.map(originOf);
    const all = found.lines.flatMap(({ line, origin: from, text }) => {
      const by = origins[from];
      return by === undefined ? [] : [{ line, text: oneLine(text, LONGEST_LINE), by }];
    });
    // Leave out the lines that cannot fit, whatever their length.
    const items = all.slice(0, room.data / SHORTEST_LINE);
    const lines = items.map(({ line, text, by }, i) => {
      const header = items[i - 1]?.by === by ? "" : `by ${originText(by)}:\n`;
      return `${header}  ${line}  ${text}`;
    });
    const notes = noteLines(found.notes);
    return {
      summary: `${oneLine(found.path)}: ${counted(all.length, "line")}${found.deleted === true ? " (the file is deleted)" : ""}`,
      lines: [listed(lines, all.length), listed(notes)],
      next: actionStep(items.map(({ by }) => by)),
      data: { path: found.path, lines: items, total_lines: all.length, notes },
    };
  },
});

const STATE_MOMENT =
  "the moment whose recorded state is searched, in the form that restore takes. Default, and also meant by `now`: the last recorded state. " +
  "Edits on disk that are not recorded yet are never searched";

const grep = defineTool({
  name: "grep",
  title: "Search recorded contents",
  description:
    "Finds the lines that match a JavaScript regular expression, in the last recorded state or at a moment. With `history`, it searches " +
    "everything that was ever recorded, also deleted files, and says who brought each line and whether it is still there. Use it to find " +
    "lost text, or who added or removed something. Files that are secrets are not searched.",
  input: z.strictObject({
    pattern: z.string().min(1).max(10_000).describe("a regular expression, or with `fixed` a text"),
    paths: paths.optional(),
    history: z.boolean().default(false).describe("search all recorded contents of any time"),
    at: moment.describe(STATE_MOMENT).optional(),
    ignore_case: z.boolean().default(false).describe("treat upper and lower case alike"),
    fixed: z.boolean().default(false).describe("take the pattern as plain text"),
    files_only: z.boolean().default(false).describe("name each file once, without its lines"),
  }),
  output: {
    matches: z
      .array(z.looseObject({ path: output.path, line: output.count.nullable(), text: output.text }))
      .describe("the first matches"),
    total_matches: output.count,
    complete: output.flag,
    unsearched: z.array(z.looseObject({ path: output.path, reason: output.text })),
    notes: output.texts,
  },
  effect: "reads",
  hints: { NOT_FOUND: "find_file finds recorded paths by their name, deleted ones included" },
  narrow: NARROW_PATHS,
  run: async (workspace, { pattern, paths: given, at, ...how }, room): Promise<Answer> => {
    const { history, fixed, ignore_case: ignoreCase, files_only: filesOnly } = how;
    const options = {
      history,
      fixed,
      ignoreCase,
      filesOnly,
      limit: Math.ceil(room.data / SHORTEST_LINE),
      ...optional({ at }),
    };
    const found = await workspace.grep(pattern, { ...options, ...pathsIn(workspace, given) });
    const items = found.matches.map(shownMatch);
    const notes = noteLines(found.notes);
    const unsearched = found.unsearched.slice(0, MOST_UNSEARCHED);
    const total = found.total_matches;
    return {
      summary: total === 0 ? "Nothing matches." : `${counted(total, "match").replace(/hs$/, "hes")}:`,
      lines: [
        listed(items.map(matchLines), total),
        ...unsearchedLines(unsearched, found.total_unsearched),
        listed(notes),
      ],
      next: actionStep(items.flatMap(({ from }) => from ?? [])),
      data: { matches: items, total_matches: total, complete: found.complete, unsearched, notes },
    };
  },
});

const MOST_UNSEARCHED = 5;

function unsearchedLines(unsearched: readonly UnsearchedShape[], total: number): string[] {
  if (total === 0) return [];
  const named = unsearched.map((one) => `${oneLine(one.path, LONGEST_LINE)} (${one.reason})`);
  const rest = total - named.length;
  return [`The answer is not complete. Not searched: ${named.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`];
}

/** A match, in short. `from`, `until` and `until_unknown` are present only for a search of the history. */
interface ShownMatch {
  readonly path: string;
  readonly iteration: number;
  readonly line: number | null;
  readonly text: string;
  readonly from?: Origin;
  readonly until?: Origin | null;
  readonly until_unknown?: true;
}

function shownMatch({ path: at, iteration, line, text, from, until, ...more }: GrepMatchShape): ShownMatch {
  const ends = {
    ...(until === undefined ? {} : { until: until === null ? null : originOf(until) }),
    ...optional({ until_unknown: more.until_unknown }),
  };
  const begins = from === undefined ? {} : { from: originOf(from) };
  return { path: at, iteration, line, text: oneLine(text, LONGEST_LINE), ...begins, ...ends };
}

function matchLines({ path: at, iteration, line, text, from, ...ends }: ShownMatch): string {
  const name = `${oneLine(at)}${from === undefined ? "" : `, iteration ${iteration}`}`;
  const found = line === null ? name : `${name}:${line}: ${text}`;
  return from === undefined ? found : `${found}\n  by ${originText(from)}; ${endOf(iteration, ends)}`;
}

function endOf(
  iteration: number,
  { until, until_unknown: isUnknown }: Pick<ShownMatch, "until" | "until_unknown">,
): string {
  if (isUnknown === true) return `last seen in iteration ${iteration}; later contents were not searched`;
  return until === undefined || until === null ? "still there" : `gone: ${originText(until)}`;
}

export const LINE_TOOLS: readonly Tool[] = [blame, grep];
