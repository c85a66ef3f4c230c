/**
 * A conflict: a path at which an undo or redo did not merge with later work, or a path that a folder and its upstream
 * changed differently. The contents of both sides are kept.
 *
 * In the names of the fields, `current` is the state that the path has, and `undo` is the side that the undo or redo
 * would have written. In a sync, `current` is the folder's side, and `undo` is the upstream's side.
 */
export interface ConflictShape {
  id: string;
  /**
   * `sync`: the conflict is between a folder (`current`) and the upstream that the folder follows (`undo`). Absent: an
   * undo or a redo caused the conflict.
   */
  cause?: "sync";
  path: string;
  path_b64?: string;
  timestamp: string;
  state: "open" | "settled";
  /**
   * The way in which the conflict was settled; absent while it is open.
   * - `current`: the path kept the `current` state.
   * - `undo`: the path got the side of the undo.
   * - `merged`: the path got a merged content.
   * - `withdrawn`: the undo that caused the conflict was itself undone. In a sync: both sides agree again.
   */
  settled?: "current" | "undo" | "merged" | "withdrawn";
  /**
   * The reason why the sides did not merge:
   * - `content`: both sides changed the same or adjacent lines.
   * - `binary`: the content is not text, or too large to merge.
   * - `mode`: the permissions differ.
   * - `kind`: the sides have different kinds (file, link, folder).
   * - `deleted`: the path was deleted after the change that the undo inverts. In a sync: the path was deleted in the
   *   folder and edited upstream.
   * - `edited`: the path was edited after the change that the undo inverts. In a sync: the path was edited in the
   *   folder and deleted upstream.
   * - `created`: the path was created after the change that the undo inverts. In a sync: the path was created on both
   *   sides.
   * - `folder`: the path should be a folder, and is now something else.
   * - `blocked` (only in a sync): the upstream's side cannot be written.
   * - `collision` (only in a sync): the folder's disk does not distinguish the name from another path's name.
   */
  reason:
    | "content"
    | "binary"
    | "mode"
    | "kind"
    | "deleted"
    | "edited"
    | "created"
    | "folder"
    | "blocked"
    | "collision";
  /** With `blocked`: the reason why the upstream's side cannot be written. */
  detail?: string;
  /** The undo or redo that caused the conflict; empty for the conflict of a sync. */
  undo_id: string;
  /**
   * `current_hash`: the hash of the content at the time of the conflict. `undo_hash`: the hash of the content that the
   * undo would have written. A hash is empty if the side has no content.
   */
  current_hash: string;
  undo_hash: string;
  /** The hash of the content from which both sides of a sync started; empty if there was none. */
  base_hash?: string;
  current_size: number;
  undo_size: number;
  /** `null`: the path does not exist on that side. */
  current_kind: "file" | "symlink" | "dir" | null;
  undo_kind: "file" | "symlink" | "dir" | null;
  current_permissions?: number;
  undo_permissions?: number;
  /**
   * If patches were requested: the patch from the content of `current` to the content of `undo`. If there is no patch,
   * one of the fields `binary`, `too_large`, `no_room`, `protected` and `erased` gives the reason (see `ChangeShape`).
   * If all of these are absent, the contents are equal, or a content was pruned.
   */
  patch?: string;
  binary?: boolean;
  too_large?: boolean;
  no_room?: true;
  protected?: true;
  /** One of the contents was erased, so there is no patch. */
  erased?: true;
}
