/** One step of the history of operations: something done, an undo of it, or a redo of it. */
export interface OperationStep {
  readonly id: string;
  readonly seq: number;
  readonly kind: "operation" | "undo" | "redo";
  /** The operation that an undo or redo is about. */
  readonly target?: string;
}

/** What `undo` and `redo` would take next: the last of each. */
export interface UndoStack {
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
}

/**
 * The two stacks after the steps, which are in the order of the log. Consecutive undos go further back, redos forward
 * again; a new operation ends redo. An undo of one in the middle takes it out of its place; its redo puts it on top.
 * Steps about operations that are not there (pruned, undone already) change nothing.
 */
export function undoStack(steps: Iterable<OperationStep>): UndoStack {
  // A set keeps the order of insertion and takes out of the middle in constant time.
  const undoable = new Set<string>();
  const redoable = new Set<string>();
  for (const step of steps) {
    if (step.kind === "operation") {
      undoable.add(step.id);
      redoable.clear();
    } else if (step.target !== undefined) {
      const [from, to] = step.kind === "undo" ? [undoable, redoable] : [redoable, undoable];
      if (from.delete(step.target)) to.add(step.target);
    }
  }
  return { undoable: [...undoable], redoable: [...redoable] };
}
