/**
 * How far each replica has got: the last event that it holds durably. Only grows.
 *
 * Backends: `MemoryReplicaCursors`, `FileReplicaCursors`. It is no record of the workspace: each acknowledgement would be
 * an event, which would have to be acknowledged.
 */
export interface ReplicaCursors {
  /** The cursor of a replica; `undefined`: it has never been here. */
  get(replica: string): number | undefined;
  /** Moves a cursor forward, durably (a backend may say: soon); a lower one than before changes nothing. Throws `IO`. */
  advance(replica: string, sequence: number): void;
  /** All of them, in any order. */
  list(): readonly (readonly [replica: string, sequence: number])[];
}

/** Cursors that last as long as this object. */
export class MemoryReplicaCursors implements ReplicaCursors {
  readonly #cursors: Map<string, number>;

  constructor(cursors: Iterable<readonly [string, number]> = []) {
    this.#cursors = new Map(cursors);
  }

  get(replica: string): number | undefined {
    return this.#cursors.get(replica);
  }

  advance(replica: string, sequence: number): void {
    this.#cursors.set(replica, Math.max(sequence, this.#cursors.get(replica) ?? 0));
  }

  list(): readonly (readonly [string, number])[] {
    return [...this.#cursors];
  }
}
