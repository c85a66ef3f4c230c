/**
 * What an origin keeps of each replica: how far it has got (the last event that it holds durably, which only grows), and who
 * presents it.
 *
 * Backends: `MemoryReplicaCursors`, `FileReplicaCursors`. It is no record of the workspace: each acknowledgement would be
 * an event, which would have to be acknowledged.
 */
export interface ReplicaCursors {
  /** The cursor of a replica; `undefined`: it has never been here. */
  get(replica: string): number | undefined;
  /** Moves a cursor forward, durably (a backend may say: soon); a lower one than before changes nothing. Throws `IO`. */
  advance(replica: string, sequence: number): void;
  /** Who may present a replica (`admitReplica`); `undefined`: nobody has, or before that was kept. */
  holder(replica: string): string | undefined;
  /** From now on it is this one's. Durable when it returns. Throws `IO`. */
  hold(replica: string, holder: string): void;
  /** All of them, in any order. */
  list(): readonly (readonly [replica: string, kept: KeptReplica])[];
}

/** What is kept of one replica. */
export interface KeptReplica {
  readonly sequence: number;
  readonly holder?: string;
}

const NEW: KeptReplica = { sequence: 0 };

/** Cursors that last as long as this object. */
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
    this.#replicas.set(replica, { ...kept, sequence: Math.max(sequence, kept.sequence) });
  }

  holder(replica: string): string | undefined {
    return this.#replicas.get(replica)?.holder;
  }

  hold(replica: string, holder: string): void {
    this.#replicas.set(replica, { ...(this.#replicas.get(replica) ?? NEW), holder });
  }

  list(): readonly (readonly [string, KeptReplica])[] {
    return [...this.#replicas];
  }
}
