import { ChronicleError } from "../core/values/errors.ts";
import type { Head } from "../core/values/event.ts";
import type { IndexBatch } from "./index-store.ts";

/** Most entries that one step of `IndexStore.entriesAt` yields. */
export const ENTRY_BATCH = 2_000;

/**
 * Throws `INTEGRITY_VIOLATION` unless the batch follows the head of the index: its events ascend, are above that head
 * and end at the batch's own; no iteration is above that.
 */
export function checkIndexBatch(head: Head, batch: IndexBatch): void {
  const last = batch.head.seq;
  if (last <= head.seq) refuse(`the index stands at ${head.seq} and cannot go to ${last}`);
  let before = head.seq;
  for (const event of batch.events) {
    if (event.seq <= before) refuse(`event ${event.seq} comes after ${before}`);
    before = event.seq;
  }
  if (before > last) refuse(`event ${before} lies above the head ${last}`);
  for (const row of batch.iterations) {
    if (row.path === "") refuse("the root has no iterations");
    if (row.seq > last) refuse(`an iteration at ${row.seq} lies above the head ${last}`);
  }
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `index: ${reason}`, {
    hint: "the index can be rebuilt from the log",
  });
}
