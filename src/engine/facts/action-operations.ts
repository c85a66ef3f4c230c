import { isRestored } from "../../core/records/omitted-change.ts";
import { changersOfGit, type LoggedAction, loggedSessions } from "./actions.ts";
import type { Context } from "../log/context.ts";
import { ownChanges, type OwnWork } from "./own-changes.ts";
import { claimsOf, eventsOfWork, groupsOf, netChanges } from "./own-work.ts";
import type { UndoneEvents } from "./undone-events.ts";
import { workOfTransaction } from "./transaction-work.ts";
import { actionsHere, allTransactions, findTransaction, type LoggedTransaction } from "./transactions.ts";
import { addAll } from "../../util/long-lists.ts";

interface ActionOperation {
  readonly id: string;
  readonly kind: "action" | "transaction";
  readonly summary: string;
  readonly started: string;
  readonly ended: string | null;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly changed: number;
  /** Set for an action that is within another action. */
  readonly inAction?: true;
}

/**
 * Returns the operations that are actions or transactions:
 *
 * - a closed action that began in no run and no committed transaction, and that changed a recorded path, a kept-aside
 *   path or the state of git;
 * - the changes that an action made after the end of its run or transaction;
 * - a committed transaction with its actions, if it changed something, is no savepoint, and belongs to no run.
 */
export async function operationsOfActions(context: Context): Promise<ActionOperation[]> {
  const transactions = await allTransactions(context);
  const ends = endsOfWhole(transactions);
  const actions: ActionOperation[] = [];
  const keeping = new Set<string>();
  const git = await changersOfGit(context);
  for (const { id, within, omittedChanges } of await loggedSessions(context))
    if (within.transaction !== undefined && (git.has(id) || omittedChanges.some((one) => one.kept)))
      keeping.add(within.transaction);
  for (const action of await actionsHere(context)) {
    const { run, transaction } = action;
    if (transaction !== undefined && (git.has(action.id) || action.omittedChanges.some((one) => one.kept)))
      keeping.add(transaction);
    const isAlone = run === undefined && (transaction === undefined || !ends.has(transaction));
    addAll(actions, isAlone ? ofAction(action, git.has(action.id)) : await lateOf(context, action, ends));
  }
  // In the list, each savepoint comes after its parent. The loop visits the list in reverse order, so that each
  // savepoint marks its parent before the parent is visited.
  for (const { id, parent } of transactions.toReversed())
    if (parent !== undefined && keeping.has(id)) keeping.add(parent);
  const outermost = transactions.filter((one) => one.parent === undefined);
  return [...actions, ...outermost.flatMap((one) => ofTransaction(one, keeping.has(one.id)))];
}

/**
 * Returns a map from the id of each transaction to the seq at which the outermost transaction around it was committed.
 * A transaction without a parent is its own outermost transaction. Leaves out transactions whose outermost transaction
 * was not committed.
 */
export function endsOfWhole(transactions: readonly LoggedTransaction[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { id, parent, status, lastSeq } of transactions) {
    const end = parent === undefined ? (status === "committed" ? lastSeq : undefined) : ends.get(parent);
    if (end !== undefined) ends.set(id, end);
  }
  return ends;
}

/**
 * Returns, as an operation, the changes that an action made after the end of its run or transaction. Returns no
 * operation if there are no such changes.
 */
async function lateOf(
  context: Context,
  action: LoggedAction,
  ends: ReadonlyMap<string, number>,
): Promise<ActionOperation[]> {
  const { id, run, transaction = "", toSeq } = action;
  const session = run === undefined ? undefined : await context.index.record(`session:${run}`);
  if (toSeq === undefined || session?.open === true) return [];
  const fromSeq = Math.max(session?.seq ?? 0, ends.get(transaction) ?? 0);
  if (toSeq <= fromSeq || action.changed === 0) return [];
  const { changes } = await ownChanges(context, { fromSeq, toSeq }, { isOwn: (record) => record.action === id });
  return ofAction({ ...action, fromSeq, changed: changes.length });
}

function ofAction(action: LoggedAction, changedGit = false): ActionOperation[] {
  const { id, summary, started, ended, changed, fromSeq, toSeq } = action;
  if (action.state === "open" || toSeq === undefined || changed === null) return [];
  if (changed === 0 && !changedGit && !action.omittedChanges.some(isRestored)) return [];
  const inAction = action.action === undefined ? {} : { inAction: true as const };
  return [{ id, kind: "action", summary, started, ended, fromSeq, toSeq, changed, ...inAction }];
}

/**
 * Returns a committed transaction as an operation, if it changed something and belongs to no run. `isKeeping`: true if
 * an action or a run in the transaction changed a kept-aside path or the state of git.
 */
function ofTransaction(transaction: LoggedTransaction, isKeeping: boolean): ActionOperation[] {
  const { id, status, name, run, holds, startedAt, finishedAt, fromSeq, lastSeq, changed = 0 } = transaction;
  if (status !== "committed" || (run ?? holds) !== undefined) return [];
  if (changed === 0 && !isKeeping) return [];
  const summary = name ?? `transaction ${id.slice(0, 8)}`;
  return [
    { id, kind: "transaction", summary, started: startedAt, ended: finishedAt, fromSeq, toSeq: lastSeq, changed },
  ];
}

/**
 * Returns the net changes of the transaction whose id is `id`, or begins with `id`. Leaves out the events for which
 * `without` returns true. Throws `NOT_FOUND` or `AMBIGUOUS`.
 */
export async function changesOfTransaction(
  context: Context,
  id: string,
  without: UndoneEvents["holds"],
): Promise<OwnWork> {
  const transaction = findTransaction(await allTransactions(context), id);
  const own = await eventsOfWork(context, await workOfTransaction(context, transaction), without);
  return { changes: netChanges(await groupsOf(context, own)), claims: claimsOf(own) };
}
