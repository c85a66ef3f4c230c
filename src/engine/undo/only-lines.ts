import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import {
  type Hunk,
  hunksOf,
  isPicked,
  type LineRange,
  type PickedHunks,
  type PickedRange,
  pickHunks,
  type Sides,
} from "../../core/tree/pick-hunks.ts";
import { MAX_MERGE_BYTES } from "../../core/tree/merge-text.ts";
import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Unmerged } from "../capture/fit-folders.ts";
import { unlessGone } from "../capture/paths-gone.ts";
import type { Context } from "../log/context.ts";
import { pathArgument, shownPath } from "../log/shape.ts";
import { contentOf } from "../read/patches.ts";
import { rangeInWords } from "./chosen-parts.ts";
import { type WayBack, withoutGroups } from "./way-back.ts";

/** The result of undoing only some hunks of a file. */
export interface PickedLines extends WayBack {
  /** True if a part of the work stays at the file: other hunks, or a change of the mode. */
  readonly isPart: boolean;
}

/** The result of undoing all hunks of a path. */
export interface WholeWay extends WayBack {
  readonly path: WorkspacePath;
  readonly present: Entry | undefined;
}

/**
 * Returns the result of undoing only those hunks of the work that lie at the given lines. A hunk that does not merge
 * with later edits becomes a conflict. Throws `REFUSED` if single hunks of the path cannot be undone, for example
 * because the work has created the whole file. Throws `NOT_FOUND` if the work has no hunk at one of these lines.
 */
export async function onlyLines(
  context: Context,
  way: WholeWay,
  { ranges, work }: { readonly ranges: readonly PickedRange[]; readonly work: string },
): Promise<PickedLines> {
  const { path, present, kept, wanted } = way;
  const [first = { from: 1, to: 1 }] = ranges;
  const target = kept.entry;
  if (present?.hash === undefined || target?.hash === undefined || wanted?.hash === undefined)
    throw withoutLines(path, reasonOf(way));
  if ([present, target, wanted].some(({ kind }) => kind !== "file")) throw withoutLines(path, "it is not a file");
  if (present.hash === target.hash && present.hash === wanted.hash) {
    if (sameEntry(present, target)) throw nothingThere(path, { range: first, work });
    throw withoutLines(path, "the work has changed only its mode");
  }
  const entries = { present, kept: target, wanted };
  const picked = isTooLarge(entries) ? "not-text" : pickHunks(await sidesOf(context, way, entries), ranges);
  if (picked === "not-text") throw withoutLines(path, "it is not a text, or is too large");
  if (picked === "many-lines")
    throw withoutLines(path, "too many of its lines have changed to tell single hunks apart");
  if (picked.missed !== undefined) throw nothingThere(path, { range: picked.missed, work }, picked.all);
  return pickedLines(way, present, picked);
}

function pickedLines({ kept }: WholeWay, present: Entry, { content, wanted }: PickedHunks): PickedLines {
  const state = (bytes: Buffer): Entry => ({ ...present, hash: sha256(bytes), size: bytes.length });
  const entry = state(content);
  const isWhole = wanted === undefined && sameEntry(entry, kept.entry) && kept.reason === undefined;
  const met = wanted === undefined ? undefined : kept.reason;
  return {
    kept: { entry, ...(met === undefined ? {} : { reason: met, base: kept.base }) },
    wanted: wanted === undefined ? entry : state(wanted),
    made: [content, ...(wanted === undefined ? [] : [wanted])],
    isPart: !isWhole,
  };
}

type SideEntries = Readonly<Record<keyof Sides, Entry>>;

/** True if a content is too large to be merged. Such contents are not read: they could fill the memory. */
function isTooLarge(sides: SideEntries): boolean {
  return Object.values(sides).some(({ size }) => size > MAX_MERGE_BYTES);
}

async function sidesOf(context: Context, { made }: WholeWay, sides: SideEntries): Promise<Sides> {
  const contents = new Map(made.map((content) => [sha256(content), content]));
  const read = async (entry: Entry): Promise<Buffer> =>
    contents.get(entry.hash ?? sha256("")) ?? (await contentOf(context, entry)) ?? Buffer.alloc(0);
  const [present, kept] = [await read(sides.present), await read(sides.kept)];
  return { present, kept, wanted: sides.wanted.hash === sides.kept.hash ? kept : await read(sides.wanted) };
}

