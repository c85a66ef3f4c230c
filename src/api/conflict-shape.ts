/** A part of an undo that did not merge: both contents are kept. */
export interface ConflictShape {
  id: string;
  path: string;
  path_b64?: string;
  timestamp: string;
  state: "open" | "settled";
  /** How it was settled. */
  settled?: "current" | "undo" | "merged" | "withdrawn";
  /**
   * `content`: the same or adjacent lines; `binary`: no text, or too large to merge; `mode`: permissions; `kind`: a file,
   * a link or a folder; `deleted`, `edited`, `created`: what the undo is about was so later; `folder`: where a folder
   * was, something else stands now.
   */
  reason: "content" | "binary" | "mode" | "kind" | "deleted" | "edited" | "created" | "folder";
  /** The undo that met it. */
  undo_id: string;
  /** What there was when it was met, and what the undo would have put there (empty: nothing). */
  current_hash: string;
  undo_hash: string;
  current_size: number;
  undo_size: number;
  /** `null`: nothing. */
  current_kind: "file" | "symlink" | "dir" | null;
  undo_kind: "file" | "symlink" | "dir" | null;
  current_permissions?: number;
  undo_permissions?: number;
  /** With `patch`: from what there was when it was met to what the undo would have put there; or why there is none. */
  patch?: string;
  binary?: boolean;
  too_large?: boolean;
}
