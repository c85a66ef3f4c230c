import { decodeBase } from "../../core/log/base.ts";
import { readEventFast } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { Erasures } from "../../core/records/erasures.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { EventLog } from "../../storage/event-log.ts";
import { HistoryNeeds, privateContents } from "../log/history-needs.ts";
import { baseOf } from "../log/project.ts";

const HASHES = /[0-9a-f]{64}/g;

interface DamagedHistory {
  readonly log: Pick<EventLog, "read">;
  readonly anchor: HistoryAnchor | undefined;
  /** The present time, in milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Yields the hashes of all contents that a damaged history still names: in its anchor, in its lines, and in the bases
 * and plans that the anchor and sound lines name. Every hash in a line is yielded, even if the line is damaged. The
 * result therefore also contains hashes of other things, such as events. Pruned contents are included. A content that
 * only missing lines have named is not found.
 */
export async function* salvagedContents(blobs: BlobStore, history: DamagedHistory): AsyncGenerator<Hash> {
  const { log, anchor, now } = history;
  const found: Hash[] = [];
  const needs = new HistoryNeeds({}, ({ hash }) => found.push(hash));
  if (anchor !== undefined) {
    yield anchor.base;
    await rowsOf(blobs, needs, { base: anchor.base, seq: anchor.seq });
  }
  for await (const lines of log.read({ seq: 1, offset: 0 })) {
    for (const { bytes } of lines) {
      for (const [hash] of bytes.toString("latin1").matchAll(HASHES)) yield hash as Hash;
      const event = soundEvent(bytes);
      const base = event === undefined ? undefined : passingDamage(() => noteEvent(needs, event));
      if (base !== undefined && event !== undefined) await rowsOf(blobs, needs, { base, seq: event.seq });
      yield* found.splice(0);
    }
  }
  passingDamage(() => needs.finish());
  yield* found;
  for (const one of needs.privates) {
    try {
      for await (const { hash } of privateContents(blobs, { privates: [one], erasures: new Erasures() }, now))
        yield hash;
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
    }
  }
}

function noteEvent(needs: HistoryNeeds, event: LogEvent): Hash | undefined {
  needs.event(event, "");
  return baseOf(event);
}

function soundEvent(bytes: Uint8Array): LogEvent | undefined {
  return passingDamage(() => readEventFast(bytes));
}

function passingDamage<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

async function rowsOf(
  blobs: BlobStore,
  needs: HistoryNeeds,
  { base, seq }: { readonly base: Hash; readonly seq: number },
): Promise<void> {
  try {
    const reader = await blobs.open(base);
    if (reader === undefined) return;
    for await (const batch of decodeBase(reader.pieces())) needs.rows(batch, { seq }, "");
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
  }
}
