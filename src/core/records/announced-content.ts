import type { Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";

/** A content that is about to be recorded for a path. The recording may still fail. */
export interface AnnouncedContent {
  readonly path: WorkspacePath;
  readonly hash: Hash;
  readonly bytes: Uint8Array;
}
