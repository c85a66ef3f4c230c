/**
 * What an origin keeps of each replica: how far it has got (the last event that it holds durably, which only grows), and who
 * presents it.
 *
 * Of each holder so many are kept (`MOST_HELD`): whoever comes with ever new ids has the memory of his own that were not here
 * for the longest time dropped, and of nobody else's. Such a one, come back, says itself how far it is, and is held anew.
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
  /** All of them; those that were here last stand last. */
  list(): readonly (readonly [replica: string, kept: KeptReplica])[];
}

/** What is kept of one replica. */
export interface KeptReplica {
  readonly sequence: number;
  readonly holder?: string;
}

/** So many replicas of one holder are kept. */
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

  /** It is here now. */
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
