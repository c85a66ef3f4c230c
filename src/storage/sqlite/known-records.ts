import type { EventRow } from "../index-store.ts";

/** The maximum number of remembered answers. An answer with more than `MOST_ROWS` rows is not remembered. */
const MOST_ANSWERS = 1_000;
const MOST_ROWS = 100;

/**
 * Remembers the answers to queries by record id, because most operations ask for the same few records, which seldom
 * change. The owner calls `forgetRecord` when it adds an event of a record. It calls `forget` when it adds many events,
 * and when the index has changed in any other way. Ids with lone surrogates are not remembered, because the database
 * cannot tell such ids apart.
 */
export class KnownRecords {
  readonly #last = new Map<string, EventRow | undefined>();
  readonly #groups = new Map<string, { readonly prefix: string; readonly rows: readonly EventRow[] }>();

  /**
   * Returns the last event of a record; `undefined` if the record has no event. `find` asks the database, and is called
   * only if no answer is remembered.
   */
  last(recordId: string, find: () => EventRow | undefined): EventRow | undefined {
    if (this.#last.has(recordId)) return this.#last.get(recordId);
    const found = find();
    if (!recordId.isWellFormed()) return found;
    if (this.#last.size === MOST_ANSWERS) this.#last.clear();
    this.#last.set(recordId, found);
    return found;
  }

  /**
   * Returns the events of the records whose ids begin with a prefix. `query`: the name of the query, because different
   * queries can have the same prefix.
   */
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