/**
 * Returns the hunks of the work at a path, or only those that the ranges pick. Returns `undefined` if single hunks of
 * the path cannot be undone (see `onlyLines`).
 */
export async function hunksAt(
  context: Context,
  way: WholeWay,
  ranges: readonly PickedRange[] | undefined,
): Promise<readonly Hunk[] | undefined> {
  const { present, kept, wanted } = way;
  const target = kept.entry;
  if (present?.hash === undefined || target?.hash === undefined || wanted?.hash === undefined) return undefined;
  if ([present, target, wanted].some(({ kind }) => kind !== "file")) return undefined;
  const entries = { present, kept: target, wanted };
  if (isTooLarge(entries)) return undefined;
  const found = await unlessGone(async () => hunksOf(await sidesOf(context, way, entries)));
  if (found === undefined || typeof found === "string" || found.length === 0) return undefined;
  return ranges === undefined ? found : found.filter((hunk) => ranges.some((range) => isPicked(hunk, range)));
}

/**
 * Returns the conflicts of earlier undos that an undo of lines settles. A conflict is settled if this undo wants the
 * hunks that the earlier undo wanted. The other conflicts are about hunks at other lines, so they stay open.
 */
export async function settledByLines(
  context: Context,
  conflicts: readonly IdentifiedConflict[],
  { changes, unmerged }: { readonly changes: readonly Change[]; readonly unmerged: readonly Unmerged[] },
): Promise<IdentifiedConflict[]> {
  const found: IdentifiedConflict[] = [];
  for (const conflict of conflicts) {
    const { path, current, wanted } = conflict.record;
    const met = unmerged.find((one) => one.path === path);
    const state = met === undefined ? changes.find((one) => one.path === path)?.after : met.wanted;
    const groups = [{ before: wanted, after: current }];
    const both = await unlessGone(() => withoutGroups(context, { groups }, state));
    if (both !== undefined && both.reason === undefined && sameEntry(both.entry, state)) found.push(conflict);
  }
  return found;
}

function reasonOf({ present, kept, wanted }: WholeWay): string {
  if (present === undefined) return "the file does not exist now";
  if (present.kind !== "file") return "it is not a file";
  return kept.entry === undefined || wanted === undefined
    ? "the work has created the whole file"
    : "it was not a file before";
}

/** Returns the error for a path of which no single lines can be undone. */
export function withoutLines(path: WorkspacePath, why: string): ChronicleError {
  return new ChronicleError("REFUSED", `lines of ${shownPath(path)} cannot be taken back: ${why}`, {
    hint: `\`chronicle undo --file ${pathArgument(path)}\` takes back everybody's work on the file; with --action, --turn, --session or --actor, it takes back only that work`,
    data: { path: shownPath(path) },
  });
}

const MOST_RANGES = 10;

/**
 * Returns the error for lines at which the work has changed nothing. `there`: the lines at which the work has changed
 * something.
 */
export function nothingThere(
  path: WorkspacePath,
  { range, work }: { readonly range: LineRange | undefined; readonly work: string },
  there: readonly LineRange[] = [],
): ChronicleError {
  const at = there.slice(0, MOST_RANGES).map(rangeInWords).join(", ");
  const more = there.length > MOST_RANGES ? ` and ${there.length - MOST_RANGES} more places` : "";
  const named = pathArgument(path);
  const other = there.length === 0 ? "" : `its changes of this file are at ${at}${more}; `;
  const where = range === undefined ? "in" : `at ${rangeInWords(range)} of`;
  const who = range === undefined ? `history ${named}` : `blame ${named} -L ${range.from},${range.to}`;
  const told = range === undefined ? "says who changed it" : "says who wrote these lines";
  return new ChronicleError("NOT_FOUND", `${work} has nothing to take back ${where} ${shownPath(path)}`, {
    hint: `${other}\`chronicle ${who}\` ${told}`,
    data: { file: shownPath(path), lines: there.map(({ from, to }) => [from, to]) },
  });
}
