import type { Hash } from "./hash.ts";
import type { WorkspacePath } from "./path.ts";

/** A content that is about to be recorded, and the path that is to have it. Mostly it will be. */
export interface ForeseenContent {
  readonly path: WorkspacePath;
  readonly hash: Hash;
  readonly bytes: Uint8Array;
}
