import type { FileRecord } from "../../core/values/file-record.ts";
import { decodeSession, type IntentRecord } from "../../core/records/records.ts";
import { holdsSteps } from "../../core/records/transaction-record.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import { greatestOf } from "../../util/long-lists.ts";
import { optional } from "../../util/optional.ts";
import type { Context } from "../log/context.ts";
import { doneIntents } from "../log/intents.ts";
import { keepersWithin } from "./keepers.ts";
import { fileEvents, type Work } from "./own-work.ts";
import { readEvent } from "../log/read-events.ts";
import { actionsAfter, allTransactions, familyOf, type LoggedTransaction } from "./transactions.ts";

/** Returns the label of the undo of a transaction. The intent of this undo keeps the label as its `selection`. */
export function labelOf({ id }: Pick<LoggedTransaction, "id">): string {
  return `transaction ${id}`;
}

/**
 * Returns the work of a transaction:
 *
 * - The changes of its actions and savepoints.
 * - If `holdsFolder` is true for the transaction: the changes that no action made while the transaction was the
 *   innermost bracket.
 * - If the transaction is active and can contain restores, undos and redos (see `holdsSteps`): these operations. In a
 *   transaction of actions, only the operations of the client that began the transaction are included. An undo or redo
 *   that concerns only changes of other work is left out if that work made the changes after the transaction began.
 *
 * Once a transaction is committed, the restores, undos and redos in it are operations of their own.
 */
export async function workOfTransaction(context: Context, transaction: LoggedTransaction): Promise<Work> {
  const { fromSeq, status } = transaction;
  const family = familyOf(await allTransactions(context), transaction.id);
  const ids = new Set(family.map((one) => one.id));
  const keepers = await keepersWithin(context, new Set(ids));
  const actions = (await actionsAfter(context, fromSeq)).filter(
    (one) => one.transaction !== undefined && ids.has(one.transaction),
  );
  for (const { id } of actions) ids.add(id);
  const isAll = status === "active" && holdsSteps(transaction);
  if (isAll) await addStepsWithin(context, transaction, ids);
  const isOwn = (record: FileRecord): boolean => isOf(record, ids);
  const { seq } = await context.index.head();
  const toSeq = status === "active" ? seq : transaction.lastSeq;
  // With `everything`, undone events are included together with the events of their undos. Together, they change
  // nothing.
  return {
    label: labelOf(transaction),
    ...optional({ known: await nameOf(context, transaction) }),
    fromSeq,
    toSeq,
    back: fromSeq,
    isOwn,
    keepers,
    ...(isAll ? { everything: true } : {}),
  };
}

/** Returns the name by which people know a transaction: the command of the run that it holds, or else its own name. */
async function nameOf(context: Context, { name, holds }: LoggedTransaction): Promise<string | undefined> {
  // Only this record is read, because every commit of such a run calls this function.
  const row = holds === undefined ? undefined : await context.index.record(`session:${holds}`);
  if (row !== undefined) return `run: ${quoteCommand(decodeSession((await readEvent(context, row)).record).command)}`;
  return name === undefined ? undefined : `transaction: ${name}`;
}

function isOf({ actor, transaction, action, intent }: FileRecord, ids: ReadonlySet<string>): boolean {
  if (actor === "ambiguous") return false;
  return [transaction, action, intent].some((id) => id !== undefined && ids.has(id));
}

async function addStepsWithin(context: Context, transaction: LoggedTransaction, ids: Set<string>): Promise<void> {
  const { fromSeq } = transaction;
  for (const { id, intent } of await doneIntents(context, fromSeq)) {
    if (!mayBeStepOf(transaction, intent)) continue;
    // The events of a write name the transaction themselves, so the id of the write is not needed.
    if (intent.kind === "write" || intent.fromSeq < fromSeq || (await isOthers(context, intent, { fromSeq, ids })))
      continue;
    ids.add(id);
  }
}

/**
 * True if the operation of an intent may be a part of the transaction. A transaction of actions has only operations of
 * the client that began the transaction: those with the same actor, the same client name and, if both processes are
 * known, the same process.
 */
function mayBeStepOf({ scope, actor, client, process }: LoggedTransaction, intent: IntentRecord): boolean {
  if (scope === undefined) return true;
  const isProcess = process === undefined || intent.process === undefined || intent.process === process;
  return isProcess && intent.actor === actor && intent.client === client;
}

/** True for an undo or redo that concerns only changes that other work made after the transaction began. */
async function isOthers(
  context: Context,
  { kind, took, met, parts = [], target }: IntentRecord,
  { fromSeq, ids }: { readonly fromSeq: number; readonly ids: ReadonlySet<string> },
): Promise<boolean> {
  if (kind === "restore" || kind === "resolve" || (target !== undefined && ids.has(target))) return false;
  if (took !== undefined) {
    // A path with a conflict may have been merged in part, although `met` lists its events as not undone. If only some
    // hunks of a path are undone, its events are listed only in `parts`.
    const about = [...took, ...(met ?? []), ...parts.flatMap((one) => one.took)];
    if (about.some(([first]) => first <= fromSeq)) return false;
    const toSeq = Math.max(fromSeq, greatestOf(about.map(([, last]) => last)));
    for await (const { seq, record } of fileEvents(context, { fromSeq, toSeq }))
      if (about.some((range) => holdsSeq([range], seq)) && isOf(record, ids)) return false;
    return true;
  }
  for (const prefix of ["intent:", "action:", "transaction:"]) {
    const row = await context.index.record(`${prefix}${target}`);
    if (row === undefined) continue;
    const begun = (await readEvent(context, row)).record["from_seq"];
    return typeof begun === "number" && begun >= fromSeq;
  }
  return false;
}
