import type { KeptReply, IdempotencyStore, Standing } from "./idempotent.ts";

/** The maximum number of remembered changes. Changes that are still being made can exceed this number. */
const MOST = 10_000;
/**
 * The time for which a change is remembered after it has begun, in milliseconds. A change that takes longer is
 * remembered until it has ended.
 */
const DAY_MS = 86_400_000;
/**
 * The maximum total length of the kept replies, in characters of JSON. Above it, `{ done: true }` replaces the oldest
 * replies.
 */
const MOST_KEPT = 8 * 1024 ** 2;
/** The maximum length, in characters, of a reply that is neither counted for `MOST_KEPT` nor replaced. */
const SHORT = 100;

export interface BookEntry {
  readonly print: string;
  readonly at: number;
  readonly reply?: KeptReply;
  readonly going: boolean;
}

/** Remembers the replies in memory. A durable backend fills this store from its file. */
export class MemoryIdempotencyStore implements IdempotencyStore {
  /** Maps a key to its change. Oldest first. */
  readonly #entries = new Map<string, BookEntry>();
  /** Maps a key to the length of its reply if the reply is longer than `SHORT`. Oldest first. */
  readonly #lengths = new Map<string, number>();
  #kept = 0;

  standing(key: string, print: string, now: number): Standing {
    const known = this.#entries.get(key);
    if (known === undefined || (!known.going && now - known.at >= DAY_MS)) return { kind: "new" };
    if (known.print !== print) return { kind: "other" };
    if (known.reply !== undefined) return { kind: "done", reply: known.reply };
    return { kind: "begun", since: known.at, going: known.going };
  }

  begin(key: string, print: string, now: number): Standing {
    const standing = this.standing(key, print, now);
    if (standing.kind === "new") this.put(key, { print, at: now, going: true });
    return standing;
  }

  end(key: string, how: KeptReply | "nothing" | "unknown"): void {
    const known = this.#entries.get(key);
    if (known === undefined) return;
    if (how === "nothing") return this.#forget(key);
    this.#entries.set(key, { ...known, ...(how === "unknown" ? {} : { reply: how }), going: false });
    if (how !== "unknown") this.#noteReply(key, how);
  }

  /**
   * Adds a change as the newest one. If there are then more than `MOST` changes, forgets the oldest one that is not
   * being made.
   */
  put(key: string, entry: BookEntry): void {
    this.#forget(key);
    this.#entries.set(key, entry);
    if (entry.reply !== undefined) this.#noteReply(key, entry.reply);
    if (this.#entries.size <= MOST) return;
    // Do not forget a change that is being made, because a repeated request would make the change a second time.
    for (const [oldest, { going }] of this.#entries) {
      if (going) continue;
      this.#forget(oldest);
      return;
    }
  }

  /** Returns the changes by key, oldest first. */
  entries(): IterableIterator<[string, BookEntry]> {
    return this.#entries.entries();
  }

  #forget(key: string): void {
    this.#entries.delete(key);
    this.#dropLength(key);
  }

  #dropLength(key: string): void {
    this.#kept -= this.#lengths.get(key) ?? 0;
    this.#lengths.delete(key);
  }

  #noteReply(key: string, { value }: KeptReply): void {
    const { length } = JSON.stringify(value ?? null);
    this.#dropLength(key);
    if (length <= SHORT) return;
    this.#lengths.set(key, length);
    this.#kept += length;
    while (this.#kept > MOST_KEPT) {
      const [oldest = key] = this.#lengths.keys();
      this.#dropLength(oldest);
      const entry = this.#entries.get(oldest);
      if (entry?.reply === undefined) continue;
      this.#entries.set(oldest, { ...entry, reply: { status: entry.reply.status, value: { done: true } } });
    }
  }
}
