import { EXIT } from "../../api/problems.ts";
import { formatBytes } from "../../core/duration.ts";
import type { CommandContext } from "../context.ts";
import { columns } from "../render/columns.ts";
import { counted } from "../render/counted.ts";
import { printable } from "../render/printable.ts";

export async function du(context: CommandContext): Promise<number> {
  const store = await context.store();
  const result = await store.du();
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  const { blobs } = result;
  const rows = [
    [
      "contents",
      formatBytes(blobs.stored_bytes),
      `${counted(blobs.count, "blob")} of ${formatBytes(blobs.content_bytes)}`,
    ],
    ["logs", formatBytes(result.log_bytes), "archives included"],
    ["indexes", formatBytes(result.index_bytes), "can be made anew: chronicle rebuild"],
    ["other", formatBytes(result.other_bytes), "stat caches, locks, quarantine, unused room in packs"],
    ["total", formatBytes(result.total_bytes), printable(result.store)],
  ];
  for (const line of columns(rows, "<>")) context.print(line);
  return EXIT.done;
}
