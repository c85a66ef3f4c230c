/**
 * A part of an undo that did not merge with later work, or a path that a folder and its upstream changed differently.
 * Both contents are kept.
 */
export interface ConflictShape {
  id: string;
  /**
   * `sync`: the conflict is between a folder (`current`) and the upstream that it follows (`undo`). Absent: an undo
   * caused it.
   */
  cause?: "sync";
  path: string;
  path_b64?: string;
  timestamp: string;
  state: "open" | "settled";
  /** The way in which it was settled. `withdrawn` (only a sync's): both sides agree again. */
  settled?: "current" | "undo" | "merged" | "withdrawn";
  /**
   * `content`: both changed the same or adjacent lines. `binary`: the content is not text, or too large to merge.
   * `mode`: the permissions differ. `kind`: one is a file, the other a link or a folder. `deleted`, `edited`,
   * `created`: the path was deleted, edited or created after the change that the undo inverts. (In a sync: deleted here
   * and edited upstream; edited here and deleted upstream; created on both sides.) `folder`: something else is now at
   * the place of a folder. Only in a sync: `blocked`: the upstream's side cannot be written; `collision`: the folder's
   * disk treats the name as that of another path.
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
  /** The undo that caused the conflict; empty for a sync's conflict. */
  undo_id: string;
  /**
   * `current_hash`: the content at the time of the conflict. `undo_hash`: the content that the undo would have written.
   * Empty: none.
   */
  current_hash: string;
  undo_hash: string;
  /** The content that both sides of a sync started from; empty: none. */
  base_hash?: string;
  current_size: number;
  undo_size: number;
  /** `null`: the path does not exist on that side. */
  current_kind: "file" | "symlink" | "dir" | null;
  undo_kind: "file" | "symlink" | "dir" | null;
  current_permissions?: number;
  undo_permissions?: number;
  /**
   * With `patch`: the patch from the current content to the content that the undo would have written. `binary`,
   * `too_large`, `no_room`, `protected` or `erased` say why there is none.
   */
  patch?: string;
  binary?: boolean;
  too_large?: boolean;
  no_room?: true;
  protected?: true;
  /** One of the contents was erased, so no patch shows it. */
  erased?: true;
}
