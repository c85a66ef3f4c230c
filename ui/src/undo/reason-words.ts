import type { ConflictShape } from "../../../src/api/conflict-shape.ts";

const WORDS: Readonly<Record<ConflictShape["reason"], string>> = {
  content: "both changed the same lines",
  binary: "not text, or too large to merge",
  mode: "the permissions differ",
  kind: "a file, a link and a folder do not merge",
  deleted: "deleted since",
  edited: "edited since",
  created: "created since",
  folder: "what should be a folder is something else now",
  blocked: "the origin's side cannot be written here",
  collision: "this disk takes the name for another path's",
};

/** The words for reasons that have another meaning in a conflict between a folder and its origin. */
const SYNC_WORDS: Readonly<Partial<Record<ConflictShape["reason"], string>>> = {
  deleted: "deleted here, edited at the origin",
  edited: "edited here, deleted at the origin",
  created: "created on both sides",
};

type Told = Pick<ConflictShape, "reason" | "cause"> & Partial<Pick<ConflictShape, "undo_kind">>;

/** Returns the reason why the sides of a conflict did not merge, in words. */
export function reasonWords({ reason, cause, undo_kind: kind }: Told): string {
  if (reason === "content" && kind === "symlink") return "the link points elsewhere";
  return (cause === "sync" ? SYNC_WORDS[reason] : undefined) ?? WORDS[reason];
}
