import { decodeBase } from "../core/base.ts";
import { parseLine } from "../core/chain.ts";
import type { LogEvent } from "../core/event.ts";
import { isHash, type Hash } from "../core/hash.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import type { EventLog, LogPosition } from "../storage/event-log.ts";
import { baseOf } from "./project.ts";

/** Contents that an event needs: an iteration's content, a snapshot's filter and base, an open intent's plan. */
export function contentsOf(event: LogEvent): readonly Hash[] {
  const { record, recordId } = event;
  const hashes: Hash[] = [];
  const add = (value: unknown): void => {
    if (typeof value === "string" && isHash(value)) hashes.push(value);
  };
  if (recordId.startsWith("file")) add(record["hash"]);
  else if (recordId.startsWith("snapshot:")) add(record["filter"]);
  else if (recordId.startsWith("intent:") && record["state"] === "open") add(record["plan"]);
  add(baseOf(event));
  return hashes;
}

/** The contents that the entries of a base need. */
export async function* contentsOfBase(blobs: BlobStore, base: Hash): AsyncGenerator<Hash> {
  const reader = await blobs.open(base);
  if (reader === undefined) return;
  for await (const { entries } of decodeBase(reader.pieces())) {
    for (const { entry } of entries ?? []) if (entry?.hash !== undefined) yield entry.hash;
  }
}

/**
 * Every content that a workspace's history needs (`from`: that its events from there on need). Throws `LOG_DAMAGED` at a line that cannot be read: nothing is freed
 * while it is not known what a history needs.
 */
export async function* aliveContents(log: EventLog, blobs: BlobStore, from?: LogPosition): AsyncGenerator<Hash> {
  const openPlans = new Map<string, Hash>();
  const whole = from === undefined ? await log.archived() : [];
  for (const source of [...whole.map((archive) => archive.read()), log.read(from)]) {
    for await (const lines of source) {
      for (const line of lines) {
        const event = parseLine(line.bytes);
        if (event.recordId.startsWith("intent:")) trackPlan(openPlans, event);
        else yield* contentsOf(event);
        const base = baseOf(event);
        if (base !== undefined) yield* contentsOfBase(blobs, base);
      }
    }
  }
  yield* openPlans.values();
}

function trackPlan(openPlans: Map<string, Hash>, event: LogEvent): void {
  const [plan] = contentsOf(event);
  if (plan === undefined) openPlans.delete(event.recordId);
  else openPlans.set(event.recordId, plan);
}
