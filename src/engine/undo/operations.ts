import type { OperationShape } from "../../api/shapes.ts";
import { type OperationStep, undoStack, type UndoStack } from "../../core/records/undo-stack.ts";
import { changesOfTransaction } from "../facts/action-operations.ts";
import { changesOfAction, changesOfSession } from "../facts/changes-within.ts";
import type { Context } from "../log/context.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { operationsOf } from "../facts/logged-operations.ts";
import { ownChanges, type OwnWork } from "../facts/own-changes.ts";
import { ownersIn } from "../facts/owners.ts";
import { listSessions } from "../actions/session.ts";
import { undoneBy, type UndoneEvents } from "../facts/undone-events.ts";
import { optional } from "../../util/optional.ts";

/** Returns all finished operations. Runs whose process is gone, but whose end is not recorded yet, come last. */
export async function listOperations(context: Context): Promise<LoggedOperation[]> {
  return operationsOf(context, await listSessions(context));
}

/**
 * Returns what can be undone and redone now. An operation that is part of a larger one is undone together with the
 * larger one, or by its own id.
 */
export function stackOf(operations: readonly LoggedOperation[]): UndoStack {
  const stack = undoStack(
    operations.flatMap((one): OperationStep[] => {
      const { id, toSeq, kind, target, selective, isPart, reversed } = one;
      if (kind !== "undo" && kind !== "redo")
        return [{ id, seq: toSeq, kind: "operation" as const, ...(isPart === true ? { isPart } : {}) }];
      if (selective === undefined) return isReversed(one) ? [] : [{ id, seq: toSeq, kind, ...optional({ target }) }];
      const { takes } = selective;
      // `passes`: the operations of which the undo undid only a part. If the undo is reversed, these operations can be
      // undone again.
      const passes = reversed === undefined ? selective.passes : [];
      const isNothing = reversed?.isAll === true || selective.isNothing === true;
      return [{ id, seq: toSeq, kind, ...optional({ target }), takes, passes, ...(isNothing ? { isNothing } : {}) }];
    }),
  );
  return correctedStack(stack, operations);
}

/**
 * Corrects the stack for the operations that have the field `LoggedOperation.isUndone`. This field alone decides
 * whether such an operation is undone. Its undos and redos do not count.
 */
function correctedStack(stack: UndoStack, operations: readonly LoggedOperation[]): UndoStack {
  const wrong = operations.filter(({ id, isUndone }) => isUndone !== undefined && isUndone !== stack.undone.has(id));
  if (wrong.length === 0) return stack;
  const undone = new Set(stack.undone);
  const undoable = [...stack.undoable];
  const ends = new Map(operations.map((one) => [one.id, one.toSeq]));
  for (const { id, toSeq, isPart, isUndone } of wrong) {
    const at = undoable.indexOf(id);
    if (isUndone === true) {
      undone.add(id);
      if (at >= 0) undoable.splice(at, 1);
    } else {
      undone.delete(id);
      const later = undoable.findIndex((one) => (ends.get(one) ?? 0) > toSeq);
      if (at < 0 && isPart !== true) undoable.splice(later < 0 ? undoable.length : later, 0, id);
    }
  }
  return { undoable, redoable: stack.redoable.filter((id) => !wrong.some((one) => one.id === id)), undone };
}

/**
 * True for an undo or redo whose changes a later undo has undone. For an undo, one reversed path is enough, because the
 * operation that it undid is then no longer undone as a whole. For a redo, all paths must be reversed.
 */
export function isReversed({ kind, reversed }: LoggedOperation): boolean {
  return reversed !== undefined && (kind === "undo" || reversed.isAll);
}

/** Returns the net changes of the paths that the operation itself changed (see `ownChanges`). */
export async function changesOfOperation(context: Context, operation: LoggedOperation): Promise<OwnWork> {
  const { id, kind } = operation;
  if (kind === "run") return changesOfSession(context, id, operation);
  if (kind === "action") return changesOfAction(context, { id, seq: operation.fromSeq }, operation.toSeq);
  if (kind === "transaction") return changesOfTransaction(context, id, await undoneWithin(context, operation));
  return ownChanges(context, operation, { isOwn: (record) => record.intent === id });
}

/**
 * Returns a function that returns true for an event that was undone before the operation ended. The operation's changes
 * do not include such events.
 */
async function undoneWithin(context: Context, { toSeq }: LoggedOperation): Promise<UndoneEvents["holds"]> {
  return undoneBy(await listOperations(context), await ownersIn(context), toSeq).holds;
}

/**
 * True if the operation, or the larger operation that it is part of, was undone and not redone since. Whether a redo is
 * still possible does not matter. False for every undo and redo.
 */
export function isUndone(operation: LoggedOperation, stack: UndoStack): boolean {
  const { id, kind, partOf } = operation;
  if (kind === "undo" || kind === "redo") return false;
  return stack.undone.has(id) || (partOf !== undefined && stack.undone.has(partOf));
}

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
    ...optional({ client: operation.client }),
  };
}
