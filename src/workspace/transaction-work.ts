import type { FileRecord } from "../core/file-record.ts";
import type { Context } from "./context.ts";
import type { Work } from "./own-work.ts";
import { actionsHere, allTransactions, familyOf, type LoggedTransaction } from "./transactions.ts";

/** How the undo of a transaction names it, in its intent too. */
export function labelOf({ id }: Pick<LoggedTransaction, "id">): string {
  return `transaction ${id}`;
}

/**
 * The changes that were made in a transaction: its actions', its savepoints', and those that no action made while it was
 * the innermost bracket. What a savepoint did that was rolled back is not among them: it was taken back.
 */
export async function workOfTransaction(context: Context, transaction: LoggedTransaction): Promise<Work> {
  const family = familyOf(await allTransactions(context), transaction.id);
  const ids = new Set(
    family.filter((one) => one.id === transaction.id || one.status !== "rolled_back").map((one) => one.id),
  );
  const actions = new Set(
    (await actionsHere(context))
      .filter((one) => one.transaction !== undefined && ids.has(one.transaction))
      .map((one) => one.id),
  );
  const isOwn = (record: FileRecord): boolean =>
    record.actor !== "ambiguous" &&
    ((record.transaction !== undefined && ids.has(record.transaction)) ||
      (record.action !== undefined && actions.has(record.action)));
  const { seq } = await context.index.head();
  const toSeq = transaction.status === "active" ? seq : transaction.lastSeq;
  return { label: labelOf(transaction), fromSeq: transaction.fromSeq, toSeq, isOwn };
}
