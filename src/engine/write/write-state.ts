import type { Change, Entry } from "../../core/values/entry.ts";
import { comparePaths, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { IndexStore, IterationRow } from "../../storage/index-store.ts";

/** The state of a path as it is recorded, or as the batch will record it. */
export interface PathState {
  readonly entry: Entry | undefined;
  /** 0 if the path was never recorded. */
  readonly iteration: number;
  /** The sequence number (seq) of the event that recorded the state; 0 if there is no such event. */
  readonly seq: number;
}

const NEVER: PathState = { entry: undefined, iteration: 0, seq: 0 };

/** The files as the next write of a batch sees them: the recorded files, with the changes of earlier writes applied. */
export class WriteState {
  readonly #index: IndexStore;
  readonly #head: number;
  readonly #changed = new Map<WorkspacePath, PathState>();

  /** `head` is the seq of the last event. The index is read as of this event. */
  constructor(index: IndexStore, head: number) {
    this.#index = index;
    this.#head = head;
  }

  async at(path: WorkspacePath): Promise<PathState> {
    return this.#changed.get(path) ?? stateOf(await this.#index.iterationAt(path, this.#head));
  }

  /** Returns the entries at and beneath a path, in path order. */
  async beneath(path: WorkspacePath): Promise<Entry[]> {
    const entries: Entry[] = [];
    for await (const rows of this.#index.entriesAt(this.#head, path)) {
      for (const row of rows) if (row.entry !== undefined && !this.#changed.has(row.path)) entries.push(row.entry);
    }
    const recorded = entries.length;
    for (const [at, { entry }] of this.#changed) if (entry !== undefined && isWithin(at, path)) entries.push(entry);
    return entries.length === recorded ? entries : entries.sort((a, b) => comparePaths(a.path, b.path));
  }

  /**
   * Returns the highest seq among the entries beneath a folder; `undefined` if there is no entry. An entry whose event
   * has no seq yet counts as 0.
   */
  async lastBeneath(folder: WorkspacePath): Promise<number | undefined> {
    let last: number | undefined;
    const see = (path: WorkspacePath, { entry, seq }: Pick<PathState, "entry" | "seq">): void => {
      if (entry !== undefined && path !== folder) last = Math.max(last ?? 0, Number.isFinite(seq) ? seq : 0);
    };
    for await (const rows of this.#index.entriesAt(this.#head, folder)) {
      for (const row of rows) if (!this.#changed.has(row.path)) see(row.path, row);
    }
    for (const [path, state] of this.#changed) if (isWithin(path, folder)) see(path, state);
    return last;
  }

  /**
   * Adds changes to the state. Each change is recorded by one event. The events are consecutive, and `seq` is the first
   * of them.
   */
  async take(changes: readonly Change[], seq: number): Promise<void> {
    for (const [i, { path, after }] of changes.entries()) {
      const { iteration } = await this.at(path);
      this.#changed.set(path, { entry: after, iteration: iteration + 1, seq: seq + i });
    }
  }
}

function stateOf(row: IterationRow | undefined): PathState {
  return row === undefined ? NEVER : { entry: row.entry, iteration: row.iteration, seq: row.seq };
}
