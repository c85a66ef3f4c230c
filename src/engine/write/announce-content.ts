import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { Context } from "../log/context.ts";
import type { ReadyWrite } from "./ready-write.ts";

/** Longer contents take longer to be sent than to be made durable. */
const MOST_BYTES = 4_096;

/**
 * Tells of the small content of a write that is about to be recorded: copies elsewhere can make it durable at the same time
 * as this side. Resolves when it is on its way.
 */
export async function announceContent({ foreseen }: Context, write: ReadyWrite): Promise<void> {
  if (write.kind !== "put" || write.content.bytes === undefined) return;
  const { hash, bytes } = write.content;
  if (bytes.length >= MOST_BYTES) return;
  foreseen.emit({ path: write.path, hash, bytes });
  await yieldToEventLoop();
}
