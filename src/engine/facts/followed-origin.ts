import { decodeReplica, type ReplicaRecord } from "../../core/records/replica-record.ts";
import type { HistoryContext } from "../log/context.ts";
import { readEvent, readRange } from "../log/read-events.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { cameFromOrigin, changesOf } from "../../core/values/file-record.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import { proposedPath } from "../../core/records/proposal-record.ts";
import { indexedFrom } from "../log/history-start.ts";

/**
 * Returns the replica record of the sync between this folder and an origin. Returns `undefined` if the folder has no
 * sync, or if the sync was stopped. Of several replica records, only the one with the last event is in force. The
 * others are about other origins, or were written before the origin's workspace id was known.
 */
export async function followedOrigin(context: HistoryContext): Promise<ReplicaRecord | undefined> {
  const row = (await context.index.records("replica:")).at(-1);
  if (row === undefined) return undefined;
  const record = decodeReplica((await readEvent(context, row)).record);
  return record.stopped === true ? undefined : record;
}

/**
 * Returns the seq of the last event of this history that the followed origin is known to have answered
 * (`ReplicaRecord.settled`). Returns `undefined` if the folder follows no origin. The state right after this event and
 * all later states must be kept until the origin has answered the later events.
 */
export async function unsentFrom(context: HistoryContext): Promise<number | undefined> {
  return (await followedOrigin(context))?.settled;
}

/**
 * Throws `REFUSED` if the followed origin has not yet answered a change of this folder. Does nothing if the folder
 * follows no origin. Must be called before events are removed from the log, because a change without its event could no
 * longer be sent to the origin.
 */
export async function refuseUnsent(context: HistoryContext): Promise<void> {
  const followed = await followedOrigin(context);
  if (followed === undefined) return;
  const { settled, url } = followed;
  const { seq: head } = await context.index.head();
  const begins = (await indexedFrom(context)) ?? 1;
  for await (const event of readRange(context, Math.max(settled + 1, begins), head)) {
    if (!isJournaled(event)) continue;
    const { seq } = event;
    throw new ChronicleError("REFUSED", `event ${seq} is a change that ${url} has not answered yet`, {
      hint: "wait until the origin has answered (`chronicle sync flush`), or stop the sync (`chronicle sync stop`), and try again",
      data: { seq, upstream: url },
    });
  }
}

/**
 * Returns the hashes of the contents of this folder's own changes after event `settled`, which the origin has not
 * answered yet. The contents of proposals are not included, because the event of a proposal names no content.
 */
export async function unsentContents(context: HistoryContext, settled: number): Promise<ReadonlySet<Hash>> {
  const { seq: head } = await context.index.head();
  const begins = (await indexedFrom(context)) ?? 1;
  const found = new Set<Hash>();
  for await (const event of readRange(context, Math.max(settled + 1, begins), head)) {
    const { hash } = event.record;
    if (typeof hash === "string" && isHash(hash) && isJournaled(event)) found.add(hash);
  }
  return found;
}

/**
 * True if the event must be sent to the origin: it is a proposal, or it records a change that did not come from an
 * origin.
 */
function isJournaled(event: LogEvent): boolean {
  return proposedPath(event.recordId) !== undefined || changesOf(event).some(({ file }) => !cameFromOrigin(file));
}
