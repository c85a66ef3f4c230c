import type { TickActor, TickKindName, TickOutcomeName, TicksShape } from "../../../src/api/tick-api.ts";

/** The ticks of one actor. All commands that Chronicle ran share one lane. */
export interface TickLane {
  readonly key: string;
  readonly actor: TickActor;
  /** The rows of the lane's ticks in the store, sorted by the time at which the work ended. */
  readonly rows: number[];
  /** The numbers of the turns of the lane. */
  readonly turns: number[];
}

interface MutableLane extends TickLane {
  isSorted: boolean;
}

/** A tick of a piece. */
interface AddedRow {
  readonly first: number;
  readonly last: number;
  readonly ended: number;
  readonly started: number;
  readonly kind: number;
  readonly outcome: number;
  readonly changed: number;
  readonly lane: number;
  readonly session: number;
  readonly turn: string | undefined;
}

/** The ticks that were read so far. Each change of the store makes a new object of this type around the same store. */
export interface Ticks {
  readonly store: TickStore;
}

/** Returns the key of the query for the ticks of a workspace. */
export function ticksKey(workspace: string) {
  return ["workspace", workspace, "ticks"] as const;
}

/** One tick, with its values from all columns of the store. */
export interface TickAt {
  readonly row: number;
  readonly first: number;
  readonly last: number;
  readonly ended: number;
  readonly kind: TickKindName;
  readonly outcome: TickOutcomeName;
  readonly lane: TickLane;
  readonly session: string | undefined;
  readonly turn: string | undefined;
  readonly changed: number;
}

/**
 * The ticks of a history that were read. They are stored in columns, so that a hundred thousand ticks take few
 * megabytes and are drawn in one frame. Pieces (answers of the server) may arrive in any order, and more than once. A
 * new tick replaces the known tick with the same first event, unless the new tick ends earlier. All changes of files
 * that one capture recorded form one tick, even if they come in several pieces.
 */
export class TickStore {
  /** The seq of the event after which newer ticks are read. */
  head = 0;
  /** True if there are older ticks that were not read yet. */
  hasOlder = false;
  /** True if the server now has another history, or one that begins later. A new store must then be begun. */
  isOutdated = false;
  size = 0;
  /** The event before which older ticks are read. */
  oldest = Number.POSITIVE_INFINITY;
  kinds: readonly TickKindName[] = [];
  outcomes: readonly TickOutcomeName[] = [];
  #first = new Float64Array(1_024);
  #last = new Float64Array(1_024);
  #ended = new Float64Array(1_024);
  #changed = new Float64Array(1_024);
  #kind = new Uint8Array(1_024);
  #outcome = new Uint8Array(1_024);
  #lane = new Uint16Array(1_024);
  #turn = new Int32Array(1_024);
  #session = new Int32Array(1_024);
  /**
   * Maps the first event of each tick to its row. `#rowOfFilesTo` maps the last event of a tick of file changes to its
   * row.
   */
  readonly #rowOf = new Map<number, number>();
  readonly #rowOfFilesTo = new Map<number, number>();
  readonly #lanes: MutableLane[] = [];
  readonly #laneOf = new Map<string, number>();
  readonly #sessions = new Words();
  readonly #turns = new Words();
  readonly #laneOfSession = new Map<string, string>();
  #turnFrom: number[] = [];
  #turnTo: number[] = [];

  /** Returns the time, in epoch milliseconds, at which the work of a row ended. */
  endedAt(row: number): number {
    return this.#ended[row] ?? 0;
  }

