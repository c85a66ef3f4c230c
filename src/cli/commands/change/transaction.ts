import { EXIT } from "../../../api/problems.ts";
import type { TransactionOptions } from "../../../api/action-api.ts";
import type { TransactionRollbackShape, TransactionShape } from "../../../api/action-shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { conflictLines, SETTLE } from "../../render/conflicts.ts";
import { counted, ago } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { mostLines, restoredLines, restoredSentence } from "../../render/restored.ts";
import { usageError } from "../../../process/usage-error.ts";
import { optional } from "../../../util/optional.ts";

type Verb = (context: CommandContext, id: string | undefined) => Promise<number>;

const VERBS: Readonly<Record<string, Verb>> = { begin, commit, rollback, list };

export async function transaction(context: CommandContext): Promise<number> {
  const [what = "", id, ...more] = context.input.args;
  const verb = Object.hasOwn(VERBS, what) ? VERBS[what] : undefined;
  if (verb === undefined) {
    const known = Object.keys(VERBS).join(", ");
    throw usageError(`chronicle transaction does not know '${printable(what)}'`, `one of: ${known}`);
  }
  const takesId = verb === commit || verb === rollback;
  if (more.length > 0 || (id !== undefined && !takesId)) {
    const usage = takesId ? `${what} [id]` : what;
    throw usageError(
      `transaction ${what} takes ${takesId ? "one id" : "no id"}`,
      `usage: chronicle transaction ${usage}`,
    );
  }
  return verb(context, id);
}

async function begin(context: CommandContext): Promise<number> {
  const { input } = context;
  const [name, session] = [input.text("name"), input.text("session")];
  if (input.flag("keep") && input.number("pid") === undefined)
    throw usageError("--keep needs --pid: it commits the transaction when that process has ended", "add --pid <pid>");
  const options: TransactionOptions = {
    ...optional({ name, session }),
    // The transaction owns all changes to the folder. The scope is given explicitly, because the default scope over a
    // server is `actions`.
    scope: "folder",
    // This process cannot be the owner of the transaction, because this process ends at once. Without `--pid`, the
    // transaction stays open until it is committed or rolled back.
    pid: input.number("pid") ?? null,
    onOwnerDeath: input.flag("keep") ? "keep" : "rollback",
  };
  const workspace = await context.workspace({ create: true });
  const begun = await workspace.beginTransaction(options);
  if (context.json) context.printJson(begun);
  else context.print(begun.id);
  return EXIT.done;
}

async function commit(context: CommandContext, id: string | undefined): Promise<number> {
  const workspace = await context.workspace({});
  const done = await workspace.commitTransaction(id ?? (await innermost(workspace)));
  if (context.json) context.printJson(done);
  else context.print(`committed ${labelOf(done)}: ${await committed(context, workspace, done)}`);
  return EXIT.done;
}

async function committed(context: CommandContext, workspace: WorkspaceApi, done: TransactionShape): Promise<string> {
  const { id, parent, run, changed = 0, snapshots } = done;
  // A savepoint cannot be undone on its own, but only together with its parent.
  if (parent !== undefined) return `a savepoint of ${parent.slice(0, 8)}, and taken back with it`;
  const actions = snapshots.length === 0 ? "" : `, ${counted(snapshots.length, "action")} among them`;
  const what = changed === 0 ? "no changes" : `${counted(changed, "change")}${actions}`;
  if (run !== undefined)
    return changed === 0 ? what : `${what}; part of run ${run.slice(0, 8)}, and taken back with it`;
  // A transaction with `changed` 0 may still be an operation that `undo` undoes, because it may have changed only files
  // that are kept aside.
  const isStep = (await workspace.operations()).some((one) => one.id === id);
  return isStep ? `${what}; ${context.worded("chronicle undo takes it back")}` : what;
}

async function rollback(context: CommandContext, id: string | undefined): Promise<number> {
  const workspace = await context.workspace({});
  const options = { force: context.input.flag("force") };
  const result = await workspace.rollbackTransaction(id ?? (await innermost(workspace)), options);
  if (context.json) context.printJson(result);
  else printRollback(context, workspace, result);
  const { skipped, unmerged, conflicts } = result.undo;
  return skipped.length + unmerged.length + conflicts.length > 0 ? EXIT.failed : EXIT.done;
}

function printRollback(context: CommandContext, workspace: WorkspaceApi, result: TransactionRollbackShape): void {
  const { undo } = result;
  const paths = context.paths(workspace);
  const style = { paint: context.paint, shown: (path: string) => paths.shown(path), most: mostLines(undo, false) };
  context.print(`rolled back ${labelOf(result.transaction)}`);
  for (const note of undo.finished) context.print(printable(note));
  for (const note of undo.notes) context.print(context.paint("yellow", `note: ${context.worded(printable(note))}`));
  for (const line of restoredLines(undo, style)) context.print(line);
  for (const line of conflictLines(undo.unmerged, style)) context.print(line);
  context.print(restoredSentence(undo, "taken back"));
  if (undo.unmerged.length > 0) context.print(context.paint("dim", context.worded(SETTLE)));
  const isNothing = undo.changes.length + (undo.kept_aside?.length ?? 0) + (undo.git?.length ?? 0) === 0;
  if (undo.undo_id === null || isNothing) return;
  context.print(context.paint("dim", context.worded("chronicle redo brings it back")));
}

async function list(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const all = (await workspace.transactions()).toReversed();
  if (context.json) {
    context.printJson(all);
    return EXIT.done;
  }
  const now = context.io.now();
  const rows = all.map((one) => [
    context.paint("dim", one.id),
    ago(one.started_at, now),
    stateOf(context, one),
    counted(one.snapshots.length, "action"),
    printable(one.name ?? ""),
    one.parent === undefined ? "" : context.paint("dim", `in ${one.parent.slice(0, 8)}`),
  ]);
  for (const line of columns(rows, "<<<><<")) context.print(line);
  if (rows.length === 0) context.say(context.worded("no transactions yet: chronicle transaction begin"));
  return EXIT.done;
}

function stateOf({ paint }: CommandContext, { status, orphaned }: TransactionShape): string {
  if (orphaned === true) return paint("yellow", "active, its process is gone");
  if (status === "active") return paint("cyan", "active");
  return status === "committed" ? paint("green", "committed") : paint("red", "rolled back");
}

function labelOf({ id, name }: TransactionShape): string {
  return name === undefined ? id.slice(0, 8) : `${id.slice(0, 8)} (${printable(name)})`;
}

/**
 * Returns the id of the active transaction that contains no other active transaction. Throws `NOT_FOUND` if no
 * transaction is active, and `AMBIGUOUS` if several active transactions contain no other.
 */
async function innermost(workspace: WorkspaceApi): Promise<string> {
  const active = (await workspace.transactions()).filter((one) => one.status === "active");
  const parents = new Set(active.map((one) => one.parent));
  const [only, second] = active.filter((one) => !parents.has(one.id));
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", "no transaction is active", {
      hint: "`chronicle transaction begin` begins one",
    });
  if (second === undefined) return only.id;
  throw new ChronicleError("AMBIGUOUS", "several transactions are active", {
    hint: "name one: `chronicle transaction list` shows them",
    data: { transactions: active.map((one) => one.id) },
  });
}
