import type { BlameOriginShape, GrepMatchShape } from "../../api/file-api.ts";
import type { ContentMatches, FoundLine } from "../../core/text/line-search.ts";
import { tooManyLines } from "../../core/text/search-budget.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import type { ContentsFound } from "./grep-contents.ts";
import { type Asked, type GrepFound, hashOf, matchShape, type Unsearched } from "./grep-match.ts";
import { changeOrigins, type FoundChange } from "./searched-histories.ts";

/** A matching line, or a matching content as a whole, in successive iterations of a path. */
interface Run {
  /** The change that brought the line or the content. */
  readonly from: FoundChange;
  /** The last searched iteration that has the line or the content. */
  last: IterationRow;
  /** The line as the last iteration has it; `undefined` for a content as a whole. */
  line: FoundLine | undefined;
  isBinary: boolean;
  /** The change that removed the line or the content; `undefined` if the path still has it, or if this is not known. */
  until?: FoundChange;
  /**
   * Set if the newest contents of the path were not searched, so that it is not known whether the path still has the
   * line.
   */
  isUnknown?: true;
}

/**
 * The maximum number of `Run` objects that are held at once. The budget of the search counts each content once. Many
 * iterations can have the same content, so this number needs a limit of its own.
 */
const MOST_RUNS = 1_000_000;

interface HistoriesSearched {
  readonly histories: ReadonlyMap<WorkspacePath, readonly IterationRow[]>;
  readonly contents: ContentsFound;
}

/**
 * Returns each matching line that some iteration of a path has, newest first, with the changes that brought the line
 * and removed it. With `filesOnly`, returns each path once, with the change that brought its newest match.
 */
export async function matchesInHistory(
  context: Context,
  { filesOnly, limit }: Asked,
  { histories, contents }: HistoriesSearched,
): Promise<GrepFound> {
  const runs: Run[] = [];
  for (const rows of histories.values()) {
    const found = runsOf(rows, contents, filesOnly);
    for (const run of filesOnly ? newestOf(found) : found) runs.push(run);
    if (runs.length > MOST_RUNS && !filesOnly) throw tooManyLines();
  }
  runs.sort((a, b) => b.from.row.seq - a.from.row.seq || (a.line?.line ?? 0) - (b.line?.line ?? 0));
  const unsearched = [...histories.values()].flat().flatMap((row): Unsearched[] => {
    const reason = contents.of(hashOf(row));
    return typeof reason === "string" && reason !== "not-kept" ? [{ row, reason }] : [];
  });
  return { matches: await shapesOf(context, runs.slice(0, limit)), total: runs.length, unsearched };
}

function newestOf(runs: readonly Run[]): readonly Run[] {
  return runs.toSorted((a, b) => b.from.row.seq - a.from.row.seq).slice(0, 1);
}

/** The key for a content as a whole. No line has this key, because the text of a line is without its line end. */
const WHOLE = "\n";

/** Returns a `Run` for each span of iterations in which a line, or a content as a whole, matches. */
function runsOf(rows: readonly IterationRow[], contents: ContentsFound, filesOnly: boolean): Run[] {
  const open = new Map<string, Run>();
  const closed: Run[] = [];
  let first: number | undefined;
  for (const row of rows) {
    const found = contents.of(hashOf(row));
    if (typeof found === "string") {
      first ??= row.iteration;
      continue;
    }
    const change: FoundChange = first === undefined ? { row } : { row, first };
    first = undefined;
    const present = linesOf(found, filesOnly);
    for (const [key, run] of open) {
      if (present.has(key)) continue;
      closed.push({ ...run, until: change });
      open.delete(key);
    }
    for (const [key, line] of present) {
      const run = open.get(key) ?? { from: change, last: row, line, isBinary: false };
      Object.assign(run, { last: row, line, isBinary: found?.isBinary === true });
      open.set(key, run);
    }
  }
  // If `first` is set, the iterations from `first` to the last one were not searched.
  const left = [...open.values()];
  return [...closed, ...(first === undefined ? left : left.map((run): Run => ({ ...run, isUnknown: true })))];
}

/**
 * Returns a map from the text of each matching line of a content to the line. If several lines have the same text, the
 * map has the first of them.
 */
function linesOf(found: ContentMatches | undefined, filesOnly: boolean): ReadonlyMap<string, FoundLine | undefined> {
  if (found === undefined) return new Map();
  if (filesOnly || found.isBinary) return new Map([[WHOLE, undefined]]);
  return new Map(found.lines.toReversed().map((line) => [line.text, line]));
}

async function shapesOf(context: Context, runs: readonly Run[]): Promise<GrepMatchShape[]> {
  const changes = new Map<IterationRow, FoundChange>();
  for (const { from, until } of runs)
    for (const one of until === undefined ? [from] : [from, until]) changes.set(one.row, one);
  const origins = await changeOrigins(context, [...changes.values()]);
  const originOf = new Map<IterationRow, BlameOriginShape>();
  for (const [i, row] of [...changes.keys()].entries()) {
    const origin = origins[i];
    if (origin !== undefined) originOf.set(row, origin);
  }
  return runs.map((run): GrepMatchShape => {
    const from = originOf.get(run.from.row);
    const until = run.until === undefined ? null : (originOf.get(run.until.row) ?? null);
    return {
      ...matchShape(run.last, run.line, run.isBinary),
      ...(from === undefined ? {} : { from }),
      until,
      ...(run.isUnknown === true ? { until_unknown: true as const } : {}),
    };
  });
}
