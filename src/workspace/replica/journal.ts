import type { Entry } from "../../core/entry.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";

/** A change of a replica's own that its origin is to be told of. */
export interface JournalEntry {
  /** Its event in the replica's own log. */
  readonly localSeq: number;
  readonly path: WorkspacePath;
  /** `undefined`: deleted. */
  readonly entry: Entry | undefined;
  /** The origin's event that the change is based on; 0: none. */
  readonly seen: number;
  readonly actor: string;
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
}

/** Some of the journal, in its order. */
export interface JournalPage {
  readonly entries: readonly JournalEntry[];
  /** The own event up to which the journal was looked through: there are no other entries up to it. */
  readonly upTo: number;
}

/** The iteration of a path that was in force at an event of the origin. */
export type MirrorIteration = (path: WorkspacePath, seq: number) => Promise<IterationRow | undefined>;
