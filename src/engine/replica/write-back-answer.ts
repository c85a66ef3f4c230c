import type { EventDraft } from "../../core/values/event.ts";
import { fileRecordId } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { AcceptedEntry, RejectedEntry, WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";
import {
  versionDraft,
  versionRecordId,
  writeBackDraft,
  type VersionRecord,
} from "../../core/records/write-back-record.ts";
import type { PlannedWriteBack, RefusedEntry } from "./write-back-plan.ts";
import { optional } from "../../util/optional.ts";

/** A planned batch whose events are known. */
export interface RecordedWriteBack {
  readonly replica: string;
  readonly planned: PlannedWriteBack;
  /** The last entry of the batch. */
  readonly last: Pick<WriteBackEntry, "localSeq" | "eventHash">;
  /** The events of its files, and the number of the first of them. */
  readonly files: readonly EventDraft[];
  readonly firstSeq: number;
  /** Paths that were planned to be changed, and were left alone. */
  readonly left?: ReadonlySet<WorkspacePath>;
  /** Answers to other entries that the replica sent with these. */
  readonly earlier: WriteBackAnswer;
  /** Earlier ones that were planned with the batch; they were answered then. */
  readonly going: readonly WriteBackEntry[];
}

/** More answers than this are not remembered: the replica has them, or asks for what is settled. */
const MOST_ANSWERS = 1_000;

/** The answers to a batch, and what is recorded behind its files: what was not taken, and the answers. */
export function answerOf(recorded: RecordedWriteBack): {
  readonly answer: WriteBackAnswer;
  readonly records: EventDraft[];
} {
  const { replica, planned, last, left, earlier } = recorded;
  const seqs = seqsOf(recorded);
  const resent = new Set(recorded.going.map(({ localSeq }) => localSeq));
  const isLeft = ({ entry }: { readonly entry: WriteBackEntry }): boolean => left?.has(entry.path) === true;
  const done = planned.taken.filter((one) => !isLeft(one));
  const lost: RefusedEntry[] = planned.taken.filter(isLeft).map((one) => ({ ...one, reason: "stale" }));
  const refused = [...planned.refused, ...lost].map((one) => ({
    ...one,
    against: finite(one.against, one.entry, seqs),
  }));
  const accepted = [
    ...done.map(({ entry }): AcceptedEntry => ({ localSeq: entry.localSeq, ...eventOf(entry, seqs) })),
    ...planned.known.map(({ entry, iteration, seq }) => {
      const own = seq === Infinity ? seqs.get(iterationKey(fileRecordId(entry.path), iteration)) : undefined;
      return { localSeq: entry.localSeq, iteration, sequence: own?.sequence ?? finite(seq, entry, seqs) ?? 0 };
    }),
  ];
  const answer = {
    accepted: ordered(earlier.accepted, accepted, resent),
    rejected: ordered(earlier.rejected, refused.map(rejectedOf), resent),
  };
  const isLong = answer.accepted.length + answer.rejected.length > MOST_ANSWERS;
  const kept = isLong ? { accepted: [], rejected: [] } : answer;
  const versions = refused.flatMap((one) => versionOf(replica, one));
  const records = [
    ...versions.filter(({ localSeq }) => !resent.has(localSeq)).map(versionDraft),
    ...done.filter(({ entry }) => resent.has(entry.localSeq)).map(({ entry }) => forgetting(replica, entry)),
    writeBackDraft(replica, {
      settled: last.localSeq,
      ...optional({ hash: last.eventHash }),
      ...kept,
      going: planned.going,
    }),
  ];
  return { answer, records };
}

interface Recorded {
  readonly iteration: number;
  readonly sequence: number;
}

/** The events by path and own event, by path and iteration, and the last one of each path. */
function seqsOf({ files, firstSeq }: RecordedWriteBack): ReadonlyMap<string, Recorded> {
  const found = new Map<string, Recorded>();
  for (const [i, { recordId, record }] of files.entries()) {
    const one = { iteration: record["iteration"] as number, sequence: firstSeq + i };
    const { local_seq } = (record["replica"] ?? {}) as { local_seq?: number };
    found.set(recordId, one);
    found.set(keyOf(recordId, local_seq ?? 0), one);
    found.set(iterationKey(recordId, one.iteration), one);
  }
  return found;
}

function keyOf(recordId: string, localSeq: number): string {
  return `${localSeq} ${recordId}`;
}

function iterationKey(recordId: string, iteration: number): string {
  return `#${iteration} ${recordId}`;
}

function eventOf({ path, localSeq }: WriteBackEntry, seqs: ReadonlyMap<string, Recorded>): Recorded {
  return seqs.get(keyOf(fileRecordId(path), localSeq)) ?? { iteration: 0, sequence: 0 };
}

/** An event of the batch itself is told of by its number. */
function finite(
  seq: number | undefined,
  { path }: WriteBackEntry,
  seqs: ReadonlyMap<string, Recorded>,
): number | undefined {
  return seq === Infinity ? (seqs.get(fileRecordId(path))?.sequence ?? 0) : seq;
}

function rejectedOf({ entry, reason, against, awaits = 0 }: RefusedEntry): RejectedEntry {
  const { localSeq } = entry;
  if (against === undefined) return { localSeq, reason };
  return {
    localSeq,
    reason,
    currentSequence: Math.max(against, awaits),
    kept: { contentHash: entry.entry?.hash ?? null },
  };
}

function versionOf(replica: string, { entry, against }: RefusedEntry): VersionRecord[] {
  return against === undefined ? [] : [{ ...entry, replica, against }];
}

/** The version of an entry that was taken after all is none any more. */
function forgetting(replica: string, { localSeq }: WriteBackEntry): EventDraft {
  return { op: "delete", recordId: versionRecordId({ replica, localSeq }), record: {} };
}

function ordered<Answer extends { readonly localSeq: number }>(
  earlier: readonly Answer[],
  these: readonly Answer[],
  without: ReadonlySet<number>,
): Answer[] {
  const asked = these.filter(({ localSeq }) => !without.has(localSeq));
  return [...earlier, ...asked].sort((a, b) => a.localSeq - b.localSeq);
}
