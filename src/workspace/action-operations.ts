import type { Change } from "../core/change.ts";
import type { LoggedAction } from "./actions.ts";
import type { Context } from "./context.ts";
import { eventsOfWork, groupsOf, netChanges } from "./own-work.ts";
import { workOfTransaction } from "./transaction-work.ts";
import { actionsHere, allTransactions, findTransaction, type LoggedTransaction } from "./transactions.ts";

/** An action, or a whole transaction, as an operation (see `LoggedOperation`). */
interface ActionOperation {
  readonly id: string;
  readonly kind: "action" | "transaction";
  readonly summary: string;
  readonly started: string;
  readonly ended: string | null;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly changed: number;
}

/**
 * The operations that actions are: each one that is closed and changed something, if it was begun in no run; those of a
 * transaction that was committed are one operation together.
 */
export async function operationsOfActions(context: Context): Promise<ActionOperation[]> {
  const transactions = await allTransactions(context);
  const whole = new Set<string>();
  for (const one of transactions) {
    const isNested = one.parent !== undefined && whole.has(one.parent);
    if (isNested || (one.parent === undefined && one.status === "committed")) whole.add(one.id);
  }
  const isAlone = ({ run, transaction }: LoggedAction): boolean =>
    run === undefined && (transaction === undefined || !whole.has(transaction));
  const actions = (await actionsHere(context)).filter(isAlone).flatMap(ofAction);
  return [...actions, ...transactions.filter((one) => one.parent === undefined).flatMap(ofTransaction)];
}

function ofAction(action: LoggedAction): ActionOperation[] {
  const { id, summary, started, ended, changed, fromSeq, toSeq } = action;
  if (action.state === "open" || toSeq === undefined || changed === null || changed === 0) return [];
  return [{ id, kind: "action", summary, started, ended, fromSeq, toSeq, changed }];
}

function ofTransaction(transaction: LoggedTransaction): ActionOperation[] {
  const { id, status, name, run, startedAt, finishedAt, fromSeq, lastSeq, changed = 0 } = transaction;
  if (status !== "committed" || run !== undefined || changed === 0) return [];
  const summary = name ?? `transaction ${id.slice(0, 8)}`;
  return [
    { id, kind: "transaction", summary, started: startedAt, ended: finishedAt, fromSeq, toSeq: lastSeq, changed },
  ];
}

/** What was done in a transaction. Throws `NOT_FOUND`. */
export async function changesOfTransaction(context: Context, id: string): Promise<Change[]> {
  const transaction = findTransaction(await allTransactions(context), id);
  return netChanges(
    await groupsOf(context, await eventsOfWork(context, await workOfTransaction(context, transaction))),
  );
}
