import { EXIT } from "../../../api/problems.ts";
import { listForgotten, unforget as bringBack } from "../../../open.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";

/** The time at which a history may be freed, to the minute. */
function until(at: string | null): string {
  return at === null ? "kept" : `until ${at.slice(0, 16).replace("T", " ")}`;
}

export async function unforget(context: CommandContext): Promise<number> {
  const [id] = context.input.args;
  const store = await context.store();
  if (id === undefined) {
    const all = listForgotten(store);
    if (context.json) context.printJson(all);
    else if (all.length === 0) context.say("nothing was given up that could be brought back");
    else {
      const rows = all.map((one) => [
        one.id,
        one.what ?? "history",
        until(one.until),
        printable(one.path === "" ? (one.name ?? "") : one.path),
      ]);
      for (const line of columns(rows)) context.print(line);
    }
    return EXIT.done;
  }
  const back = await bringBack(store, id);
  if (context.json) context.printJson(back);
  else context.print(`brought back: ${printable(back.path === "" ? (back.name ?? "") : back.path)}  ${back.id}`);
  return EXIT.done;
}
