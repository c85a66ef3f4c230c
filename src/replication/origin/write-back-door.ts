import type {
  SettledWriteBack,
  WriteBackAnswer,
  WriteBackBatch,
  WriteBackEntry,
  WriteBackReason,
} from "../../core/records/write-back.ts";

/** What an origin's session hands its replica's changes to: the workspace. */
export interface WriteBackDoor {
  /** Up to where the entries of a replica are decided. */
  settled(replica: string): Promise<SettledWriteBack>;
  /** Throws `LIMIT_EXCEEDED` where the store may not take so many bytes more. */
  reserve(bytes: number): void;
  /** Why an entry is not taken whatever its content is: that need not be fetched then. */
  refusal(entry: WriteBackEntry): WriteBackReason | undefined;
  /**
   * Decides about entries whose contents are in the store. Durable when it resolves. Throws `READ_ONLY` where nothing is
   * taken; `LOCKED` and others where it may go well later.
   */
  decide(batch: WriteBackBatch): Promise<WriteBackAnswer>;
}
