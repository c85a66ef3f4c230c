import { ChronicleError } from "../../core/values/errors.ts";
import {
  type SettledWriteBack,
  type WriteBackAnswer,
  type WriteBackBatch,
  type WriteBackEntry,
  decodeVersion,
  decodeWriteBack,
  versionRecordId,
  writeBackRecordId,
  type WriteBackRecord,
} from "../../core/records/write-back.ts";
import type { Context } from "../log/context.ts";
import { withOwnIds } from "../facts/taken-ids.ts";
import { readEvent } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";

const NONE: WriteBackRecord = { settled: 0, accepted: [], rejected: [], going: [] };

/**
 * Returns the last decided entry of a replica and the answers to the last batch. The entry is named by the seq and the
 * hash of its event in the replica's log.
 */
export async function settledWriteBack(context: Context, replica: string): Promise<SettledWriteBack> {
  const { settled, hash, accepted, rejected } = await recordOf(context, replica);
  return { upTo: settled, ...optional({ hash }), last: { accepted, rejected } };
}

async function recordOf(context: Context, replica: string): Promise<WriteBackRecord> {
  const row = await context.index.record(writeBackRecordId(replica));
  return row === undefined ? NONE : decodeWriteBack((await readEvent(context, row)).record);
}

export interface OpenWriteBack {
  /** The batch with only those entries that are not decided yet. */
  readonly batch: WriteBackBatch;
  /** The last entry that was decided; `localSeq` is 0 if there is none. */
  readonly decided: Pick<WriteBackEntry, "localSeq" | "eventHash">;
  /** The remembered answers to entries of the batch that an earlier call decided. */
  readonly earlier: WriteBackAnswer;
  /**
   * Entries of earlier batches that delete or replace a folder, and that were refused only because the folder was not
   * empty. These entries are judged once more with this batch.
   */
  readonly going: readonly WriteBackEntry[];
}

/**
 * Returns the entries of a batch that are not decided yet, and the remembered answers to the others. The lock must be
 * held. Throws `ROLLBACK_DETECTED` if another program has written under this replica's id since the entry `batch.after`
 * was decided. An entry of that program can have the same seq and be a different change.
 */
export async function openWriteBack(context: Context, batch: WriteBackBatch): Promise<OpenWriteBack> {
  const record = await recordOf(context, batch.replica);
  const { settled, hash, accepted, rejected, going } = record;
  refuseOther(record, batch);
  const asked = new Set(batch.entries.map(({ localSeq }) => localSeq));
  const open = batch.entries.filter(({ localSeq }) => localSeq > settled);
  const entries = await withOwnIds(context, batch.replica, open);
  const resent: WriteBackEntry[] = [];
  for (const localSeq of going.toSorted((a, b) => a - b)) {
    const row = await context.index.record(versionRecordId({ replica: batch.replica, localSeq }));
    if (row === undefined || row.op === "delete") continue;
    const { replica: _, against: _against, ...entry } = decodeVersion((await readEvent(context, row)).record);
    resent.push(entry);
  }
  return {
    batch: { ...batch, entries },
    decided: { localSeq: settled, ...optional({ eventHash: hash }) },
    earlier: {
      accepted: accepted.filter(({ localSeq }) => asked.has(localSeq)),
      rejected: rejected.filter(({ localSeq }) => asked.has(localSeq)),
    },
    going: resent,
  };
}

/**
 * Throws `ROLLBACK_DETECTED` if entries were decided over another connection since the entry `after` was decided. Does
 * not throw if the batch contains the entry that was decided last.
 */
function refuseOther({ settled, hash }: WriteBackRecord, { after, entries, replica }: WriteBackBatch): void {
  if (after === undefined || after === settled) return;
  if (hash !== undefined && entries.some((one) => one.localSeq === settled && one.eventHash === hash)) return;
  throw new ChronicleError(
    "ROLLBACK_DETECTED",
    `entries of replica ${replica} were decided over another connection meanwhile`,
    {
      data: { replica, settled, after },
    },
  );
}
