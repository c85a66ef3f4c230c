import { EXIT } from "../../api/problems.ts";
import type { CommandContext } from "../context.ts";
import { columns } from "../render/columns.ts";
import { printable } from "../render/printable.ts";
import { ago } from "../render/when.ts";

export async function workspaces(context: CommandContext): Promise<number> {
  const store = await context.store();
  const all = await store.workspaces();
  if (context.json) {
    context.printJson(all);
    return EXIT.done;
  }
  const { paint, io } = context;
  const rows = all.map((item) => [
    paint("dim", item.id),
    ago(item.last_event ?? item.created, io.now()),
    `seq ${item.seq}`,
    printable(item.path) +
      (item.present ? "" : paint("yellow", "  (the folder is gone)")) +
      (item.problem === undefined ? "" : paint("red", `  (cannot be opened: ${printable(item.problem)})`)),
  ]);
  for (const line of columns(rows, "<<>")) context.print(line);
  if (rows.length === 0) context.say(`no workspaces in ${printable(store.home)}`);
  return EXIT.done;
}
