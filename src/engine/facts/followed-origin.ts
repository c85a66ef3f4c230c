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
 * Returns the record of the sync that sends the folder's changes to an origin; `undefined` if there is none, or if it
 * was stopped. Only the last record is in force. An earlier record is about another origin, or was written before the
 * origin's workspace id was known.
 */
export async function followedOrigin(context: HistoryContext): Promise<ReplicaRecord | undefined> {
  const row = (await context.index.records("replica:")).at(-1);
  if (row === undefined) return undefined;
  const record = decodeReplica((await readEvent(context, row)).record);
  return record.stopped === true ? undefined : record;
}

/**
 * Returns the seq of the last own event that the origin has answered (`settled`); `undefined` if there is no sync. The
 * recorded states of all changes after this event must be kept until the origin has answered them.
 */
export async function unsentFrom(context: HistoryContext): Promise<number | undefined> {
  return (await followedOrigin(context))?.settled;
}

/** Throws `REFUSED` if the origin has not answered some changes: removing their events would lose them. */
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
      hint: "wait until the sync is quiet (`chronicle sync flush`), or stop it, and try again",
      data: { seq, upstream: url },
    });
  }
}

/**
 * Returns the hashes of the contents of own changes after event `settled`, which the origin has not answered yet. The
 * event of a proposal names no content, so contents of proposals are not included.
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

function isJournaled(event: LogEvent): boolean {
  return proposedPath(event.recordId) !== undefined || changesOf(event).some(({ file }) => !cameFromOrigin(file));
}
