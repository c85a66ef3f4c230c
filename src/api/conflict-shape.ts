/**
 * A part of an undo that did not merge with later work, or a path that a folder and its upstream have changed differently:
 * both contents are kept.
 */
export interface ConflictShape {
  id: string;
  /** Of a folder that follows an upstream: `current` is the folder's side, `undo` the upstream's. Else of an undo. */
  cause?: "sync";
  path: string;
  path_b64?: string;
  timestamp: string;
  state: "open" | "settled";
  /** How it was settled; of a sync, `withdrawn`: both sides agree again. */
  settled?: "current" | "undo" | "merged" | "withdrawn";
  /**
   * `content`: the same or adjacent lines; `binary`: no text, or too large to merge; `mode`: permissions; `kind`: a file,
   * a link or a folder; `deleted`, `edited`, `created`: what the undo is about was so later; `folder`: where a folder
   * was, something else stands now. Of a sync also `blocked`: the upstream's side cannot be written; `collision`: the
   * folder takes its name for that of another path.
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
  /** Of one that is blocked: why. */
  detail?: string;
  /** The undo that met it; of a sync empty. */
  undo_id: string;
  /** What there was when it was met, and what the undo would have put there (empty: nothing). */
  current_hash: string;
  undo_hash: string;
  /** Of a sync: what both sides began with (empty: nothing). */
  base_hash?: string;
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
  protected?: true;
  /** One of the contents was erased: no patch shows it. */
  erased?: true;
}
