import type { DuShape } from "../api/shapes.ts";
import type { Context } from "./context.ts";

/** How much space the history takes. */
export async function usageOf(context: Context): Promise<DuShape> {
  let count = 0;
  let contentBytes = 0;
  let storedBytes = 0;
  for await (const blob of context.blobs.list()) {
    count += 1;
    contentBytes += blob.size;
    storedBytes += blob.storedBytes;
  }
  const { indexBytes, totalBytes } = await context.store.usage();
  const archived = await context.log.archived();
  return {
    blobs: { count, content_bytes: contentBytes, stored_bytes: Math.round(storedBytes) },
    log_bytes: archived.reduce((sum, { bytes }) => sum + bytes, context.log.head.bytes),
    index_bytes: indexBytes,
    total_bytes: totalBytes,
    store: context.store.home,
  };
}
