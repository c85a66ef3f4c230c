import type { FileRecord } from "../core/file-record.ts";
import { decodeIntent, type IntentRecord } from "../core/records.ts";
import type { Context } from "./context.ts";
import type { Work } from "./own-work.ts";
import { readEvent } from "./read-events.ts";
import { actionsAfter, allTransactions, familyOf, type LoggedTransaction } from "./transactions.ts";

/** How the undo of a transaction names it, in its intent too. */
export function labelOf({ id }: Pick<LoggedTransaction, "id">): string {
  return `transaction ${id}`;
}

/**
 * The changes that were made in a transaction: its actions', its savepoints', and those that no action made while it was
 * the innermost bracket. While it is active and everybody's, also what was restored in it, and what was undone or redone
 * of the time before it: once it is committed, those are operations of their own.
 */
export async function workOfTransaction(context: Context, transaction: LoggedTransaction): Promise<Work> {
  const { fromSeq, status, session } = transaction;
  const family = familyOf(await allTransactions(context), transaction.id);
  const ids = new Set(family.map((one) => one.id));
  const actions = (await actionsAfter(context, fromSeq)).filter(
    (one) => one.transaction !== undefined && ids.has(one.transaction),
  );
  for (const { id } of actions) ids.add(id);
  const isAll = status === "active" && session === undefined;
  for (const id of isAll ? await stepsWithin(context, fromSeq) : []) ids.add(id);
  const isOwn = (record: FileRecord): boolean =>
    record.actor !== "ambiguous" &&
    [record.transaction, record.action, record.intent].some((id) => id !== undefined && ids.has(id));
  const { seq } = await context.index.head();
  return { label: labelOf(transaction), fromSeq, toSeq: status === "active" ? seq : transaction.lastSeq, isOwn };
}

/** Restores after an event, and undos and redos after it of what was before it: by their ids. */
async function stepsWithin(context: Context, fromSeq: number): Promise<string[]> {
  const found: string[] = [];
  for (const row of await context.index.records("intent:")) {
    if (row.seq <= fromSeq) continue;
    const intent = decodeIntent((await readEvent(context, row)).record);
    if (intent.fromSeq >= fromSeq && (await isOfBefore(context, intent, fromSeq)))
      found.push(row.recordId.slice("intent:".length));
  }
  return found;
}

/** What it takes back of the time since then is not its own: that was never there before. */
async function isOfBefore(context: Context, { kind, took, target }: IntentRecord, fromSeq: number): Promise<boolean> {
  if (kind === "restore" || kind === "resolve") return true;
  if (took !== undefined) return (took.at(-1)?.[1] ?? 0) <= fromSeq;
  for (const prefix of ["intent:", "session:", "action:", "transaction:"]) {
    const row = await context.index.record(`${prefix}${target}`);
    if (row !== undefined) return row.seq <= fromSeq;
  }
  return false;
}
