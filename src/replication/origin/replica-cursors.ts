/**
 * An origin's memory of each replica: its cursor (the last event that it holds durably, which only grows), and who
 * presents it. A limited number is kept for each holder (`MOST_HELD`): a holder who comes with ever new ids loses those
 * of his own that were away longest, and nobody else's. A forgotten replica that comes back says itself how far it is,
 * and is held anew. Backends: `MemoryReplicaCursors`, `FileReplicaCursors`. It is no record of the workspace: each
 * acknowledgement would be an event, which would have to be acknowledged.
 */
export interface ReplicaCursors {
  /** Returns the cursor of a replica; `undefined` if it has never been here. */
  get(replica: string): number | undefined;
  /** Moves a cursor forward, durably (some backends: soon); a lower one changes nothing. Throws `IO`. */
  advance(replica: string, sequence: number): void;
  /**
   * Returns who may present a replica (`admitReplica`); `undefined` if nobody has, or only before holders were kept.
   */
  holder(replica: string): string | undefined;
  /** Makes this the holder from now on. Durable when it returns. Throws `IO`. */
  hold(replica: string, holder: string): void;
  /** Returns all of them, the most recently seen last. */
  list(): readonly (readonly [replica: string, kept: KeptReplica])[];
}

/** The memory of one replica. */
export interface KeptReplica {
  readonly sequence: number;
  readonly holder?: string;
}

/** Number of replicas that are kept for one holder. */
export const MOST_HELD = 1_000;

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
