import type { UndoOptions } from "../../api/workspace-api.ts";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { type LineRange, pickHunks } from "../../core/tree/pick-hunks.ts";
import { type Change, type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Unmerged } from "../capture/fit-folders.ts";
import { unlessGone } from "../capture/paths-gone.ts";
import type { Context } from "../log/context.ts";
import { pathArgument, shownPath } from "../log/shape.ts";
import { contentOf } from "../read/patches.ts";
import { type WayBack, withoutGroups } from "./way-back.ts";

/** Lines of the present content of a file, and the work whose hunks at these lines are undone. */
export interface LinesOf extends LineRange {
  /** The name of the work, for messages. */
  readonly work: string;
}

/** Returns the lines that the options of an undo name; `undefined` if they name none. Throws `USAGE` if they are invalid. */
export function linesOf({
  file,
  fromLine,
  toLine,
}: Pick<UndoOptions, "file" | "fromLine" | "toLine">): LineRange | undefined {
  if (fromLine === undefined && toLine === undefined) return undefined;
  const from = fromLine ?? 1;
  const to = toLine ?? fromLine ?? 1;
  const isLine = (line: number): boolean => Number.isSafeInteger(line) && line >= 1;
  if (fromLine === undefined || !isLine(from) || !isLine(to) || to < from) {
    throw new ChronicleError("USAGE", "these are not lines of a file", {
      hint: "give the first line, and perhaps the last one, which comes after it; lines are counted from 1",
    });
  }
  if (file !== undefined) return { from, to };
  throw new ChronicleError("USAGE", "lines were given without their file", { hint: "give the file, too" });
}

/** The way back of only some hunks of a file. */
export interface PickedLines extends WayBack {
  readonly content: Buffer;
  /** True if other hunks, or a change of the mode, are left of the work. */
  readonly isPart: boolean;
}

interface WholeWay extends WayBack {
  readonly path: WorkspacePath;
  readonly present: Entry | undefined;
}

/**
 * Returns the way back of only those hunks of the work that lie at the given lines. A hunk there that does not merge
 * with later edits becomes a conflict. Throws `REFUSED` if the undo of the whole work would change more than the text
 * of a file, and `NOT_FOUND` if the work has no hunk at these lines.
 */
export async function onlyLines(context: Context, way: WholeWay, lines: LinesOf): Promise<PickedLines> {
  const { path, present, kept, wanted } = way;
  const target = kept.entry;
  if (present?.hash === undefined || target?.hash === undefined || wanted?.hash === undefined)
    throw withoutLines(path, reasonOf(way));
  if ([present, target, wanted].some(({ kind }) => kind !== "file")) throw withoutLines(path, "it is not a file");
  if (present.hash === target.hash && present.hash === wanted.hash) {
    if (sameEntry(present, target)) throw nothingThere(path, lines, []);
    throw withoutLines(path, "the work has changed only its mode");
  }
  const contents = new Map(way.made.map((content) => [sha256(content), content]));
  const read = async (entry: Entry): Promise<Buffer> =>
    contents.get(entry.hash ?? sha256("")) ?? (await contentOf(context, entry)) ?? Buffer.alloc(0);
  const sides = { present: await read(present), kept: await read(target), wanted: await read(wanted) };
  const picked = pickHunks(sides, lines);
  if (picked === "not-text") throw withoutLines(path, "it is not a text, or is too large");
  if (picked === "many-lines")
    throw withoutLines(path, "too many of its lines have changed to tell single hunks apart");
  if (picked.touched === 0) throw nothingThere(path, lines, picked.all);
  const state = (content: Buffer): Entry => ({ ...present, hash: sha256(content), size: content.length });
  const entry = state(picked.content);
  const whole = picked.wanted === undefined && sameEntry(entry, target) && kept.reason === undefined;
  const met = picked.wanted === undefined ? undefined : kept.reason;
  return {
    kept: { entry, ...(met === undefined ? {} : { reason: met, base: kept.base }) },
    wanted: picked.wanted === undefined ? entry : state(picked.wanted),
    made: [picked.content, ...(picked.wanted === undefined ? [] : [picked.wanted])],
    content: picked.content,
    isPart: !whole,
  };
}

/**
 * Returns those conflicts of earlier undos that an undo of lines settles: the ones whose wanted hunks the undo wants as
 * well. The others are about hunks at other lines, so they stay open.
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
  if (present === undefined) return "it is not there now";
  if (present.kind !== "file") return "it is not a file";
  return kept.entry === undefined || wanted === undefined ? "the work has made the whole file" : "it was not a file";
}

/** Returns the error for a path of which no single lines can be undone. */
export function withoutLines(path: WorkspacePath, why: string): ChronicleError {
  return new ChronicleError("REFUSED", `lines of ${shownPath(path)} cannot be taken back: ${why}`, {
    hint: `\`chronicle undo --file ${pathArgument(path)}\` takes back everybody's work on it; with --action, --turn, --session or --actor, only that work`,
    data: { path: shownPath(path) },
  });
}

const MOST_RANGES = 10;

/** Returns the error for lines at which the work has changed nothing. `there`: the lines at which it has. */
export function nothingThere(path: WorkspacePath, lines: LinesOf, there: readonly LineRange[]): ChronicleError {
  const at = there.slice(0, MOST_RANGES).map(rangeInWords).join(", ");
  const more = there.length > MOST_RANGES ? ` and ${there.length - MOST_RANGES} more places` : "";
  const named = pathArgument(path);
  const other = there.length === 0 ? "" : `its changes of this file are at ${at}${more}; `;
  return new ChronicleError(
    "NOT_FOUND",
    `${lines.work} has nothing to take back at ${rangeInWords(lines)} of ${shownPath(path)}`,
    {
      hint: `${other}\`chronicle blame ${named} -L ${lines.from},${lines.to}\` says who wrote these lines`,
      data: { file: shownPath(path), lines: there.map(({ from, to }) => [from, to]) },
    },
  );
}

export function rangeInWords({ from, to }: LineRange): string {
  return from === to ? `${from}` : `${from}-${to}`;
}
