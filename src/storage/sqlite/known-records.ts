import type { EventRow } from "../index-store.ts";

/** The maximum number of remembered answers, and of rows in an answer that is remembered. */
const MOST_ANSWERS = 1_000;
const MOST_ROWS = 100;

/**
 * Answers of queries by record id. Most operations ask for the same few records, which seldom change. The owner forgets
 * the answers about a record when it adds an event of that record. The owner forgets all answers when the index has
 * changed in any other way. Ids with lone surrogates are not remembered, because the database cannot tell such ids
 * apart.
 */
export class KnownRecords {
  readonly #last = new Map<string, EventRow | undefined>();
  readonly #groups = new Map<string, { readonly prefix: string; readonly rows: readonly EventRow[] }>();

  /** Returns the last event of a record; `undefined` if there is none. `find` asks the database. */
  last(recordId: string, find: () => EventRow | undefined): EventRow | undefined {
    if (this.#last.has(recordId)) return this.#last.get(recordId);
    const found = find();
    if (!recordId.isWellFormed()) return found;
    if (this.#last.size === MOST_ANSWERS) this.#last.clear();
    this.#last.set(recordId, found);
    return found;
  }

  /** Returns the events of the records with a prefix. `query` tells queries with the same prefix apart. */
  group(query: string, prefix: string, find: () => EventRow[]): readonly EventRow[] {
    const key = `${query} ${prefix}`;
    const known = this.#groups.get(key);
    if (known !== undefined) return known.rows;
    const rows = find();
    if (rows.length > MOST_ROWS || !prefix.isWellFormed()) return rows;
    if (this.#groups.size === MOST_ANSWERS) this.#groups.clear();
    this.#groups.set(key, { prefix, rows });
    return rows;
  }

  /** Forgets the answers about a record. */
  forgetRecord(recordId: string): void {
    this.#last.delete(recordId);
    for (const [key, { prefix }] of this.#groups) if (recordId.startsWith(prefix)) this.#groups.delete(key);
  }

  forget(): void {
    this.#last.clear();
    this.#groups.clear();
  }
}
