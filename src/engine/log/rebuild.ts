import type { RebuildShape } from "../../api/shapes.ts";
import type { ProgressOptions } from "../../api/workspace-api.ts";
import { catchUp } from "./catch-up.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { damageAmid } from "./chain-fault.ts";
import type { Context } from "./context.ts";
import { rootAtHead } from "./tree.ts";

/**
 * Discards the index and rebuilds it from the log and the blobs. Throws if the log is damaged; the index is then kept
 * as it is.
 */
export async function rebuildIndex(context: Context, options: ProgressOptions = {}): Promise<RebuildShape> {
  const began = performance.now();
  using _held = await context.lock.exclusive(context.waitMs);
  const amid = await unlessIndexIsWrong(() => damageAmid(context));
  // The index knows events behind a damaged line, which a rebuilt one would not.
  if (amid !== undefined) throw amid;
  await context.index.reset();
  options.onProgress?.({ phase: "rebuild", done: 0, total: 0, unit: "events" });
  const { head, damage } = await catchUp(context, { recover: false, locked: true });
  if (damage !== undefined) throw damage;
  await rootAtHead(context, head.seq);
  let entries = 0;
  for await (const rows of context.index.entriesAt(head.seq)) entries += rows.length;
  options.onProgress?.({ phase: "rebuild", done: head.seq, total: head.seq, unit: "events" });
  return { events: head.seq, entries, seconds: Math.round(performance.now() - began) / 1_000 };
}

/** Returns `undefined` if the index cannot be read: there is nothing in it to lose. */
async function unlessIndexIsWrong<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION") return undefined;
    throw error;
  }
}
