import { decodeBase, type BaseBatch } from "../core/base.ts";
import { parseLine } from "../core/chain.ts";
import type { LogEvent } from "../core/event.ts";
import { isHash, type Hash } from "../core/hash.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import type { EventLog, LogPosition } from "../storage/event-log.ts";
import { baseOf } from "./project.ts";

/** Contents that a record needs: an iteration's content, a snapshot's filter, an open intent's plan. */
function contentsOfRecord({ recordId, record }: Pick<LogEvent, "recordId" | "record">): Hash[] {
  const hashes: Hash[] = [];
  const add = (value: unknown): void => {
    if (typeof value === "string" && isHash(value)) hashes.push(value);
  };
  if (recordId.startsWith("file")) add(record["hash"]);
  else if (recordId.startsWith("snapshot:")) add(record["filter"]);
  else if (recordId.startsWith("intent:") && record["state"] === "open") add(record["plan"]);
  return hashes;
}

/** Contents that an event needs: its record's, and the base that it names. */
export function contentsOf(event: LogEvent): readonly Hash[] {
  const base = baseOf(event);
  return base === undefined ? contentsOfRecord(event) : [...contentsOfRecord(event), base];
}

/** Contents that some rows of a base need. The bases of its snapshots are not among them: they were compacted away. */
export function contentsOfRows({ entries = [], records = [] }: BaseBatch): Hash[] {
  return [...entries.flatMap(({ entry }) => entry?.hash ?? []), ...records.flatMap(contentsOfRecord)];
}

/** The contents that the rows of a base need. */
export async function* contentsOfBase(blobs: BlobStore, base: Hash): AsyncGenerator<Hash> {
  const reader = await blobs.open(base);
  if (reader === undefined) return;
  for await (const batch of decodeBase(reader.pieces())) yield* contentsOfRows(batch);
}

/**
 * Every content that a workspace's history needs (`from`: that its events from there on need). Throws `LOG_DAMAGED` at a line that cannot be read: nothing is freed
 * while it is not known what a history needs.
 */
export async function* aliveContents(
  log: EventLog,
  blobs: BlobStore,
  from: LogPosition = { seq: 1, offset: 0 },
): AsyncGenerator<Hash> {
  const openPlans = new Map<string, Hash>();
  // One reading through the archive: a log that is sealed meanwhile must not be missed.
  for await (const lines of log.read(from)) {
    for (const line of lines) {
      const event = parseLine(line.bytes);
      if (event.recordId.startsWith("intent:")) trackPlan(openPlans, event);
      else yield* contentsOf(event);
      const base = baseOf(event);
      if (base !== undefined) yield* contentsOfBase(blobs, base);
    }
  }
  yield* openPlans.values();
}

function trackPlan(openPlans: Map<string, Hash>, event: LogEvent): void {
  const [plan] = contentsOf(event);
  if (plan === undefined) openPlans.delete(event.recordId);
  else openPlans.set(event.recordId, plan);
}
