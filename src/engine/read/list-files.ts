import { comparePaths, displayPath, isWithin, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow, EntryPage } from "../../storage/index-store.ts";
import { type PresentRow, fileShape, isPresent } from "../state/file-shape.ts";
import { BASELINE_SEQ } from "../log/history-start.ts";
import { disagreeing, IndexDisagrees } from "../log/index-disagrees.ts";
import { type ProofContext, type ProvedState, provedState } from "../state/proved-state.ts";
import { linesSay, startOf } from "../state/row-line.ts";
import type { FileListShape, ListFilesOptions } from "../../api/file-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Context } from "../log/context.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { tellStale } from "../facts/stale-states.ts";
import { resolveMoment } from "./moments.ts";
import { isSecretEntry, protectedNames } from "../state/protected.ts";
import { givenPath, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/**
 * Lists the paths that exist at a moment, in path order. Throws `USAGE` for invalid options, `NOT_FOUND` if `path` is
 * no folder, and the errors of `resolveMoment`.
 */
export async function listFiles(context: Context, options: ListFilesOptions): Promise<FileListShape> {
  const { depth, limit = Number.POSITIVE_INFINITY, after } = options;
  checkCount("depth", depth);
  checkCount("limit", options.limit);
  const folder = options.path === undefined ? undefined : parseGivenPath(options.path);
  const seq = await seqOf(context, options.at);
  if (folder !== undefined) await mustBeFolder(context, folder, seq);
  const isPast = options.at !== undefined && options.at !== "now";
  if (isPast && after === undefined)
    await tellStale(context, seq, (path) => folder === undefined || isWithin(path, folder));
  // The listing begins after the folder, because the folder itself is not part of it.
  const behind = after === undefined ? folder : parseGivenPath(after);
  const page: EntryPage = {
    ...optional({ after: behind, depth }),
  };
  const { rows, isCut } = await rowsOf(context.index.entriesAt(seq, folder, page), limit);
  await provePage(context, { seq, folder, depth, after: behind, isCut, rows });
  const last = rows.at(-1);
  const names = await protectedNames(context);
  const files = rows.map((row) => ({
    ...fileShape(row),
    ...(isSecretEntry(names, row.entry) ? { protected: true as const } : {}),
  }));
  return { seq, files, next: isCut && last !== undefined ? givenPath(last.path) : null };
}

/** Returns the first `limit` rows of existing paths. `isCut` is true if there are further rows. */
async function rowsOf(
  batches: AsyncIterable<readonly IterationRow[]>,
  limit: number,
): Promise<{ readonly rows: readonly PresentRow[]; readonly isCut: boolean }> {
  const rows: PresentRow[] = [];
  for await (const batch of batches) {
    for (const row of batch) {
      if (!isPresent(row)) continue;
      if (rows.length >= limit) return { rows, isCut: true };
      rows.push(row);
    }
  }
  return { rows, isCut: false };
}

/** Returns the seq of a moment. Only recorded states are read, so `now` stands for the head. */
export async function seqOf(context: Context, at: string | undefined): Promise<number> {
  if (at !== undefined && at !== "now") return (await resolveMoment(context, at)).seq;
  return (await context.index.head()).seq;
}

async function mustBeFolder(context: Context, path: WorkspacePath, seq: number): Promise<void> {
  if (path === ROOT) return;
  const kind = (await context.index.iterationAt(path, seq))?.entry?.kind;
  if (kind === "dir" || (kind === undefined && (await holdsSomething(context, path, seq)))) return;
  const what = kind === undefined ? "there is nothing at" : `there is a file or a link, not a folder, at`;
  throw new ChronicleError("NOT_FOUND", `${what} ${JSON.stringify(shownPath(path))}`, {
    hint: "list the folder that contains this path",
    data: { path: shownPath(path) },
  });
}

/**
 * True if there are entries beneath the path. Such a path is a folder even if it has no entry of its own. Examples are
 * a further root, and a folder above the only file that a root tracks.
 */
async function holdsSomething(context: Context, path: WorkspacePath, seq: number): Promise<boolean> {
  for await (const rows of context.index.entriesAt(seq, path)) if (rows.length > 0) return true;
  return false;
}

function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value > 0)) return;
  throw new ChronicleError("USAGE", `${name} is not a whole number above 0: ${value}`, {
    hint: `leave ${name} out to list all paths`,
  });
}

