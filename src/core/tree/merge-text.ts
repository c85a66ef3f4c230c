import { diffArrays } from "diff";
import { sameEntry, type Entry } from "../values/entry.ts";

/**
 * Three-way merge of texts by lines, as `diff3` does it (Khanna, Kunal, Pierce: A Formal Investigation of Diff3, 2007).
 * A change of only one side is applied. Different changes of both sides to the same or adjacent lines are a conflict.
 * Line breaks are parts of the lines, so that CRLF and a missing last newline are preserved exactly.
 */

/** The maximum length of a content that is merged, in bytes. */
export const MAX_MERGE_BYTES = 8 * 1024 ** 2;

/**
 * The maximum number of added and removed lines for which the shortest difference is searched. The time of the search
 * grows with the square of this number. At the limit, the search takes a quarter of a second. Above the limit,
 * everything between the first and the last difference is one edit.
 */
const MAX_EDITS = 2000;

interface TextSides {
  readonly base: Uint8Array;
  readonly ours: Uint8Array;
  readonly theirs: Uint8Array;
}

/** The merged bytes, and the number of conflicts. At each conflict, `content` has the lines of the preferred side. */
interface MergedText {
  readonly content: Buffer;
  readonly conflicts: number;
}

/**
 * Merges the texts. Returns `undefined` if one of the contents is too large or is not text (not UTF-8, or with a NUL).
 */
export function mergeText({ base, ours, theirs }: TextSides, prefer: "ours" | "theirs"): MergedText | undefined {
  const lines = [base, ours, theirs].map(linesOf);
  const [old, left, right] = lines;
  if (old === undefined || left === undefined || right === undefined) return undefined;
  const edits = [
    ...editsOf(old, left).map((edit) => ({ ...edit, side: "ours" as const })),
    ...editsOf(old, right).map((edit) => ({ ...edit, side: "theirs" as const })),
  ].sort((a, b) => a.start - b.start);
  const merged: string[] = [];
  let conflicts = 0;
  let at = 0;
  for (let i = 0; i < edits.length;) {
    const first = edits[i] as SidedEdit;
    const group = [first];
    let end = first.end;
    for (i += 1; i < edits.length && (edits[i] as SidedEdit).start <= end; i += 1) {
      const next = edits[i] as SidedEdit;
      group.push(next);
      end = Math.max(end, next.end);
    }
    append(merged, old.slice(at, first.start));
    const region = mergeRegion(old, group, { start: first.start, end, prefer });
    if (region.conflict) conflicts += 1;
    append(merged, region.lines);
    at = end;
  }
  append(merged, old.slice(at));
  return { content: Buffer.from(merged.join("")), conflicts };
}

/** An edit of the base: `lines` replace the lines from index `start` to index `end` (exclusive). */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
}

interface SidedEdit extends Edit {
  readonly side: "ours" | "theirs";
}

interface Region {
  readonly start: number;
  readonly end: number;
  readonly prefer: "ours" | "theirs";
}

function mergeRegion(
  base: readonly string[],
  edits: readonly SidedEdit[],
  { start, end, prefer }: Region,
): { readonly lines: readonly string[]; readonly conflict: boolean } {
  const sideOf = (side: SidedEdit["side"]): readonly string[] => {
    const lines: string[] = [];
    let at = start;
    for (const edit of edits) {
      if (edit.side !== side) continue;
      append(lines, base.slice(at, edit.start));
      append(lines, edit.lines);
      at = edit.end;
    }
    append(lines, base.slice(at, end));
    return lines;
  };
  const only = edits[0]?.side ?? "ours";
  if (edits.every((edit) => edit.side === only)) return { lines: sideOf(only), conflict: false };
  const [ours, theirs] = [sideOf("ours"), sideOf("theirs")];
  const isSame = ours.length === theirs.length && ours.every((line, i) => line === theirs[i]);
  return { lines: prefer === "ours" ? ours : theirs, conflict: !isSame };
}

/** Pushes the lines one by one, because one call with all lines as arguments could exceed the stack. */
function append(to: string[], lines: readonly string[]): void {
  for (const line of lines) to.push(line);
}

/**
 * Returns the edits that turn the base into the side, in order. Between two edits, at least one line is kept. Above the
 * limit of the search (`MAX_EDITS`), returns one edit.
 */
function editsOf(base: readonly string[], side: readonly string[]): readonly Edit[] {
  const edits = singleEdits(base, side);
  if (edits !== undefined) return edits;
  const { head, old, fresh } = differing(base, side);
  return [{ start: head, end: head + old.length, lines: fresh }];
}

/** Like `editsOf`, but returns `undefined` above the limit of the search (`MAX_EDITS`). */
export function singleEdits(base: readonly string[], side: readonly string[]): readonly Edit[] | undefined {
  const { head, old, fresh } = differing(base, side);
  if (old.length === 0 && fresh.length === 0) return [];
  const parts = diffArrays(old, fresh, { maxEditLength: MAX_EDITS });
  if (parts === undefined) return undefined;
  const edits: Edit[] = [];
  let at = head;
  let edit: { start: number; end: number; lines: string[] } | undefined;
  for (const { added, removed, value } of parts) {
    if (!added && !removed) {
      at += value.length;
      edit = undefined;
      continue;
    }
    if (edit === undefined) edits.push((edit = { start: at, end: at, lines: [] }));
    if (added) append(edit.lines, value);
    else edit.end = at += value.length;
  }
  return edits;
}

