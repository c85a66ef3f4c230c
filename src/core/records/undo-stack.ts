/** One step of the history of operations: an operation, an undo, or a redo. */
export interface OperationStep {
  readonly id: string;
  readonly seq: number;
  readonly kind: "operation" | "undo" | "redo";
  /** The operation to which an undo or redo applies. For a redo, it may also be an undo with `takes`. */
  readonly target?: string;
  /**
   * Only for an undo of selected work: the ids of the steps that it undoes completely. These are operations, and redone
   * undos of selected work.
   */
  readonly takes?: readonly string[];
  /**
   * Only for an undo of selected work: the operations that it undoes except for changes that do not merge. They do not
   * count as undone, but are no longer undoable as the next operation.
   */
  readonly passes?: readonly string[];
  /** True for an undo of selected work that changed nothing. There is then nothing to redo. */
  readonly isNothing?: true;
  /**
   * True for an operation within a larger one. It is undone together with the larger operation, or by its own id. It is
   * never the next operation to be undone.
   */
  readonly isPart?: true;
}

/** The ids of the operations that `undo` and `redo` can use. The next one is last. */
export interface UndoStack {
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
  /** Operations that were undone and not redone. */
  readonly undone: ReadonlySet<string>;
}

/**
 * Returns the two stacks after the steps, which must be in log order. Consecutive undos go back, and redos go forward.
 * A new operation clears the redo stack. An undo of an operation in the middle removes the operation from its place. A
 * redo that names this operation puts it on top, even if a new operation has cleared the redo stack.
 *
 * An undo of selected work is a separate step. The operations that it undoes completely are no longer undoable. The
 * undo becomes redoable as one step under its own id, unless it changed nothing. Once it is redone, it is undoable as
 * one step under that id. Undoing that step is then a new undo, whose `takes` names the step.
 *
 * Steps about missing (pruned) operations change nothing. Redos of operations that are not undone change nothing,
 * either.
 */
export function undoStack(steps: Iterable<OperationStep>): UndoStack {
  const stacks = new Stacks();
  for (const step of steps) stacks.take(step);
  return stacks.now;
}

class Stacks {
  // A Set keeps the insertion order, and removes an element from the middle in constant time.
  readonly #undoable = new Set<string>();
  readonly #redoable = new Set<string>();
  readonly #undone = new Set<string>();
  /** The `takes` of each undo of selected work, by the undo's id. */
  readonly #groups = new Map<string, readonly string[]>();
  /**
   * All operations and undos of selected work so far. The value is true for an operation that is part of a larger one.
   */
  readonly #known = new Map<string, boolean>();

  get now(): UndoStack {
    return { undoable: [...this.#undoable], redoable: [...this.#redoable], undone: this.#undone };
  }

  take(step: OperationStep): void {
    const { id, kind, target, takes, isPart = false } = step;
    if (kind === "operation") {
      this.#known.set(id, isPart);
      if (isPart) return;
      this.#undoable.add(id);
      // The check avoids an allocation: clearing an empty set allocates a new table.
      if (this.#redoable.size > 0) this.#redoable.clear();
    } else if (kind === "undo" && takes !== undefined) this.#takeWork(step, takes);
    else if (target === undefined || !this.#known.has(target)) return;
    else if (kind === "undo") this.#undo(target);
    else if (this.#isRedoable(target)) this.#redo(target);
  }

  #takeWork({ id, passes = [], isNothing }: OperationStep, takes: readonly string[]): void {
    this.#known.set(id, false);
    this.#groups.set(id, takes);
    for (const taken of takes) for (const member of this.#membersOf(taken)) this.#undone.add(member);
    for (const one of [...takes, ...passes]) {
      this.#undoable.delete(one);
      this.#redoable.delete(one);
    }
    if (isNothing !== true) this.#redoable.add(id);
  }

  #undo(target: string): void {
    this.#undoable.delete(target);
    this.#redoable.delete(target);
    this.#redoable.add(target);
    for (const member of this.#membersOf(target)) this.#undone.add(member);
  }

  #isRedoable(target: string): boolean {
    if (this.#redoable.has(target) || this.#undone.has(target)) return true;
    return this.#groups.has(target) && !this.#undoable.has(target);
  }

  #redo(target: string): void {
    this.#redoable.delete(target);
    if (this.#known.get(target) === false) this.#undoable.add(target);
    for (const member of this.#membersOf(target)) this.#undone.delete(member);
  }

  #membersOf(id: string): readonly string[] {
    return [id, ...(this.#groups.get(id) ?? []).flatMap((member) => this.#membersOf(member))];
  }
}
