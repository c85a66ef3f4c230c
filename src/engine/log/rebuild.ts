import type { RebuildShape } from "../../api/shapes.ts";
import type { ProgressOptions } from "../../api/workspace-api.ts";
import { catchUp } from "./catch-up.ts";
import type { Context } from "./context.ts";
import { rootAtHead } from "./tree.ts";

/** Discards the index and builds it again from the log and the blobs. Throws what is wrong with the log. */
export async function rebuildIndex(context: Context, options: ProgressOptions = {}): Promise<RebuildShape> {
  const began = performance.now();
  using _held = await context.lock.exclusive(context.waitMs);
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