/**
 * Returns the lines between the first and the last difference: `old` from the base, and `fresh` from the side. `head`
 * is the number of equal lines before them.
 */
function differing(base: readonly string[], side: readonly string[]) {
  const shorter = Math.min(base.length, side.length);
  let head = 0;
  while (head < shorter && base[head] === side[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && base.at(-1 - tail) === side.at(-1 - tail)) tail += 1;
  return { head, old: base.slice(head, base.length - tail), fresh: side.slice(head, side.length - tail) };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the lines with their line breaks; `undefined` if the bytes are not text, or are too large to be merged. */
export function linesOf(bytes: Uint8Array): readonly string[] | undefined {
  if (bytes.length > MAX_MERGE_BYTES || bytes.includes(0)) return undefined;
  try {
    return utf8.decode(bytes).match(/[^\n]*\n|[^\n]+$/g) ?? [];
  } catch {
    return undefined;
  }
}

/**
 * The reason why two sides conflict at a path:
 * - `content`: their contents or link targets differ, and were not merged.
 * - `binary`: a content cannot be merged, because it is not text or is too large.
 * - `mode`: both sides changed the mode differently.
 * - `kind`: a side changed the kind.
 * - `deleted`: our side deleted the path, and the other side changed it. In the mode `two-way-resolved` of a sync:
 *   alpha (the preferred side) deleted the path, and beta (the other side) changed it.
 * - `edited`: our side changed the path, and the other side deleted it.
 * - `created`: both sides created the path, with different states.
 * - `folder`: the path is a file or link, but a path beneath it is needed (see `reconcileTrees`).
 */
export type ConflictReason = "content" | "binary" | "mode" | "kind" | "deleted" | "edited" | "created" | "folder";

/**
 * Three states of one path: `base`, `ours` and `theirs`. For an undo, these are the state right after the work, the
 * present state, and the state before the work. For a sync, these are the state on which both sides last agreed, the
 * local state, and the remote state.
 */
export interface EntrySides {
  readonly base: Entry | undefined;
  readonly ours: Entry | undefined;
  readonly theirs: Entry | undefined;
}

/** The side that wins if both changed the same property differently. */
export type Preferred = "ours" | "theirs";

/** Either the merged state (`entry`), or the contents that still have to be merged and the mode of the merged file. */
type EntryMerge =
  | { readonly entry: Entry | undefined; readonly conflict?: ConflictReason }
  | { readonly contents: EntrySides & AllThree; readonly mode: number; readonly conflict?: "mode" };

interface AllThree {
  readonly base: Entry;
  readonly ours: Entry;
  readonly theirs: Entry;
}

/**
 * Merges the states of a path. If only one side changed the path, the result is the state of this side.
 *
 * If both sides changed the path, mode and content are merged separately. If both sides changed the content of a file
 * differently, `mergeText` must merge the contents. In the following cases, the preferred side wins as a whole, with a
 * `conflict`:
 * - The sides differ in existence or kind.
 * - The path did not exist before, or was of another kind.
 * - Both sides changed the target of a link differently.
 */
export function mergeEntry({ base, ours, theirs }: EntrySides, prefer: Preferred): EntryMerge {
  if (sameEntry(ours, base)) return { entry: theirs };
  if (sameEntry(theirs, base) || sameEntry(ours, theirs)) return { entry: ours };
  const preferred = prefer === "ours" ? ours : theirs;
  if (ours === undefined) return { entry: preferred, conflict: "deleted" };
  if (theirs === undefined) return { entry: preferred, conflict: "edited" };
  if (ours.kind !== theirs.kind || (base !== undefined && base.kind !== ours.kind))
    return { entry: preferred, conflict: base === undefined ? "created" : "kind" };
  if (base === undefined) return { entry: preferred, conflict: "created" };
  const { mode, conflict } = mergeMode({ base, ours, theirs }, prefer);
  const told = conflict === undefined ? {} : { conflict };
  if (ours.hash === theirs.hash || theirs.hash === base.hash) return { entry: { ...ours, mode }, ...told };
  if (ours.hash === base.hash) return { entry: { ...theirs, mode }, ...told };
  if (ours.kind !== "file") return { entry: preferred, conflict: "content" };
  return { contents: { base, ours, theirs }, mode, ...told };
}

function mergeMode(
  { base, ours, theirs }: AllThree,
  prefer: Preferred,
): { readonly mode: number; readonly conflict?: "mode" } {
  if (ours.mode === base.mode) return { mode: theirs.mode };
  if (theirs.mode === base.mode || theirs.mode === ours.mode) return { mode: ours.mode };
  return { mode: prefer === "ours" ? ours.mode : theirs.mode, conflict: "mode" };
}
