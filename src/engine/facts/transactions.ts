import type { TransactionShape } from "../../api/action-shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { decodeTransaction, type TransactionRecord } from "../../core/records/transaction-record.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { leastOf } from "../../util/long-lists.ts";
import { actionsOfRows, listActions, type LoggedAction } from "./actions.ts";
import type { Context } from "../log/context.ts";
import { isElsewhere, mayHaveOwner } from "../log/owner-process.ts";
import { readEvent } from "../log/read-events.ts";
import { optional } from "../../util/optional.ts";

const PREFIX = "transaction:";

export interface LoggedTransaction extends TransactionRecord {
  readonly id: string;
  readonly lastSeq: number;
  /** True if the transaction is active and the process that began it counts as gone. */
  readonly orphaned: boolean;
  /** True if the process that began the transaction belongs to another PID namespace. */
  readonly elsewhere: boolean;
}

/** Returns all transactions, oldest first. */
export async function allTransactions(context: Context): Promise<LoggedTransaction[]> {
  return load(context, await context.index.records(PREFIX));
}

/** Returns the active transactions, including those whose process counts as gone. The oldest comes first. */
export async function activeTransactions(context: Context): Promise<LoggedTransaction[]> {
  return load(context, await context.index.openRecords(PREFIX));
}

async function load(context: Context, rows: readonly EventRow[]): Promise<LoggedTransaction[]> {
  const found: LoggedTransaction[] = [];
  for (const row of rows) {
    const record = decodeTransaction((await readEvent(context, row)).record);
    const orphaned = record.status === "active" && !mayHaveOwner(context, record, record.startedAt);
    found.push({
      ...record,
      id: row.recordId.slice(PREFIX.length),
      lastSeq: row.seq,
      orphaned,
      elsewhere: isElsewhere(context, record),
    });
  }
  return found.sort((a, b) => a.fromSeq - b.fromSeq);
}

/** Returns the transaction with this id, or whose id begins with `id`. Throws `NOT_FOUND` or `AMBIGUOUS`. */
export function findTransaction(all: readonly LoggedTransaction[], id: string): LoggedTransaction {
  const matching = meantBy(all, id, (one) => one.id);
  const [only, second] = matching;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no transaction ${JSON.stringify(id)}`, {
      hint: "`chronicle transaction list` lists the transactions",
      data: { transaction: id },
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(id)} stands for ${matching.length} transactions`, {
    hint: "give more of the id; `chronicle transaction list` lists them",
    data: { transaction: id },
  });
}

/** Returns a transaction and all savepoints within it, in the order in which they began. */
export function familyOf(all: readonly LoggedTransaction[], id: string): LoggedTransaction[] {
  const family = new Set([id]);
  // A savepoint begins after the transaction that holds it, so one pass in order of beginning finds all of them.
  for (const one of all) if (one.parent !== undefined && family.has(one.parent)) family.add(one.id);
  return all.filter((one) => family.has(one.id));
}

/** Returns all actions that still have a snapshot. If there are no actions, the prunings are not read. */
export async function actionsHere(context: Context): Promise<readonly LoggedAction[]> {
  return (await context.index.records("action:")).length === 0 ? [] : listActions(context);
}

/**
 * Returns all actions, oldest first. Includes actions whose snapshot was pruned, because the changes of such actions
 * still belong to them.
 */
export async function actionsEver(context: Context): Promise<readonly LoggedAction[]> {
  return actionsAfter(context, 0);
}

/** Returns the actions whose last event is after event `seq`, including all actions that began after event `seq`. */
export async function actionsAfter(context: Context, seq: number): Promise<LoggedAction[]> {
  const rows = (await context.index.records("action:")).filter((row) => row.seq > seq);
  return (await actionsOfRows(context, rows)).sort((a, b) => a.seq - b.seq);
}

/**
 * Returns the wanted transactions in the form of the API. `all` must have all transactions of the history, including
 * savepoints.
 */
export async function transactionShapes(
  context: Context,
  wanted: readonly LoggedTransaction[],
  all: readonly LoggedTransaction[],
): Promise<TransactionShape[]> {
  const actions = await actionsAfter(context, leastOf(wanted.map((one) => one.fromSeq)));
  return wanted.map((one) => {
    const family = new Set(familyOf(all, one.id).map((member) => member.id));
    const own = actions.filter(({ transaction }) => transaction !== undefined && family.has(transaction));
    return shapeOf(
      one,
      own.toSorted((a, b) => a.seq - b.seq).map((action) => action.id),
    );
  });
}

function shapeOf(one: LoggedTransaction, snapshots: string[]): TransactionShape {
  return {
    id: one.id,
    status: one.status,
    started_at: one.startedAt,
    ...(one.finishedAt === null ? {} : { finished_at: one.finishedAt }),
    snapshots,
    ...optional({ name: one.name, parent: one.parent }),
    actor: one.actor,
    ...optional({ session: one.session, scope: one.scope }),
    ...(one.orphaned ? { orphaned: true as const } : {}),
    ...optional({ run: one.run, changed: one.changed }),
  };
}

/** Returns notes for people about the active transactions whose process does not count as gone. */
export async function openNotes(context: Context): Promise<string[]> {
  const open = (await activeTransactions(context)).filter((one) => !one.orphaned);
  return open.map((one) => {
    const id = one.id.slice(0, 8);
    const owner = one.pid === null ? "" : `, until process ${one.pid} ends it`;
    const whose = one.session === undefined ? "" : `, session ${one.session}`;
    return `the transaction ${calledOf(one)} is open since ${one.startedAt} (${one.actor}${whose})${owner}: \`chronicle transaction commit ${id}\` or \`rollback ${id}\` ends it`;
  });
}

function calledOf({ id, name }: LoggedTransaction): string {
  return `${id.slice(0, 8)}${name === undefined ? "" : ` (${name})`}`;
}

/** Returns notes for people about the active transactions whose process counts as gone. */
export async function orphanNotes(context: Context): Promise<string[]> {
  const orphans = (await activeTransactions(context)).filter((one) => one.orphaned);
  return orphans.map((one) => {
    const what = one.onOwnerDeath === "keep" ? "commits it" : "rolls it back";
    return `the transaction ${calledOf(one)} is active, but process ${one.pid} that began it is gone: the next command that changes something ${what}, but only the changes that were recorded before the process died; ${otherwise(one)}`;
  });
}

function otherwise({ id, onOwnerDeath }: LoggedTransaction): string {
  const rollback = `\`chronicle transaction rollback ${id.slice(0, 8)}\` also takes back the changes that are not recorded yet`;
  return onOwnerDeath === "keep" ? rollback : `${rollback}, \`… commit\` keeps all changes`;
}
