import type { UndoShape } from "../../api/shapes.ts";
import type { Context } from "../log/context.ts";
import { interruptedNote } from "./interrupted.ts";
import type { FinishedIntent } from "../capture/operate.ts";
import { listOperations, operationShape, stackOf } from "./operations.ts";
import { changeShape, conflictShape, skippedShape } from "../log/shape.ts";

/** The steps before an undo or redo: finish what was interrupted, and record what is on disk now. */

/** Returns only what finishing the interrupted operations did or would do. */
export async function onlyFinished(
  context: Context,
  interrupted: readonly FinishedIntent[],
  dryRun: boolean,
): Promise<UndoShape> {
  const operations = await listOperations(context);
  const last = interrupted.at(-1);
  const operation = operations.find((one) => one.id === (last?.intent.target ?? last?.id));
  return {
    operation: operation === undefined ? null : operationShape(operation, stackOf(operations)),
    changes: interrupted.flatMap((one) => one.changes.map(changeShape)),
    undo_id: dryRun || last?.isNothing === true ? null : (last?.id ?? null),
    skipped: interrupted.flatMap((one) => one.blocked.map(skippedShape)),
    conflicts: interrupted.flatMap((one) => one.conflicts.map(conflictShape)),
    dry_run: dryRun,
    finished: interrupted.map((one) => interruptedNote(one, dryRun ? "would finish" : "finished")),
    notes: [],
    direction: last?.intent.kind === "redo" ? "redo" : "undo",
    unmerged: [],
  };
}
