import type { OperationShape } from "../api/shapes.ts";
import type { Change } from "../core/change.ts";
import { quoteCommand } from "../core/quote-command.ts";
import type { IntentRecord } from "../core/records.ts";
import { undoStack, type UndoStack } from "../core/undo-stack.ts";
import type { Context } from "./context.ts";
import { indexedFrom } from "./history-start.ts";
import { changesOfTransaction, endsOfWhole, operationsOfActions } from "./action-operations.ts";
import { doneIntents } from "./intents.ts";
import type { LoggedOperation, Selective } from "./logged-operation.ts";
import { changesOfSession, ownChanges } from "./own-changes.ts";
import { ownersIn } from "./owners.ts";
import { listSessions } from "./session.ts";
import { allTransactions } from "./transactions.ts";
import { takenBy, type Taken } from "./taken.ts";

function selectiveOf({ selection, takes = [], took = [], left = [] }: IntentRecord): { selective?: Selective } {
  return selection === undefined ? {} : { selective: { selection, takes, took, left } };
}

/**
 * All finished operations whose events are all there, in the order in which they were finished. A run whose process is
 * gone is one of them, and the last, as it will be once it is closed.
 */
export async function listOperations(context: Context): Promise<LoggedOperation[]> {
  const found: LoggedOperation[] = [];
  const unclosed: LoggedOperation[] = [];
  const sessions = await listSessions(context);
  for (const session of sessions) {
    if (session.kind !== "run" || session.state === "running" || session.changed === 0) continue;
    const { id, fromSeq, seq, started, ended, changed } = session;
    const summary = quoteCommand(session.command);
    (session.unclosed === true ? unclosed : found).push({
      id,
      kind: "run",
      summary,
      started,
      ended,
      fromSeq,
      toSeq: seq,
      changed,
    });
  }
  const isPartOfMore = await partsOfMore(context, sessions);
  for (const { id, intent, seq, ts } of await doneIntents(context)) {
    const { kind, summary, started, fromSeq, target } = intent;
    // What came from an origin is the origin's to take back; whoever wants it so here changes the files.
    if (kind === "replica") continue;
    const base = {
      id,
      kind,
      summary,
      started,
      ended: ts,
      fromSeq,
      toSeq: seq,
      ...selectiveOf(intent),
      ...(intent.client === undefined ? {} : { client: intent.client }),
      ...(isPartOfMore(intent) ? { isPart: true as const } : {}),
    };
    const changed = intent.paths - (intent.skipped ?? 0);
    // A write that was asked for by name and changed nothing is only kept to be answered again.
    if (kind === "write" && changed === 0) continue;
    found.push(target === undefined ? { ...base, changed } : { ...base, changed, target });
  }
  found.push(...(await operationsOfActions(context)));
  const begins = (await indexedFrom(context)) ?? 1;
  return [...found.sort((a, b) => a.toSeq - b.toSeq), ...unclosed].filter((one) => one.fromSeq >= begins - 1);
}

/** Is a write part of a greater operation: of an action, of a run, of a transaction that was committed? */
async function partsOfMore(
  context: Context,
  sessions: readonly { readonly id: string; readonly kind: string }[],
): Promise<(intent: IntentRecord) => boolean> {
  const runs = new Set(sessions.filter((one) => one.kind === "run").map((one) => one.id));
  const ends = endsOfWhole(await allTransactions(context));
  return ({ kind, session = "", action, transaction = "" }) =>
    kind === "write" && (action !== undefined || runs.has(session) || ends.has(transaction));
}

/** What can be undone and redone now. What is part of a greater operation is undone with it, or by its id. */
export function stackOf(operations: readonly LoggedOperation[]): UndoStack {
  const steps = operations.filter((one) => one.isPart !== true);
  return undoStack(
    steps.map(({ id, toSeq, kind, target, selective }) => {
      if (kind !== "undo" && kind !== "redo") return { id, seq: toSeq, kind: "operation" as const };
      const about = target === undefined ? {} : { target };
      return { id, seq: toSeq, kind, ...about, ...(selective === undefined ? {} : { takes: selective.takes }) };
    }),
  );
}

/** The changes that are an operation's own: what others did in between is not among them. */
export async function changesOfOperation(context: Context, operation: LoggedOperation): Promise<Change[]> {
  const { id, kind } = operation;
  if (kind === "run") return (await changesOfSession(context, id, operation)).changes;
  if (kind === "action") return ownChanges(context, operation, (record) => record.action === id);
  if (kind === "transaction") return changesOfTransaction(context, id, await undoneWithin(context, operation));
  return ownChanges(context, operation, (record) => record.intent === id);
}

/** What was taken back of an operation before it ended: that is not among what it has changed. */
async function undoneWithin(context: Context, { toSeq }: LoggedOperation): Promise<Taken["holds"]> {
  const earlier = (await listOperations(context)).filter((one) => one.toSeq <= toSeq);
  return takenBy(earlier, await ownersIn(context)).holds;
}

/** Was it taken back, and not done again? (A new operation ends redo: then it stays so.) */
export function isUndone(operation: LoggedOperation, stack: UndoStack): boolean {
  return operation.kind !== "undo" && operation.kind !== "redo" && stack.undone.has(operation.id);
}

/** An operation as programs see it. */
export function operationShape(operation: LoggedOperation, stack: UndoStack): OperationShape {
  return {
    id: operation.id,
    kind: operation.kind,
    summary: operation.summary,
    started: operation.started,
    ended: operation.ended,
    from_seq: operation.fromSeq,
    to_seq: operation.toSeq,
    changed: operation.changed,
    undone: isUndone(operation, stack),
    ...(operation.client === undefined ? {} : { client: operation.client }),
  };
}
