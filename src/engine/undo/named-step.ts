import type { WorkspacePath } from "../../core/values/path.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";
import type { OwnChange } from "../facts/first-event.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import type { OwnWork } from "../facts/own-changes.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import { changesOfOperation } from "./operations.ts";

/** A step of undo or redo: the operation that it is about, and the changes that it inverts. */

/** A step and its operation. */
export interface NamedStep {
  readonly direction: "undo" | "redo";
  readonly operation: LoggedOperation;
}

/**
 * The step that is meant where an undo or a redo is named: another step of the operation that it was about. To undo an undo is to redo
 * that operation, and so is to redo an undo. Where that operation is not there any more, the step is undone for itself.
 */
export function stepMeant(operations: readonly LoggedOperation[], named: NamedStep): NamedStep {
  const { direction, operation } = named;
  if (!isStep(operation) || operation.selective !== undefined) return named;
  const target = operations.find((one) => one.id === operation.target);
  if (target === undefined) return { direction: "undo", operation };
  const isRedo = direction === "redo" || operation.kind === "undo";
  return stepMeant(operations, { direction: isRedo ? "redo" : "undo", operation: target });
}

function isStep({ kind }: LoggedOperation): boolean {
  return kind === "undo" || kind === "redo";
}

/**
 * The changes that a step inverts. A redo takes back what the last undos of the operation have written, those that followed one another: the
 * second may have had a part left to take. Once an operation was redone, an undo takes back what the redos have written, and else the
 * operation: so it brings back what was there before, whatever `--force` took along.
 */
export async function changesToInvert(
  context: Context,
  { direction, operation }: NamedStep,
  operations: readonly LoggedOperation[],
): Promise<OwnWork> {
  const steps = operations.filter(({ target, selective }) => target === operation.id && selective === undefined);
  if (direction === "redo") return together(context, lastOf(steps.slice(0, lastIndexOf(steps, "undo") + 1), "undo"));
  return together(context, steps.at(-1)?.kind === "redo" ? lastOf(steps, "redo") : [operation]);
}

function lastIndexOf(steps: readonly LoggedOperation[], kind: "undo" | "redo"): number {
  return steps.findLastIndex((one) => one.kind === kind);
}

/** The last steps, as far as they are all of one kind. */
function lastOf(steps: readonly LoggedOperation[], kind: "undo" | "redo"): readonly LoggedOperation[] {
  const others = steps.findLastIndex((one) => one.kind !== kind);
  return steps.slice(others + 1);
}

/** The changes of these operations: of each path, those of the last one that changed it. */
async function together(context: Context, operations: readonly LoggedOperation[]): Promise<OwnWork> {
  const changes = new Map<WorkspacePath, OwnChange>();
  const claims: PathClaim[] = [];
  for (const one of operations) {
    const work = await changesOfOperation(context, one);
    for (const change of work.changes) changes.set(change.path, change);
    addAll(claims, work.claims);
  }
  return { changes: [...changes.values()], claims };
}
