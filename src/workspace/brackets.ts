import type { Head } from "../core/event.ts";
import { decodeSession, type SessionRecord } from "../core/records.ts";
import { decodeTransaction, type TransactionRecord } from "../core/transaction-record.ts";
import type { EventRow } from "../storage/index-store.ts";
import { openActions, openRows, type LoggedAction } from "./actions.ts";
import type { Context } from "./context.ts";
import { readEvent } from "./read-events.ts";

/** A run or a watch that goes on. */
export interface OpenSession {
  readonly id: string;
  /** Of the event that began it. */
  readonly seq: number;
  readonly record: SessionRecord;
}

/** A transaction that is active. */
export interface OpenTransaction {
  readonly id: string;
  readonly seq: number;
  readonly record: TransactionRecord;
}

/** What is going on now: that to which a change can belong. */
export interface Brackets {
  readonly actions: readonly LoggedAction[];
  readonly runs: readonly OpenSession[];
  readonly watches: readonly OpenSession[];
  /** Agents' own sessions: never a bracket. */
  readonly agents: readonly OpenSession[];
  readonly transactions: readonly OpenTransaction[];
}

/** What was read of a record's last event, so that a capture need not read every one again. */
type Seen<T> = Map<string, { readonly seq: number; readonly value: T }>;

const sessions = new WeakMap<object, Seen<SessionRecord>>();
const transactions = new WeakMap<object, Seen<TransactionRecord>>();

/** Everything whose owner is alive and has not ended it; `reopened`: a transaction that counts although its owner is gone. */
export async function openBrackets(context: Context, at?: Head, reopened?: string): Promise<Brackets> {
  const { index } = context;
  const going: OpenSession[] = [];
  for (const row of await openRows(context, "session:", at)) {
    const record = await once(context, row, { seen: seenIn(sessions, index), decode: decodeSession });
    if (record.kind !== "agent" && !isAlive(context, record.pid)) continue;
    going.push({ id: row.recordId.slice("session:".length), seq: record.fromSeq, record });
  }
  const active: OpenTransaction[] = [];
  for (const row of await openRows(context, "transaction:", at)) {
    const record = await once(context, row, { seen: seenIn(transactions, index), decode: decodeTransaction });
    const id = row.recordId.slice("transaction:".length);
    if (id !== reopened && !isAlive(context, record.pid)) continue;
    active.push({ id, seq: record.fromSeq + 1, record });
  }
  return {
    actions: (await openActions(context, at)).filter((action) => isGoingOn(context, action)),
    runs: going.filter((one) => one.record.kind === "run"),
    watches: going.filter((one) => one.record.kind === "watch"),
    agents: going.filter((one) => one.record.kind === "agent"),
    transactions: active.sort((a, b) => a.seq - b.seq),
  };
}

/** Is the owner there still? `null`: there is none whose end would end it. */
function isAlive({ processes }: Context, pid: number | null): boolean {
  return pid === null || pid === processes.pid || processes.isAlive(pid);
}

/** So long may go by before nobody is taken to finish what no process owns. */
export const UNOWNED_HOURS = 24;

/** Is this moment of the log so long ago that what no process owns counts as over? */
export function isLongAgo({ now }: Context, ts: string): boolean {
  return now() - Date.parse(ts) >= UNOWNED_HOURS * 3_600_000;
}

/** Will somebody finish this open action? Its process; where none owns it, whoever does within a day. */
export function isGoingOn(context: Context, { pid, ts }: LoggedAction): boolean {
  return pid === null ? !isLongAgo(context, ts) : isAlive(context, pid);
}

function seenIn<T>(all: WeakMap<object, Seen<T>>, index: object): Seen<T> {
  const known = all.get(index) ?? new Map<string, { seq: number; value: T }>();
  all.set(index, known);
  return known;
}

async function once<T>(
  context: Context,
  row: EventRow,
  { seen, decode }: { readonly seen: Seen<T>; readonly decode: (body: EventBody) => T },
): Promise<T> {
  const known = seen.get(row.recordId);
  if (known?.seq === row.seq) return known.value;
  const value = decode((await readEvent(context, row)).record);
  seen.set(row.recordId, { seq: row.seq, value });
  return value;
}

type EventBody = Parameters<typeof decodeSession>[0];

/** Of several transactions one in another: those within which no other one was begun. */
export function innermost(active: readonly OpenTransaction[]): OpenTransaction[] {
  const parents = new Set(active.map((one) => one.record.parent));
  return active.filter((one) => !parents.has(one.id));
}

/** A transaction and those within which it was begun. */
export function withParents(active: readonly OpenTransaction[], id: string | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = id; at !== undefined && !found.has(at);) {
    found.add(at);
    at = active.find((one) => one.id === at)?.record.parent;
  }
  return found;
}
