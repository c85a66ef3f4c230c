/** One step of the history of operations: an operation, an undo, or a redo. */
export interface OperationStep {
  readonly id: string;
  readonly seq: number;
  readonly kind: "operation" | "undo" | "redo";
  /**
   * The id of the operation that an undo undoes, or that a redo redoes. The target of a redo can also be an undo with
   * `takes`.
   */
  readonly target?: string;
  /**
   * Only for an undo of selected work: the ids of the operations that the undo undoes completely. The list can also
   * have the id of an earlier undo of selected work that was redone, because such an undo can be undone again.
   */
  readonly takes?: readonly string[];
  /**
   * Only for an undo of selected work: the ids of the operations of which the undo undoes only a part. The other
   * changes of these operations do not merge with later work, or are left alone. These operations do not count as
   * undone, but an `undo` without a selection no longer selects them.
   */
  readonly passes?: readonly string[];
  /** True for an undo of selected work that changed nothing. Such an undo cannot be redone. */
  readonly isNothing?: true;
  /**
   * True for an operation that is part of a larger operation. An `undo` without a selection never selects such a part.
   * The part is undone together with the larger operation, or by its own id.
   */
  readonly isPart?: true;
}

/**
 * The ids of the operations that can be undone and redone. In `undoable` and `redoable`, the last id is that of the
 * operation that the next `undo` or `redo` without a selection selects.
 */
export interface UndoStack {
  readonly undoable: readonly string[];
  readonly redoable: readonly string[];
  /** The ids of the operations that were undone, and not redone after that. */
  readonly undone: ReadonlySet<string>;
}

/**
 * Returns the stacks after the steps, which must be in log order.
 *
 * An undo moves an operation from the undo stack to the top of the redo stack, even if the operation is in the middle
 * of the undo stack. A redo moves the operation back to the top of the undo stack. A new operation clears the redo
 * stack. After that, an operation that is still undone can only be redone by its id.
 *
 * An undo of selected work is an operation of its own. The operations in its `takes` and `passes` leave both stacks. If
 * the undo changed something, its own id is put on the redo stack. If the undo is redone, its id moves to the undo
 * stack. If the undo is then undone again, a second undo of selected work is recorded. The `takes` of the second undo
 * has the id of the first undo.
 *
 * A step whose target is missing, because it was pruned, changes nothing. A redo of an operation that is not undone
 * changes nothing, either.
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
  /** Maps the id of each undo of selected work to the `takes` of the undo. */
  readonly #groups = new Map<string, readonly string[]>();
  /**
   * Maps the id of each operation, and of each undo of selected work, to `true` if the operation is part of a larger
   * one, and to `false` otherwise.
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
