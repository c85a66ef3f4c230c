/** One step of the history of operations: something done, an undo of it, or a redo of it. */
export interface OperationStep {
  readonly id: string;
  readonly seq: number;
  readonly kind: "operation" | "undo" | "redo";
  /** The operation that an undo or redo is about; of a redo also an undo with `takes`. */
  readonly target?: string;
  /** For an undo of somebody's work: the operations (and redone undos of this kind) that it takes back wholly. */
  readonly takes?: readonly string[];
  /** … those of which only what did not merge is left: they are not undone, and no longer next. */
  readonly passes?: readonly string[];
}

/** What `undo` and `redo` would take next: the last of each. */
export interface UndoStack {
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
  /** Operations that were taken back, and not done again. */
  readonly undone: ReadonlySet<string>;
}

/**
 * The two stacks after the steps, which are in the order of the log. Consecutive undos go further back, redos forward
 * again; a new operation ends redo. An undo of one in the middle takes it out of its place; its redo puts it on top.
 *
 * An undo of somebody's work is a step of its own: what it takes back wholly is no longer undoable, and it becomes
 * redoable as one, by its own id; once redone it is undoable as one, by that id. (Its undo is then a new one, which
 * takes it.) Steps about operations that are not there (pruned, undone already) change nothing.
 */
export function undoStack(steps: Iterable<OperationStep>): UndoStack {
  // A set keeps the order of insertion and takes out of the middle in constant time.
  const undoable = new Set<string>();
  const redoable = new Set<string>();
  const undone = new Set<string>();
  const groups = new Map<string, readonly string[]>();
  const membersOf = (id: string): readonly string[] => [id, ...(groups.get(id) ?? []).flatMap(membersOf)];
  for (const step of steps) {
    const { id, kind, target, takes, passes = [] } = step;
    if (kind === "operation") {
      undoable.add(id);
      // Clearing an empty set costs a new table.
      if (redoable.size > 0) redoable.clear();
    } else if (takes !== undefined && kind === "undo") {
      groups.set(id, takes);
      for (const taken of takes) {
        undoable.delete(taken);
        redoable.delete(taken);
        for (const member of membersOf(taken)) undone.add(member);
      }
      for (const passed of passes) {
        undoable.delete(passed);
        redoable.delete(passed);
      }
      redoable.add(id);
    } else if (target !== undefined) {
      const [from, to] = kind === "undo" ? [undoable, redoable] : [redoable, undoable];
      if (!from.delete(target)) continue;
      to.add(target);
      for (const member of membersOf(target)) {
        if (kind === "undo") undone.add(member);
        else undone.delete(member);
      }
    }
  }
  return { undoable: [...undoable], redoable: [...redoable], undone };
}
