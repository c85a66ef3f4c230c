/** One step of the history of operations: an operation, an undo, or a redo. */
export interface OperationStep {
  readonly id: string;
  readonly seq: number;
  readonly kind: "operation" | "undo" | "redo";
  /** The operation that an undo or redo targets; for a redo, this may also be an undo with `takes`. */
  readonly target?: string;
  /** For an undo of selected work: the operations (and redone undos of this kind) that it undoes wholly. */
  readonly takes?: readonly string[];
  /**
   * For such an undo: the operations of which only the unmerged part is left. They are not undone, but no longer next.
   */
  readonly passes?: readonly string[];
  /** True for such an undo if it changed nothing: there is nothing to redo. */
  readonly isNothing?: true;
  /** True for an operation within a larger one: it is undone with that one or by its own id, and is never next. */
  readonly isPart?: true;
}

/** The ids of the operations that `undo` and `redo` can use, the next one last. */
export interface UndoStack {
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
  /** Operations that were undone and not redone. */
  readonly undone: ReadonlySet<string>;
}

/**
 * Returns the two stacks after the steps, which are in log order. Consecutive undos go back, redos forward; a new
 * operation clears the redo stack. An undo of an operation in the middle removes it from its place. Its redo puts it on
 * top, even if a new operation has cleared the redo stack and the redo names it.
 *
 * An undo of selected work is a step of its own. The operations that it undoes wholly are no longer undoable, and it
 * becomes redoable as one step under its own id, unless it changed nothing. Once redone, it is undoable as one step
 * under that id: its undo is then a new undo, whose `takes` names it.
 *
 * Steps about missing (pruned) operations, and redos of operations that are not undone, change nothing.
 */
export function undoStack(steps: Iterable<OperationStep>): UndoStack {
  const stacks = new Stacks();
  for (const step of steps) stacks.take(step);
  return stacks.now;
}

class Stacks {
  // A Set keeps insertion order and removes from the middle in constant time.
  readonly #undoable = new Set<string>();
  readonly #redoable = new Set<string>();
  readonly #undone = new Set<string>();
  /** The `takes` of each undo of selected work, by the undo's id. */
  readonly #groups = new Map<string, readonly string[]>();
  /** All operations so far; true for one that is part of a larger one. */
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
      // Clearing even an empty set allocates a new table.
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
