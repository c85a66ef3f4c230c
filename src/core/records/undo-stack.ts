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
  /** An operation that is part of a greater one: it is undone with that one, or by its id, and is never next. */
  readonly isPart?: true;
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
 * again; a new operation ends redo. An undo of one in the middle takes it out of its place; its redo puts it on top, also where
 * a new operation has ended redo and it was named.
 *
 * An undo of somebody's work is a step of its own: what it takes back wholly is no longer undoable, and it becomes
 * redoable as one, by its own id; once redone it is undoable as one, by that id. (Its undo is then a new one, which
 * takes it.) Steps about operations that are not there (pruned), and redos of what is not undone, change nothing.
 */
export function undoStack(steps: Iterable<OperationStep>): UndoStack {
  const stacks = new Stacks();
  for (const step of steps) stacks.take(step);
  return stacks.now;
}

class Stacks {
  // A set keeps the order of insertion and takes out of the middle in constant time.
  readonly #undoable = new Set<string>();
  readonly #redoable = new Set<string>();
  readonly #undone = new Set<string>();
  /** The operations that undos of somebody's work took, by the undo's id. */
  readonly #groups = new Map<string, readonly string[]>();
  /** All operations so far: true for one that is part of a greater one. */
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
      // Clearing an empty set costs a new table.
      if (this.#redoable.size > 0) this.#redoable.clear();
    } else if (kind === "undo" && takes !== undefined) this.#takeWork(step, takes);
    else if (target === undefined || !this.#known.has(target)) return;
    else if (kind === "undo") this.#undo(target);
    else if (this.#isRedoable(target)) this.#redo(target);
  }

  #takeWork({ id, passes = [] }: OperationStep, takes: readonly string[]): void {
    this.#known.set(id, false);
    this.#groups.set(id, takes);
    for (const taken of takes) for (const member of this.#membersOf(taken)) this.#undone.add(member);
    for (const one of [...takes, ...passes]) {
      this.#undoable.delete(one);
      this.#redoable.delete(one);
    }
    this.#redoable.add(id);
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
