import { EXIT } from "../../../api/problems.ts";
import { listForgotten, unforget as bringBack } from "../../../open.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { minuteOf } from "../../render/words.ts";
import { printable, shownCommand } from "../../../process/printable.ts";
import type { WorkspaceShape } from "../../../api/shapes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { meantBy } from "../../../core/values/meant-by.ts";
import { confirm, refuseWithoutPerson } from "../../support/confirm.ts";

function sentence(item: WorkspaceShape): string {
  const named = item.name === undefined ? "a workspace without a folder" : printable(item.name);
  return `the history of ${item.path === "" ? named : printable(item.path)} (${item.id}, ${item.seq} events)`;
}

/**
 * Asks whether the history should be removed. If the user agrees, returns the id of the history, because `prefix` could
 * match another history by the time of the removal. If the user declines, returns `undefined`. Throws `REFUSED` if
 * nobody can be asked. With `--now`, only a person at a terminal can agree.
 *
 * Returns `prefix` without asking in two cases:
 * - `--yes` is given, and `--now` is not.
 * - `prefix` matches no history, or several. In this case, `StoreApi.forget` throws the error.
 */
async function agreed(context: CommandContext, prefix: string): Promise<string | undefined> {
  const now = context.input.flag("now");
  if (now) refuseWithoutPerson(context, "a history");
  else if (context.input.flag("yes")) return prefix;
  const store = await context.store();
  const all = await store.workspaces();
  const exact = all.find((item) => item.id === prefix) ?? all.find((item) => item.name === prefix);
  const [only, second] = exact === undefined ? meantBy(all, prefix, (item) => item.id) : [exact];
  if (only === undefined || second !== undefined) return prefix;
  if (!context.canAsk) {
    throw new ChronicleError("REFUSED", "forgetting a history needs a confirmation, and nobody can be asked here", {
      hint: `if you are sure: ${shownCommand(["chronicle", "forget", prefix, "--yes"])}`,
      data: { id: prefix },
    });
  }
  const question = now
    ? `Remove ${sentence(only)} for good, at once?`
    : `Remove ${sentence(only)}? It can be brought back for 24 hours.`;
  return (await confirm(context, question)) ? only.id : undefined;
}

function told(context: CommandContext, gone: WorkspaceShape): string {
  if (context.input.flag("now"))
    return `removed ${sentence(gone)} for good; ${context.worded("chronicle gc frees the space")}`;
  const next = `for 24 hours \`chronicle unforget ${gone.id}\` brings it back, then chronicle gc frees the space`;
  return `removed ${sentence(gone)}; ${context.worded(next)}`;
}

export async function forget(context: CommandContext): Promise<number> {
  const prefix = context.input.args[0] ?? "";
  const meant = (await context.isOperator()) ? await agreed(context, prefix) : prefix;
  if (meant === undefined) return EXIT.failed;
  const store = await context.store();
  const gone = await store.forget(meant, { now: context.input.flag("now") });
  if (context.json) context.printJson(gone);
  else context.print(told(context, gone));
  return EXIT.done;
}

/**
 * Returns a text that says until when something can be brought back. `at`: the end of this time, in ISO-8601; `null` if
 * the time has no end.
 */
function until(at: string | null): string {
  return at === null ? "kept" : `until ${minuteOf(at)}`;
}

export async function unforget(context: CommandContext): Promise<number> {
  const [id] = context.input.args;
  const store = await context.store();
  if (id === undefined) {
    const all = listForgotten(store);
    if (context.json) context.printJson(all);
    else if (all.length === 0) context.say("there is nothing that could be brought back");
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
