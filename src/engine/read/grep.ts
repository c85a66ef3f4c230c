import type { GrepMatchShape, GrepOptions, GrepShape, UnsearchedShape } from "../../api/file-api.ts";
import { type LinePattern, LineSearch } from "../../core/text/line-search.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { comparePaths, isWithin, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { tellStale } from "../facts/stale-states.ts";
import type { Context } from "../log/context.ts";
import { knownPaths } from "../log/known-paths.ts";
import { exactPath, shownPath } from "../log/shape.ts";
import { provedState } from "../state/proved-state.ts";
import { type ContentsFound, searchContents } from "./grep-contents.ts";
import { matchesInHistory } from "./grep-history.ts";
import { type Asked, type GrepFound, hashOf, matchShape, type Unsearched } from "./grep-match.ts";
import { seqOf } from "./list-files.ts";
import { historiesOf, secretPaths } from "./searched-histories.ts";

const DEFAULT_LIMIT = 1_000;

/** The maximum number of unsearched contents that an answer names. */
const MOST_UNSEARCHED = 100;

/**
 * Returns the lines that match a pattern, in a recorded state or, with `history`, in all kept contents of the history.
 * Throws `USAGE` for an invalid pattern or option, and `NOT_FOUND` for a path that was never recorded. Throws
 * `LIMIT_EXCEEDED` if more lines match than can be held in memory. Also throws the errors of `resolveMoment`.
 */
export async function grep(context: Context, text: string, options: GrepOptions = {}): Promise<GrepShape> {
  const { fixed = false, ignoreCase = false, filesOnly = false, limit = DEFAULT_LIMIT } = options;
  const pattern = { text, isFixed: fixed, ignoresCase: ignoreCase };
  check(pattern, limit, options);
  const folders = (await knownPaths(context, options.paths)) ?? [];
  const asked = { pattern, filesOnly, limit, folders: folders.length === 0 ? [ROOT] : folders };
  const isOfHistory = options.history === true;
  const histories = isOfHistory ? await historiesOf(context, asked.folders) : await stateOf(context, asked, options.at);
  const secrets = await secretPaths(context, [...histories.keys()]);
  const isAgent = context.caller.role === "agent";
  if (isAgent) for (const path of secrets) histories.delete(path);
  const rows = [...histories.values()].flat();
  // A search in the history needs all matching lines of each content, to tell which iterations have a line.
  const contents = await searchContents(context, rows, {
    pattern,
    mostLines: filesOnly ? 0 : isOfHistory ? Number.MAX_SAFE_INTEGER : limit,
    mostKept: isOfHistory || filesOnly ? undefined : limit,
  });
  const found = isOfHistory
    ? await matchesInHistory(context, asked, { histories, contents })
    : await matchesInState(context, asked, { rows, contents, seq: await seqOf(context, options.at) });
  return {
    ...(secrets.size > 0 && !isAgent ? { class: "protected" as const } : {}),
    matches: found.matches,
    total_matches: found.total,
    contents: contents.searched,
    bytes: contents.bytes,
    complete: found.unsearched.length === 0,
    unsearched: found.unsearched.slice(0, MOST_UNSEARCHED).map(unsearchedShape),
    total_unsearched: found.unsearched.length,
    notes: notesOf({ secrets: isAgent ? secrets.size : 0, missing: isOfHistory ? contents.missing : 0 }),
  };
}

function check(pattern: LinePattern, limit: number, { at, history }: GrepOptions): void {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new ChronicleError("USAGE", `the limit is no whole number above 0: ${limit}`, {
      hint: "give a number from 1",
    });
  if (history === true && at !== undefined)
    throw new ChronicleError("USAGE", "a moment cannot be combined with the whole history", {
      hint: "leave out the moment, or search only the state at the moment",
    });
  // Throws if the pattern is invalid, before anything is read.
  void new LineSearch(pattern);
}

/** Returns the files beneath the folders at a moment, in path order, each with its iteration at that moment. */
async function stateOf(
  context: Context,
  { folders }: Asked,
  at: string | undefined,
): Promise<Map<WorkspacePath, readonly IterationRow[]>> {
  const seq = await seqOf(context, at);
  if (at !== undefined && at !== "now")
    await tellStale(context, seq, (path) => folders.some((folder) => isWithin(path, folder)));
  const files = new Map<WorkspacePath, readonly IterationRow[]>();
  for (const folder of folders)
    for await (const rows of context.index.entriesAt(seq, folder === ROOT ? undefined : folder))
      for (const row of rows) if (row.entry?.kind === "file") files.set(row.path, [row]);
  return new Map([...files].sort(([a], [b]) => comparePaths(a, b)));
}

interface StateSearched {
  readonly rows: readonly IterationRow[];
  readonly contents: ContentsFound;
  readonly seq: number;
}

async function matchesInState(
  context: Context,
  { filesOnly, limit }: Asked,
  { rows, contents, seq }: StateSearched,
): Promise<GrepFound> {
  const matches: GrepMatchShape[] = [];
  const shown: IterationRow[] = [];
  const unsearched: Unsearched[] = [];
  let total = 0;
  for (const row of rows) {
    const found = contents.of(hashOf(row));
    if (typeof found === "string") unsearched.push({ row, reason: found });
    if (found === undefined || typeof found === "string") continue;
    const isWhole = filesOnly || found.isBinary;
    total += isWhole ? 1 : found.total;
    if (matches.length >= limit) continue;
    shown.push(row);
    if (isWhole) matches.push(matchShape(row, undefined, found.isBinary));
    for (const line of isWhole ? [] : found.lines.slice(0, limit - matches.length)) matches.push(matchShape(row, line));
  }
  await (await provedState(context, seq)).prove(shown);
  return { matches, total, unsearched };
}

function unsearchedShape({ row, reason }: Unsearched): UnsearchedShape {
  return { path: shownPath(row.path), ...exactPath(row.path), iteration: row.iteration, reason };
}

function notesOf({ secrets, missing }: { readonly secrets: number; readonly missing: number }): string[] {
  return [
    ...(secrets > 0 ? [`files with names of secrets were not searched: ${secrets}`] : []),
    ...(missing > 0 ? [`contents that are no longer kept were not searched: ${missing}`] : []),
  ];
}
