import { plausibleTime, type TimedEvent } from "../../core/values/clock-jumps.ts";
import type { Head, LogEvent } from "../../core/values/event.ts";
import { decodeSession, type SessionRecord } from "../../core/records/records.ts";
import { decodeTransaction, type TransactionRecord } from "../../core/records/transaction-record.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { openActions, openRows, type LoggedAction } from "./actions.ts";
import type { Context } from "../log/context.ts";
import { isOwnerAlive, mayHaveOwner, UNOWNED_HOURS } from "../log/owner-process.ts";
import { readEvent } from "../log/read-events.ts";
import { memoKey, type MemoKey } from "../log/memo.ts";

export interface OpenSession {
  readonly id: string;
  /** The seq of the event that began the session. */
  readonly seq: number;
  readonly depth: number;
  readonly record: SessionRecord;
}

export interface OpenTransaction {
  readonly id: string;
  readonly seq: number;
  readonly record: TransactionRecord;
}

export interface Brackets {
  readonly actions: readonly LoggedAction[];
  readonly runs: readonly OpenSession[];
  readonly watches: readonly OpenSession[];
  /** The sessions of agents, which are never brackets. */
  readonly agents: readonly OpenSession[];
  readonly transactions: readonly OpenTransaction[];
}

/**
 * Maps the id of a record to the decoded value of its last event, and to the seq of this event. With this map, captures
 * decode each event only once.
 */
type Seen<T> = Map<string, { readonly seq: number; readonly value: T }>;

const sessions = memoKey<Seen<Pick<OpenSession, "depth" | "record">>>("sessions");
const transactions = memoKey<Seen<TransactionRecord>>("transactions");

/** Returns the sessions that have no end in the log, including those whose process is gone. */
export async function openSessions(context: Context, at?: Head): Promise<OpenSession[]> {
  const open: OpenSession[] = [];
  for (const row of await openRows(context, "session:", at)) {
    const known = await once(context, row, { seen: seenIn(context, sessions), decode: sessionIn });
    open.push({ id: row.recordId.slice("session:".length), seq: known.record.fromSeq, ...known });
  }
  return open.sort((a, b) => a.seq - b.seq);
}

/**
 * Returns the open brackets and agents' sessions. Leaves out runs, watches and transactions whose owner counts as gone,
 * and actions that nobody will finish (see `goingOn`). `reopened`: the id of a transaction that is included although
 * its owner is gone.
 */
export async function openBrackets(context: Context, at?: Head, reopened?: string): Promise<Brackets> {
  const isGoing = ({ record }: OpenSession): boolean => record.kind === "agent" || isOwnerAlive(context, record);
  const going = (await openSessions(context, at)).filter(isGoing);
  const active: OpenTransaction[] = [];
  for (const row of await openRows(context, "transaction:", at)) {
    const record = await once(context, row, { seen: seenIn(context, transactions), decode: transactionIn });
    const id = row.recordId.slice("transaction:".length);
    if (id !== reopened && !mayHaveOwner(context, record, record.startedAt)) continue;
    active.push({ id, seq: record.fromSeq + 1, record });
  }
  return {
    actions: await goingOn(context, await openActions(context, at)),
    runs: going.filter((one) => one.record.kind === "run"),
    watches: going.filter((one) => one.record.kind === "watch"),
    agents: going.filter((one) => one.record.kind === "agent"),
    transactions: active.sort((a, b) => a.seq - b.seq),
  };
}

/** Returns the ids of the processes that own open runs, actions, transactions and agents' sessions. */
export async function ownersOfWork(context: Context, at: Head): Promise<readonly number[]> {
  const { actions, runs, agents, transactions: open } = await openBrackets(context, at);
  const owners = [...actions, ...[...runs, ...agents, ...open].map(({ record }) => record)];
  return [...new Set(owners.map(({ pid }) => pid).filter((pid) => pid !== null))];
}

/**
 * Returns a function that is true for an event that is at least `UNOWNED_HOURS` old. Open work counts as abandoned if
 * it began with such an event and no process owns it. The function corrects an implausible time of an event by the
 * events around it.
 */
export async function ageLimit({ now, index }: Context): Promise<(event: TimedEvent) => boolean> {
  const [jumps, at] = [await index.clockJumps(), now()];
  return (event) => at - plausibleTime(event, jumps, at) >= UNOWNED_HOURS * 3_600_000;
}

/**
 * Returns the open actions that may still be finished. Such an action has a process that is alive, or is owned by no
 * process and less than `UNOWNED_HOURS` old.
 */
export async function goingOn(context: Context, actions: readonly LoggedAction[]): Promise<LoggedAction[]> {
  if (actions.length === 0) return [];
  const isLongAgo = await ageLimit(context);
  return actions.filter((action) => (action.pid === null ? !isLongAgo(action) : isOwnerAlive(context, action)));
}

function seenIn<T>({ memo }: Context, key: MemoKey<Seen<T>>): Seen<T> {
  const known = memo.get(key) ?? new Map<string, { seq: number; value: T }>();
  memo.set(key, known);
  return known;
}

async function once<T>(
  context: Context,
  row: EventRow,
  { seen, decode }: { readonly seen: Seen<T>; readonly decode: (event: LogEvent) => T },
): Promise<T> {
  const known = seen.get(row.recordId);
  if (known?.seq === row.seq) return known.value;
  const value = decode(await readEvent(context, row));
  seen.set(row.recordId, { seq: row.seq, value });
  return value;
}

function sessionIn({ record, recursionDepth }: LogEvent): Pick<OpenSession, "depth" | "record"> {
  return { depth: recursionDepth, record: decodeSession(record) };
}

function transactionIn({ record }: LogEvent): TransactionRecord {
  return decodeTransaction(record);
}

/** Returns the transactions that contain no other active transaction. */
export function innermost(active: readonly OpenTransaction[]): OpenTransaction[] {
  const parents = new Set(active.map((one) => one.record.parent));
  return active.filter((one) => !parents.has(one.id));
}
