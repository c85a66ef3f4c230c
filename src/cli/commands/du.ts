import { EXIT } from "../../api/problems.ts";
import { formatBytes } from "../../core/duration.ts";
import type { CommandContext } from "../context.ts";
import { columns } from "../render/columns.ts";
import { counted } from "../render/counted.ts";
import { printable } from "../render/printable.ts";

export async function du(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const result = await workspace.du();
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
    ["log", formatBytes(result.log_bytes), ""],
    ["index", formatBytes(result.index_bytes), "can be made anew: chronicle rebuild"],
    ["total", formatBytes(result.total_bytes), printable(result.store)],
  ];
  for (const line of columns(rows, "<>")) context.print(line);
  return EXIT.done;
}
