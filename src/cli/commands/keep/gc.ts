import { EXIT } from "../../../api/problems.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/counted.ts";

export async function gc(context: CommandContext): Promise<number> {
  const store = await context.store();
  const result = await store.gc();
  if (context.json) context.printJson(result);
  else {
    context.print(`freed ${formatBytes(result.freed_bytes)} (${counted(result.freed_blobs, "blob")})`);
    if (result.pending_blobs > 0) {
      const what = `${counted(result.pending_blobs, "blob")} (${formatBytes(result.pending_bytes)})`;
      context.print(
        `${what} no longer needed, but in packs of which most is needed, or that are in use: gc frees them once neither is so`,
      );
    }
  }
  for (const { workspace, detail } of result.damaged ?? [])
    context.say(`the forgotten history ${workspace} is damaged, and what it still names was kept: ${detail}`);
  return EXIT.done;
}
