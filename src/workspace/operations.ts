import type { OperationShape } from "../api/shapes.ts";
import type { Change } from "../core/change.ts";
import { quoteCommand } from "../core/quote-command.ts";
import { decodeIntent, type IntentRecord } from "../core/records.ts";
import { undoStack, type UndoStack } from "../core/undo-stack.ts";
import type { Context } from "./context.ts";
import { indexedFrom } from "./history-start.ts";
import { changesOfTransaction, operationsOfActions } from "./action-operations.ts";
import type { LoggedOperation, Selective } from "./logged-operation.ts";
import { changesOfSession, ownChanges } from "./own-changes.ts";
import { readEvent } from "./read-events.ts";
import { ownersIn } from "./owners.ts";
import { listSessions } from "./session.ts";
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
  for (const session of await listSessions(context)) {
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
  for (const row of await context.index.records("intent:")) {
    const intent = decodeIntent((await readEvent(context, row)).record);
    if (intent.state !== "done") continue;
    const { kind, summary, started, fromSeq, target } = intent;
    const base = {
      id: row.recordId.slice("intent:".length),
      kind,
      summary,
      started,
      ended: row.ts,
      fromSeq,
      toSeq: row.seq,
      ...selectiveOf(intent),
      ...(intent.client === undefined ? {} : { client: intent.client }),
    };
    const changed = intent.paths - (intent.skipped ?? 0);
    found.push(target === undefined ? { ...base, changed } : { ...base, changed, target });
  }
  found.push(...(await operationsOfActions(context)));
  const begins = (await indexedFrom(context)) ?? 1;
  return [...found.sort((a, b) => a.toSeq - b.toSeq), ...unclosed].filter((one) => one.fromSeq >= begins - 1);
}

/** What can be undone and redone now. */
export function stackOf(operations: readonly LoggedOperation[]): UndoStack {
  return undoStack(
    operations.map(({ id, toSeq, kind, target, selective }) => {
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
