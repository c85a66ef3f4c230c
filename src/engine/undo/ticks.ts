import type { TickActor, TicksOptions, TicksShape } from "../../api/tick-api.ts";
import { TICK_KINDS, TICK_OUTCOMES } from "../../core/records/tick.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { originOfRecordId } from "../../core/records/replica-record.ts";
import type { TickRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { whoOf } from "./recent-line.ts";

const DEFAULT_LIMIT = 5_000;
const MOST_TICKS = 20_000;

/** Returns the ticks of the history in columns (`TicksShape`). Reads only the index, not the log. */
export async function ticksOf(
  { index }: Pick<Context, "index">,
  { after = 0, before, limit = DEFAULT_LIMIT, reverse = false }: TicksOptions = {},
): Promise<TicksShape> {
  checkLimit(limit);
  const { seq: head } = await index.head();
  const upTo = Math.min(head, before === undefined ? head : before - 1);
  const found = await index.ticks({ after, upTo, limit: limit + 1, descending: reverse });
  const rows = found.slice(0, limit);
  const named = await namingOrigins(index, reverse ? rows.reverse() : rows);
  return { ...columnsOf(gathered(named)), head, more: found.length > limit };
}

/**
 * Returns the rows, with the origin as the actor of changes that came from an origin. The rows must be in the order of
 * their last events. A sync step writes its record (`intent:`) after the changes that it made. The first such record
 * after a change therefore names the origin of the change.
 */
async function namingOrigins(index: Context["index"], rows: readonly TickRow[]): Promise<readonly TickRow[]> {
  const isNameless = ({ kind, actor }: TickRow): boolean => kind === "sync" && actor === "";
  if (!rows.some(isNameless)) return rows;
  const origins = (await index.records("replica:")).flatMap(({ recordId }) => originOfRecordId(recordId) ?? []);
  // Nearly all replicas have followed only one origin.
  if (origins.length <= 1) return rows.map((row) => (isNameless(row) ? { ...row, actor: origins[0] ?? "" } : row));
  const steps: { readonly seq: number; readonly origin: string }[] = [];
  for (const origin of origins)
    for (const { seq } of await index.recordHistory(`intent:${origin}`)) steps.push({ seq, origin });
  steps.sort((a, b) => a.seq - b.seq);
  let next = 0;
  return rows.map((row) => {
    while ((steps[next]?.seq ?? Number.POSITIVE_INFINITY) < row.last) next += 1;
    return isNameless(row) ? { ...row, actor: steps[next]?.origin ?? "" } : row;
  });
}

function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST_TICKS) return;
  throw new ChronicleError("USAGE", `the limit must be a whole number from 1 to ${MOST_TICKS}`);
}

/** Joins consecutive rows of file changes that the same capture recorded into one row. */
function gathered(rows: readonly TickRow[]): TickRow[] {
  const joined: TickRow[] = [];
  for (const row of rows) {
    const before = joined.at(-1);
    if (before !== undefined && isSameCapture(before, row))
      joined[joined.length - 1] = { ...before, last: row.last, changed: before.changed + row.changed };
    else joined.push(row);
  }
  return joined;
}

function isSameCapture(a: TickRow, b: TickRow): boolean {
  const isOfFiles = (a.kind === "edit" || a.kind === "sync") && a.kind === b.kind && b.first === a.last + 1;
  return isOfFiles && a.ended === b.ended && a.actor === b.actor && a.session === b.session && a.turn === b.turn;
}

function columnsOf(rows: readonly TickRow[]): Omit<TicksShape, "head" | "more"> {
  const [actors, sessions, turns] = [new Words(), new Words(), new Words()];
  const who = new Map<number, TickActor>();
  const shape = emptyColumns();
  let [lastBefore, endedBefore] = [0, 0];
  for (const row of rows) {
    shape.last.push(row.last - lastBefore);
    shape.events.push(row.last - row.first);
    shape.ended.push(row.ended - endedBefore);
    shape.took.push(row.ended - row.started);
    [lastBefore, endedBefore] = [row.last, row.ended];
    shape.kind.push(TICK_KINDS.indexOf(row.kind));
    shape.outcome.push(TICK_OUTCOMES.indexOf(row.outcome));
    const actor = actors.placeOf(`${laneOf(row)} ${row.actor}`);
    if (!who.has(actor)) who.set(actor, { actor: row.actor, who: laneOf(row) });
    shape.actor.push(actor);
    shape.session.push(row.session === "" ? -1 : sessions.placeOf(row.session));
    shape.turn.push(row.turn === "" ? -1 : turns.placeOf(row.turn));
    shape.changed.push(row.changed);
  }
  return { ...shape, actors: [...who.values()], sessions: sessions.all, turns: turns.all };
}

function emptyColumns(): Omit<TicksShape, "head" | "more" | "actors" | "sessions" | "turns"> {
  return {
    ...{ kinds: [...TICK_KINDS], outcomes: [...TICK_OUTCOMES] },
    ...{ last: [], events: [], ended: [], took: [], kind: [], outcome: [], actor: [], session: [], turn: [] },
    changed: [],
  };
}

function laneOf({ kind, actor }: TickRow): TickActor["who"] {
  if (kind === "run") return "command";
  if (kind === "sync" || kind === "conflict") return "replica";
  const who = whoOf(actor);
  return who === "person" || who === "unknown" ? who : "agent";
}

/** A list of distinct words. `placeOf` adds a new word, and returns the index of the word in the list. */
class Words {
  readonly all: string[] = [];
  readonly #places = new Map<string, number>();

  placeOf(word: string): number {
    const known = this.#places.get(word);
    if (known !== undefined) return known;
    this.#places.set(word, this.all.length);
    this.all.push(word);
    return this.all.length - 1;
  }
}
