import type { KeptReply, ReplyBook, Standing } from "./reply-book.ts";

/** So many are remembered, each for so long, in milliseconds. */
const MOST = 10_000;
const DAY_MS = 86_400_000;

/** One change that named itself. */
export interface BookEntry {
  readonly print: string;
  readonly at: number;
  readonly reply?: KeptReply;
  /** This process is at it. */
  readonly going: boolean;
}

/** The replies of this process alone. A backend that lasts fills it from what it kept. */
export class MemoryReplyBook implements ReplyBook {
  /** Oldest first. */
  readonly #entries = new Map<string, BookEntry>();

  begin(key: string, print: string, now: number): Standing {
    const known = this.#entries.get(key);
    if (known !== undefined && now - known.at < DAY_MS) {
      if (known.print !== print) return { kind: "other" };
      if (known.reply !== undefined) return { kind: "done", reply: known.reply };
      return { kind: "begun", since: known.at, going: known.going };
    }
    this.put(key, { print, at: now, going: true });
    return { kind: "new" };
  }

  end(key: string, how: KeptReply | "nothing" | "unknown"): void {
    const known = this.#entries.get(key);
    if (known === undefined) return;
    if (how === "nothing") this.#entries.delete(key);
    else this.#entries.set(key, { ...known, ...(how === "unknown" ? {} : { reply: how }), going: false });
  }

  /** As it was kept. */
  put(key: string, entry: BookEntry): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= MOST) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Everything that is remembered, oldest first. */
  entries(): IterableIterator<[string, BookEntry]> {
    return this.#entries.entries();
  }
}
