import type { WriteBackAnswer, WriteBackEntry } from "../../core/write-back.ts";

/** What an origin's session hands its replica's changes to: the workspace. */
export interface WriteBackDoor {
  /** The last entry of a replica that was decided about; 0: none was. */
  settled(replica: string): Promise<SettledWriteBack>;
  /**
   * Decides about entries, by `localSeq`, whose contents are in the store. Durable when it resolves. `acknowledged`: the
   * last event that the replica is known to hold, so that it can have seen it.
   */
  decide(batch: WriteBackBatch): Promise<WriteBackAnswer>;
}

/** How far a replica's entries are decided. */
export interface SettledWriteBack {
  readonly upTo: number;
  /** The answers to its last batch, for a replica that never got them. */
  readonly last: WriteBackAnswer;
}

/** What a replica sends together. */
export interface WriteBackBatch {
  readonly replica: string;
  readonly acknowledged: number;
  readonly entries: readonly WriteBackEntry[];
}
