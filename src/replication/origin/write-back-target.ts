import type {
  SettledWriteBack,
  WriteBackAnswer,
  WriteBackBatch,
  WriteBackEntry,
  WriteBackReason,
} from "../../core/records/write-back.ts";

/** The workspace side of write-back: a session passes its replica's changes to it. */
export interface WriteBackTarget {
  /** Returns up to which entry a replica's changes are decided. */
  settled(replica: string): Promise<SettledWriteBack>;
  /** Throws `LIMIT_EXCEEDED` if the store may not take this many more bytes. */
  reserve(bytes: number): void;
  /** Returns why an entry is refused whatever its content is, so that it need not be fetched. */
  refusal(entry: WriteBackEntry): WriteBackReason | undefined;
  /**
   * Decides entries whose contents are in the store. Durable when it resolves. Throws `READ_ONLY` if nothing is taken;
   * `LOCKED` and others if it may succeed later.
   */
  decide(batch: WriteBackBatch): Promise<WriteBackAnswer>;
}