  kindAt(row: number): TickKindName {
    return this.kinds[this.#kind[row] ?? 0] ?? "tool";
  }

  /** Returns the index of the row's kind in `kinds`. */
  kindNumberAt(row: number): number {
    return this.#kind[row] ?? 0;
  }

  outcomeAt(row: number): TickOutcomeName {
    return this.outcomes[this.#outcome[row] ?? 0] ?? "done";
  }

  lastAt(row: number): number {
    return this.#last[row] ?? 0;
  }

  /** Returns the number of the row's turn; -1 if the row belongs to no turn. */
  turnAt(row: number): number {
    return this.#turn[row] ?? -1;
  }

  turnNumber(session: string, turn: string): number {
    return this.#turns.find(`${session}\n${turn}`);
  }

  /** Returns the time at which a turn's first action began, and the time at which its last action ended. */
  turnSpan(turn: number): readonly [from: number, to: number] {
    return [this.#turnFrom[turn] ?? 0, this.#turnTo[turn] ?? 0];
  }

  /** Returns the lanes and the times at which the actions of a turn ended, in order of time within each lane. */
  endsOfTurn(turn: number): { readonly lane: string; readonly time: number }[] {
    const [from, to] = this.turnSpan(turn);
    return this.lanes().flatMap(({ key, rows }) =>
      rows
        .slice(this.placeOf(rows, from), this.placeOf(rows, to, true))
        .filter((row) => this.turnAt(row) === turn)
        .map((row) => ({ lane: key, time: this.endedAt(row) })),
    );
  }

  /** Returns the key of the lane that contains a session's work. */
  laneOfSession(session: string): string | undefined {
    return this.#laneOfSession.get(session);
  }

  at(row: number): TickAt | undefined {
    const lane = this.#lanes[this.#lane[row] ?? -1];
    if (row >= this.size || lane === undefined) return undefined;
    const [session, turn] = [this.#sessions.word(this.#session[row]), this.#turns.word(this.turnAt(row))];
    return {
      ...{ row, lane, session, turn: turn?.slice(turn.indexOf("\n") + 1) },
      ...{ first: this.#first[row] ?? 0, last: this.lastAt(row), ended: this.endedAt(row) },
      ...{ kind: this.kindAt(row), outcome: this.outcomeAt(row), changed: this.#changed[row] ?? 0 },
    };
  }

  /** Returns the lanes, each with its rows in order. The lane of the actor who was at work last comes first. */
  lanes(): readonly TickLane[] {
    for (const lane of this.#lanes) {
      if (lane.isSorted) continue;
      // Nearly all rows are already in order, so this sort takes linear time.
      lane.rows.sort((a, b) => this.endedAt(a) - this.endedAt(b) || this.lastAt(a) - this.lastAt(b));
      lane.isSorted = true;
    }
    const newest = ({ rows }: TickLane): number => this.lastAt(rows.at(-1) ?? -1);
    return this.#lanes.toSorted((a, b) => newest(b) - newest(a));
  }

  /**
   * Returns the row of the last tick, among all lanes, that ended at or before a time; `undefined` if there is none.
   */
  lastBy(time: number): number | undefined {
    let found: number | undefined;
    for (const { rows } of this.lanes()) {
      const row = rows[this.placeOf(rows, time, true) - 1];
      if (row !== undefined && (found === undefined || this.lastAt(row) > this.lastAt(found))) found = row;
    }
    return found;
  }

  /**
   * Returns the row of the nearest tick, among all lanes, whose last event is before (`by` is -1), after (1), or at or
   * before (0) an event.
   */
  beside(seq: number, by: -1 | 0 | 1): number | undefined {
    let found: number | undefined;
    for (let row = 0; row < this.size; row += 1) {
      const last = this.lastAt(row);
      const isMeant = by > 0 ? last > seq : by < 0 ? last < seq : last <= seq;
      const isNearer = found === undefined || (by > 0 ? last < this.lastAt(found) : last > this.lastAt(found));
      if (isMeant && isNearer) found = row;
    }
    return found;
  }

  /**
   * Returns the index of the first row that ended at or after a time. With `isBehind`, a row that ended exactly at the
   * time does not count.
   */
  placeOf(rows: readonly number[], time: number, isBehind = false): number {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const ended = this.#ended[rows[middle] ?? 0] ?? 0;
      if (isBehind ? ended <= time : ended < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the times of the first and the last tick; `undefined` if there is none. */
  span(): readonly [from: number, to: number] | undefined {
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { rows } of this.lanes()) {
      from = Math.min(from, this.endedAt(rows[0] ?? 0));
      to = Math.max(to, this.endedAt(rows.at(-1) ?? 0));
    }
    return from > to ? undefined : [from, to];
  }

  /** Adds a piece. While it is called, `head` and `oldest` must still have their values from before the piece. */
  add(piece: TicksShape): void {
    this.kinds = piece.kinds;
    this.outcomes = piece.outcomes;
    const sessions = piece.sessions.map((one) => this.#sessions.add(one));
    const lanes = piece.actors.map((one) => this.#laneFor(one));
    const known = { from: this.oldest, to: this.head };
    let [last, ended] = [0, 0];
    for (const [n, difference] of piece.last.entries()) {
      last += difference;
      ended += at(piece.ended, n);
      const kind = at(piece.kind, n);
      const row: AddedRow = {
        ...{ first: last - at(piece.events, n), last, ended, started: ended - at(piece.took, n) },
        ...{ kind, outcome: at(piece.outcome, n), changed: at(piece.changed, n), lane: lanes[at(piece.actor, n)] ?? 0 },
        ...{ session: sessions[at(piece.session, n)] ?? -1, turn: piece.turns[at(piece.turn, n)] },
      };
      const isOfFiles = OF_FILES.has(piece.kinds[kind]);
      // The row of a capture stands for events that are earlier than its last event. The piece has all of these events.
      if (n === 0) this.oldest = Math.min(this.oldest, isOfFiles ? row.first : last);
      const added = isOfFiles ? withoutKnown(row, known) : row;
      if (added !== undefined && !(isOfFiles && this.#join(added))) this.#put(added, isOfFiles);
    }
  }

  /**
   * Adds changes of files to the tick of the same capture whose events come right after or right before these changes.
   */
  #join({ first, last, changed, ...row }: AddedRow): boolean {
    const [after, before] = [this.#rowOf.get(last + 1), this.#rowOfFilesTo.get(first - 1)];
    const joined = [after, before].find((one) => one !== undefined && this.#isSameCapture(one, row));
    if (joined === undefined) return false;
    this.#changed[joined] = (this.#changed[joined] ?? 0) + changed;
    if (joined === after) {
      this.#rowOf.delete(last + 1);
      this.#rowOf.set(first, joined);
      this.#first[joined] = first;
    } else {
      this.#rowOfFilesTo.delete(first - 1);
      this.#rowOfFilesTo.set(last, joined);
      this.#last[joined] = last;
      const lane = this.#lanes[row.lane];
      if (lane !== undefined) lane.isSorted = false;
    }
    return true;
  }

  #isSameCapture(known: number, row: Pick<AddedRow, "kind" | "ended" | "lane" | "session" | "turn">): boolean {
    const isSameWork = this.#kind[known] === row.kind && this.#ended[known] === row.ended;
    return (
      isSameWork && this.#lane[known] === row.lane && this.#session[known] === row.session && this.#isOf(known, row)
    );
  }

  #isOf(known: number, { session, turn }: Pick<AddedRow, "session" | "turn">): boolean {
    const number = turn === undefined ? -1 : this.turnNumber(this.#sessions.word(session) ?? "", turn);
    return this.#turn[known] === number;
  }

  #put(
    { first, last, ended, started, kind, outcome, changed, lane, session, turn }: AddedRow,
    isOfFiles: boolean,
  ): void {
    const row = this.#place(first);
    // An older answer of the server may arrive after a newer one, so an older state of the tick is ignored.
    if (row < this.size && this.lastAt(row) > last) return;
    this.#first[row] = first;
    this.#last[row] = last;
    this.#ended[row] = ended;
    this.#changed[row] = changed;
    this.#kind[row] = kind;
    this.#outcome[row] = outcome;
    this.#session[row] = session;
    if (isOfFiles) this.#rowOfFilesTo.set(last, row);
    this.#enter(row, lane);
    this.#noteTurn(row, turn, started);
  }

  #enter(row: number, number: number): void {
    this.#lane[row] = number;
    const lane = this.#lanes[number];
    if (lane === undefined) return;
    const session = this.#sessions.word(this.#session[row]);
    if (session !== undefined) this.#laneOfSession.set(session, lane.key);
    if (row === this.size) {
      const before = lane.rows.at(-1);
      if (before !== undefined && this.endedAt(before) > this.endedAt(row)) lane.isSorted = false;
      lane.rows.push(row);
      this.size += 1;
    } else lane.isSorted = false;
  }

  #noteTurn(row: number, turn: string | undefined, started: number): void {
    this.#turn[row] = -1;
    if (turn === undefined) return;
    const number = this.#turns.add(`${this.#sessions.word(this.#session[row]) ?? ""}\n${turn}`);
    this.#turn[row] = number;
    const from = this.#turnFrom[number];
    if (from === undefined) this.#lanes[this.#lane[row] ?? 0]?.turns.push(number);
    this.#turnFrom[number] = Math.min(from ?? started, started);
    this.#turnTo[number] = Math.max(this.#turnTo[number] ?? 0, this.endedAt(row));
  }

  #laneFor(actor: TickActor): number {
    const key = laneKey(actor);
    const known = this.#laneOf.get(key);
    if (known !== undefined) return known;
    this.#lanes.push({ key, actor, rows: [], turns: [], isSorted: true });
    this.#laneOf.set(key, this.#lanes.length - 1);
    return this.#lanes.length - 1;
  }

  /** Returns the row of the tick with this first event, or a new row. */
  #place(first: number): number {
    const known = this.#rowOf.get(first);
    if (known !== undefined) return known;
    if (this.size === this.#first.length) this.#grow(this.size * 2);
    this.#rowOf.set(first, this.size);
    return this.size;
  }

  #grow(length: number): void {
    const larger = <T extends Float64Array | Uint8Array | Uint16Array | Int32Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#first = larger(this.#first, new Float64Array(length));
    this.#last = larger(this.#last, new Float64Array(length));
    this.#ended = larger(this.#ended, new Float64Array(length));
    this.#changed = larger(this.#changed, new Float64Array(length));
    this.#kind = larger(this.#kind, new Uint8Array(length));
    this.#outcome = larger(this.#outcome, new Uint8Array(length));
    this.#lane = larger(this.#lane, new Uint16Array(length));
    this.#turn = larger(this.#turn, new Int32Array(length));
    this.#session = larger(this.#session, new Int32Array(length));
  }
}

/** The kinds of ticks that stand for several changes of files, with one event for each change. */
const OF_FILES: ReadonlySet<TickKindName | undefined> = new Set(["edit", "sync"] as const);

/**
 * Returns the part of a tick of file changes that is not among the known events; `undefined` if all events are known.
 */
function withoutKnown(
  row: AddedRow,
  { from, to }: { readonly from: number; readonly to: number },
): AddedRow | undefined {
  if (row.first < from || row.first > to) return row;
  return row.last <= to ? undefined : { ...row, first: to + 1, changed: row.last - to };
}

/** The key of the lane of an actor. The lanes of the list's lines have the same keys. */
export function laneKey({ who, actor }: { readonly who: string; readonly actor: string }): string {
  return who === "command" ? "command" : actor;
}

function at(column: readonly number[], n: number): number {
  return column[n] ?? 0;
}

/** A set of words, each with a number. */
class Words {
  readonly #words: string[] = [];
  readonly #numbers = new Map<string, number>();

  add(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    this.#numbers.set(word, this.#words.length);
    return this.#words.push(word) - 1;
  }

  find(word: string): number {
    return this.#numbers.get(word) ?? -1;
  }

  word(number = -1): string | undefined {
    return this.#words[number];
  }
}
