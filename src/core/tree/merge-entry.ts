import { sameEntry, type Entry } from "../values/entry.ts";

/** The reason why an undo and later work do not merge. */
export type ConflictReason = "content" | "binary" | "mode" | "kind" | "deleted" | "edited" | "created" | "folder";

/** Three states of one path: as the work left it, as it is now, and as it was before that work. */
export interface EntrySides {
  readonly base: Entry | undefined;
  readonly ours: Entry | undefined;
  readonly theirs: Entry | undefined;
}

/** The side that wins if both changed the same property differently. */
export type Preferred = "ours" | "theirs";

/** The merged state; or, if the contents on both sides differ, the other properties of the merged file. */
export type EntryMerge =
  | { readonly entry: Entry | undefined; readonly conflict?: ConflictReason }
  | { readonly contents: EntrySides & Files; readonly mode: number; readonly conflict?: "mode" };

/** All three are files. */
interface Files {
  readonly base: Entry;
  readonly ours: Entry;
  readonly theirs: Entry;
}

/** Merges existence, kind and mode of a path, each separately. Pure: `mergeText` merges contents. */
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
  { base, ours, theirs }: Files,
  prefer: Preferred,
): { readonly mode: number; readonly conflict?: "mode" } {
  if (ours.mode === base.mode) return { mode: theirs.mode };
  if (theirs.mode === base.mode || theirs.mode === ours.mode) return { mode: ours.mode };
  return { mode: prefer === "ours" ? ours.mode : theirs.mode, conflict: "mode" };
}
