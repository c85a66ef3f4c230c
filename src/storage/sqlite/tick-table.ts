import { type Tick, TICK_KINDS, TICK_OUTCOMES } from "../../core/records/tick.ts";
import type { TickRange, TickRow, TurnName } from "../index-store.ts";
import { atMost, bytesAt, DamagedCell, numberAt, type Row, type Statements } from "./statements.ts";

const COLUMNS = "last, first, kind, outcome, started, ended, actor, session, turn, changed";

/** The maximum number of words in each of the two caches: from words to their numbers, and back. */
const MOST_WORDS = 20_000;

/**
 * The ticks, by the last event of each. Actors, sessions and turns are stored as numbers of words, because they recur.
 */
export class TickTable {
  readonly #sql: Statements;
  readonly #ids = new Map<string, number>();
  readonly #words = new Map<number, string>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Forgets all words, because rows may be gone after a rollback or a reset. */
  forget(): void {
    this.#ids.clear();
    this.#words.clear();
  }

  /** Adds ticks, in event order. The events of the ticks must have been added. Requires a transaction. */
  addAll(ticks: readonly Tick[]): void {
    for (const { seq, recordId, kind, outcome, started, ended, actor, session, turn, changed } of ticks) {
      const first = recordId === undefined ? seq : this.#firstOf(recordId, seq);
      if (first !== seq) this.#sql.run("DELETE FROM ticks WHERE first = ?", first);
      this.#sql.run(
        "INSERT INTO ticks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ...[seq, first, TICK_KINDS.indexOf(kind), TICK_OUTCOMES.indexOf(outcome), started, ended],
        ...[this.#idOf(actor), this.#idOf(session), this.#idOf(turn), changed],
      );
    }
  }

  range({ after, upTo, limit, descending = false, kinds }: TickRange): TickRow[] {
    const order = descending ? "DESC" : "ASC";
    const numbers = kinds?.map((kind) => TICK_KINDS.indexOf(kind)).join();
    const isMeant = numbers === undefined ? "" : ` AND kind IN (${numbers})`;
    const where = `last > ? AND last <= ?${isMeant}`;
    return this.#sql
      .all(`SELECT ${COLUMNS} FROM ticks WHERE ${where} ORDER BY last ${order}${atMost(limit)}`, after, upTo)
      .slice(0, limit)
      .map((row) => this.#rowOf(row));
  }

  /** Returns those of the turns that have a tick whose last event is after a seq. Reads all these ticks once. */
  turnsAfter(seq: number, turns: readonly TurnName[]): TurnName[] {
    const wanted = new Map(turns.flatMap((one) => this.#keyOf(one).map((key) => [key, one] as const)));
    if (wanted.size === 0) return [];
    const ids = JSON.stringify([...wanted.keys()].map((key) => Number(key.split(" ")[1])));
    const sql = "SELECT DISTINCT session, turn FROM ticks WHERE last > ? AND turn IN (SELECT value FROM json_each(?))";
    const rows = this.#sql.all(sql, seq, ids);
    return rows.flatMap((row) => wanted.get(`${numberAt(row, 0)} ${numberAt(row, 1)}`) ?? []);
  }

  /** Returns the numbers of the session and the turn as one key; nothing if no tick has these words. */
  #keyOf({ session, turn }: TurnName): string[] {
    const numbers = [session, turn].map((word) => this.#knownId(Buffer.from(word)));
    return numbers.includes(undefined) ? [] : [numbers.join(" ")];
  }

  #firstOf(recordId: string, seq: number): number {
    const row = this.#sql.first("SELECT min(seq) FROM events WHERE record_id = ?", Buffer.from(recordId));
    return typeof row?.[0] === "number" ? row[0] : seq;
  }

  #idOf(word: string): number {
    const known = this.#ids.get(word);
    if (known !== undefined) return known;
    const bytes = Buffer.from(word);
    const id = this.#knownId(bytes) ?? this.#sql.insert("INSERT INTO tick_words (word) VALUES (?)", bytes);
    if (this.#ids.size >= MOST_WORDS) this.#ids.clear();
    this.#ids.set(word, id);
    return id;
  }

  #knownId(word: Uint8Array): number | undefined {
    const row = this.#sql.first("SELECT id FROM tick_words WHERE word = ?", word);
    return row === undefined ? undefined : numberAt(row, 0);
  }

  #wordOf(id: number): string {
    const known = this.#words.get(id);
    if (known !== undefined) return known;
    const row = this.#sql.first("SELECT word FROM tick_words WHERE id = ?", id);
    if (row === undefined) throw new DamagedCell(`the word ${id} is missing`);
    const word = bytesAt(row, 0).toString("utf8");
    if (this.#words.size >= MOST_WORDS) this.#words.clear();
    this.#words.set(id, word);
    return word;
  }

  #rowOf(row: Row): TickRow {
    const [kind, outcome] = [TICK_KINDS[numberAt(row, 2)], TICK_OUTCOMES[numberAt(row, 3)]];
    if (kind === undefined || outcome === undefined) throw new DamagedCell("a tick has no known kind or outcome");
    return {
      ...{ last: numberAt(row, 0), first: numberAt(row, 1), kind, outcome },
      ...{ started: numberAt(row, 4), ended: numberAt(row, 5), actor: this.#wordOf(numberAt(row, 6)) },
      ...{ session: this.#wordOf(numberAt(row, 7)), turn: this.#wordOf(numberAt(row, 8)), changed: numberAt(row, 9) },
    };
  }
}
