import { ChronicleError } from "../core/values/errors.ts";
import type { Head } from "../core/values/event.ts";
import type { IndexBatch } from "./index-store.ts";

/** The greatest number of entries that one step of `IndexStore.entriesAt` yields. */
export const ENTRY_BATCH = 2_000;

/**
 * Does the batch go on from the head of the index? Its events ascend, lie above that head and end at the batch's own;
 * no iteration lies above that. Throws `INTEGRITY_VIOLATION`.
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