/** A page of the paths of a state, as the index returned it. */
export interface StatePage {
  readonly seq: number;
  /** The folder beneath which all paths of the page lie. `undefined` means the whole workspace. */
  readonly folder: WorkspacePath | undefined;
  /** The number of levels beneath the folder. `undefined` means all levels. */
  readonly depth: number | undefined;
  /** The path after which the page begins. `undefined` means that the page begins with the first path. */
  readonly after: WorkspacePath | undefined;
  /** True if the state has further paths after the last row. */
  readonly isCut: boolean;
  readonly rows: readonly PresentRow[];
}

/**
 * Throws `IndexDisagrees` if the rows of a page are not exactly the rows that the state has in the range of the page.
 * The proofs:
 *
 * - The Merkle root proves kind, mode and content.
 * - The line of each iteration proves its number, event, size and time.
 * - Iterations of a base have no line. Their number and event are proved only for a baseline. Their size and time are
 *   taken from the index without proof.
 *
 * Reads all entries of the folders in which the page's paths lie, and of the folders above.
 */
export async function provePage(context: ProofContext, page: StatePage): Promise<void> {
  await disagreeing(async () => {
    const state = await provedState(context, page.seq);
    refuseDisorder(page.rows);
    await state.prove(page.rows);
    await refuseOther(state, page);
    await proveIterations(context, state, page.rows);
    state.letGo();
  });
}

function refuseDisorder(rows: readonly PresentRow[]): void {
  rows.forEach(({ path }, i) => {
    const before = rows[i - 1];
    if (before !== undefined && comparePaths(before.path, path) >= 0) throw wrongAbout(path);
  });
}

/** The range of a page: all paths that the page lists if they exist. */
class PageRange {
  readonly #page: StatePage;
  readonly #last: WorkspacePath | undefined;

  constructor(page: StatePage) {
    this.#page = page;
    this.#last = page.isCut ? page.rows.at(-1)?.path : undefined;
  }

  holds(path: WorkspacePath): boolean {
    const { folder, depth, after } = this.#page;
    if (folder !== undefined && (path === folder || !isWithin(path, folder))) return false;
    if (after !== undefined && comparePaths(path, after) <= 0) return false;
    if (depth !== undefined && depthOf(path) - depthOf(folder) > depth) return false;
    return this.#last === undefined || comparePaths(path, this.#last) <= 0;
  }

  /** True if a path beneath this path may be in the range. */
  mayHoldBeneath(path: WorkspacePath): boolean {
    const { folder, depth, after } = this.#page;
    if (folder !== undefined && !isWithin(path, folder) && !isWithin(folder, path)) return false;
    if (depth !== undefined && depthOf(path) - depthOf(folder) >= depth) return false;
    if (after !== undefined && comparePaths(path, after) < 0 && !isWithin(after, path)) return false;
    return this.#last === undefined || comparePaths(path, this.#last) <= 0;
  }
}

/** Returns the number of components of a path. The name of a further root counts as one component. */
function depthOf(path: WorkspacePath = ROOT): number {
  return path === ROOT ? 0 : path.split("/").length;
}

/**
 * Throws if the state has a path in the range of the page that is not among the rows, or if a row lies outside of the
 * range.
 */
async function refuseOther(state: ProvedState, page: StatePage): Promise<void> {
  const range = new PageRange(page);
  const listed = new Set(page.rows.map(({ path }) => path));
  const refuse = (path: WorkspacePath): void => {
    if (range.holds(path) && !listed.has(path)) throw wrongAbout(path);
  };
  for await (const path of state.paths((beneath) => range.mayHoldBeneath(beneath))) refuse(path);
  for (const { path } of page.rows) if (!range.holds(path)) throw wrongAbout(path);
}

async function proveIterations(context: ProofContext, state: ProvedState, rows: readonly PresentRow[]): Promise<void> {
  for (const row of rows) if (state.knowsOther(row)) throw wrongAbout(row.path);
  const said = await linesSay(context, rows);
  const start = said.includes("in-base") ? await startOf(context) : 0;
  rows.forEach((row, i) => {
    if (said[i] === "other" || (said[i] === "in-base" && isNotOfBase(row, start))) throw wrongAbout(row.path);
  });
}

/**
 * True if the base at event `start` cannot have this iteration. A baseline has each of its paths as iteration 1. A
 * later base has only iterations from events up to `start`.
 */
function isNotOfBase({ seq, iteration }: IterationRow, start: number): boolean {
  if (start === BASELINE_SEQ) return seq !== BASELINE_SEQ || iteration !== 1;
  return seq < 1 || seq > start || iteration < 1;
}

function wrongAbout(path: WorkspacePath): IndexDisagrees {
  return new IndexDisagrees(`the row of ${displayPath(path)}`, { path });
}
