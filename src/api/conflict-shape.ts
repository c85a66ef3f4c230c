/** A part of an undo that did not merge: both contents are kept. */
export interface ConflictShape {
  id: string;
  path: string;
  path_b64?: string;
  timestamp: string;
  state: "open" | "settled";
  /** How it was settled. */
  settled?: "current" | "undo" | "merged" | "withdrawn";
  reason: string;
  /** The undo that met it. */
  undo_id: string;
  /** What there was when it was met, and what the undo would have put there (empty: nothing). */
  current_hash: string;
  undo_hash: string;
  current_size: number;
  undo_size: number;
}
