import { EXIT } from "../../api/problems.ts";
import type { WorkspaceShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/errors.ts";
import { confirm } from "../confirm.ts";
import type { CommandContext } from "../context.ts";
import { printable } from "../render/printable.ts";

function sentence(item: WorkspaceShape): string {
  const named = item.name === undefined ? "a workspace without a folder" : printable(item.name);
  return `the history of ${item.path === "" ? named : printable(item.path)} (${item.id}, ${item.seq} events)`;
}

/** On a terminal the workspace is named first; elsewhere only `--yes` removes what nothing brings back. */
async function agreed(context: CommandContext, prefix: string): Promise<boolean> {
  if (context.input.flag("yes")) return true;
  if (!context.canAsk) {
    throw new ChronicleError("REFUSED", `removing a history cannot be undone, and nobody can be asked here`, {
      hint: `if you are sure: chronicle forget ${prefix} --yes`,
      data: { id: prefix },
    });
  }
  const store = await context.store();
  const all = await store.workspaces();
  const exact = all.find((item) => item.id === prefix) ?? all.find((item) => item.name === prefix);
  const meant = exact === undefined ? all.filter((item) => item.id.startsWith(prefix)) : [exact];
  const [only] = meant;
  if (only === undefined || meant.length > 1) return true;
  return confirm(context, `Remove ${sentence(only)} for good?`);
}

export async function forget(context: CommandContext): Promise<number> {
  const prefix = context.input.args[0] ?? "";
  if ((await context.isOperator()) && !(await agreed(context, prefix))) return EXIT.failed;
  const store = await context.store();
  const gone = await store.forget(prefix);
  if (context.json) context.printJson(gone);
  else context.print(`removed ${sentence(gone)}; ${context.worded("chronicle gc frees the space")}`);
  return EXIT.done;
}
