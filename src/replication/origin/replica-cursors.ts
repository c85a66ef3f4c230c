/**
 * An origin's list of its replicas. Each replica has a cursor and a holder. The cursor is the seq of the last event
 * that the replica holds durably. A cursor never decreases. The holder is the client to which the replica belongs.
 *
 * At most `MOST_HELD` replicas are kept for each holder. A further replica replaces the least recently seen replica of
 * the same holder. If a replaced replica connects again, it names its last event itself, and is listed again.
 *
 * The list is not a record in the workspace's log. Otherwise, each acknowledgement would add an event, which the
 * replicas would have to acknowledge, too. Backends: `MemoryReplicaCursors`, `FileReplicaCursors`.
 */
export interface ReplicaCursors {
  /** Returns a replica's cursor. Returns `undefined` if the replica has never connected, or was replaced. */
  get(replica: string): number | undefined;
  /**
   * Moves a cursor forward. Ignores a lower value. `FileReplicaCursors` makes the new value durable before it returns,
   * or after the delay of `FileCursorOptions`. Throws `IO` if a write fails.
   */
  advance(replica: string, sequence: number): void;
  /**
   * Returns the client to which the replica belongs (see `admitReplica`). Returns `undefined` if the replica is
   * unknown, or if no client has connected as this replica since origins began to record holders.
   */
  holder(replica: string): string | undefined;
  /**
   * Sets the holder of a replica. `FileReplicaCursors` makes the holder durable before it returns. Throws `IO` if the
   * write fails.
   */
  hold(replica: string, holder: string): void;
  /** Returns all replicas, the most recently seen one last. */
  list(): readonly (readonly [replica: string, kept: KeptReplica])[];
}

export interface KeptReplica {
  readonly sequence: number;
  readonly holder?: string;
}

/** The maximum number of replicas that are kept for one holder. */
export const MOST_HELD = 1_000;

const NEW: KeptReplica = { sequence: 0 };

export class MemoryReplicaCursors implements ReplicaCursors {
  readonly #replicas: Map<string, KeptReplica>;

  constructor(replicas: Iterable<readonly [string, KeptReplica]> = []) {
    this.#replicas = new Map(replicas);
  }

  get(replica: string): number | undefined {
    return this.#replicas.get(replica)?.sequence;
  }

  advance(replica: string, sequence: number): void {
    const kept = this.#replicas.get(replica) ?? NEW;
    this.#put(replica, { ...kept, sequence: Math.max(sequence, kept.sequence) });
  }

  holder(replica: string): string | undefined {
    return this.#replicas.get(replica)?.holder;
  }

  hold(replica: string, holder: string): void {
    this.#put(replica, { ...(this.#replicas.get(replica) ?? NEW), holder });
  }

  list(): readonly (readonly [string, KeptReplica])[] {
    return [...this.#replicas];
  }

  /** Stores a replica as the most recently seen one. */
  #put(replica: string, kept: KeptReplica): void {
    const known = this.#replicas.get(replica);
    this.#replicas.delete(replica);
    this.#replicas.set(replica, kept);
    if (known === undefined || known.holder !== kept.holder) this.#drop(kept.holder);
  }

  #drop(holder: string | undefined): void {
    const held = [...this.#replicas].filter(([, one]) => one.holder === holder);
    for (const [replica] of held.slice(0, Math.max(0, held.length - MOST_HELD))) this.#replicas.delete(replica);
  }
}
