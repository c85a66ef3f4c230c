import { readEventFast } from "../../core/log/chain.ts";
import { formatBytes } from "../../core/values/duration.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { ERASE } from "../../core/records/erase-record.ts";
import { Erasures } from "../../core/records/erasures.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { keepsAllOf, keptByAny, type KeptStates } from "../../core/tree/kept-states.ts";
import { decodePrune, type GivenUpPrivates, pruneRecordId, type PruneRecord } from "../../core/records/prune-record.ts";
import { isGraceOver } from "../../core/records/tombstone.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";
import { optional } from "../../util/optional.ts";
import type { Context } from "./context.ts";

/**
 * Reads prunings and erasures from the lines of the log. The index is not used, because these records decide which
 * contents may be freed, and which may be missing.
 */

export interface LoggedPruning extends PruneRecord {
  readonly seq: number;
  /** The time of the event, in milliseconds since the epoch. */
  readonly ts: number;
}

const NOTHING_PRUNED: KeptStates = { floorSeq: 0, kept: [] };

const PRUNE_LINE = Buffer.from('"record_id":"prune:');
const ERASE_LINE = Buffer.from(`"record_id":"${ERASE}`);

type LinesOfLog = Pick<EventLog, "read">;

interface HowToRead {
  /** The position of the first line to read. Default: the beginning of the log. */
  readonly from?: LogPosition;
  /**
   * A time, in ms since the epoch. Erasures whose grace period is not over at this time are left out. Default: all
   * erasures are returned.
   */
  readonly due?: number;
}

/** Returns the prunings of a log, oldest first, and its erasures. Throws `LOG_DAMAGED` for an invalid record. */
export async function givenUpInLog(
  log: LinesOfLog,
  workspaceId: string,
  { from, due }: HowToRead = {},
): Promise<{ readonly prunings: readonly LoggedPruning[]; readonly erasures: Erasures }> {
  const prunings: LoggedPruning[] = [];
  const erasures = new Erasures(due);
  for await (const event of givenUpEvents(log, workspaceId, from)) {
    if (isErasure(event)) erasures.add(event.recordId, event.seq, event.record);
    else prunings.push(asPruning(event));
  }
  return { prunings, erasures };
}

async function* givenUpEvents(
  log: LinesOfLog,
  workspaceId: string,
  from: LogPosition = { seq: 1, offset: 0 },
): AsyncGenerator<LogEvent> {
  for await (const lines of log.read(from)) {
    for (const { bytes } of lines) {
      // Most lines are skipped without being parsed as JSON.
      const event = bytes.includes(PRUNE_LINE) || bytes.includes(ERASE_LINE) ? eventIn(bytes) : undefined;
      if (event === undefined) continue;
      if (event.recordId === pruneRecordId(workspaceId) || isErasure(event)) yield event;
    }
  }
}

function isErasure({ recordId }: LogEvent): boolean {
  return recordId.startsWith(ERASE);
}

/**
 * Returns the event of a line; `undefined` if the line is no event. Such a line is reported by the code that checks the
 * log.
 */
function eventIn(bytes: Uint8Array): LogEvent | undefined {
  try {
    return readEventFast(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the pruning that an event records. Throws `LOG_DAMAGED` if the record is invalid. */
export function asPruning({ seq, ts, record }: Pick<LogEvent, "seq" | "ts" | "record">): LoggedPruning {
  return { ...decodePrune(record), seq, ts: Date.parse(ts) };
}

/**
 * Returns the states whose contents must not be freed yet; `undefined`: all states. `all`: the prunings of the log,
 * oldest first.
 *
 * During the grace period of a pruning that a person asked for, neither this pruning nor any later one frees contents.
 * All states that were kept before this pruning therefore stay. A pruning with `now` frees its contents at once.
 * Chronicle refuses such a pruning during the grace period of an earlier one. Therefore, no pruning before a pruning
 * with `now` is still in its grace period.
 */
export function prunedForGood(all: readonly LoggedPruning[], now: number): KeptStates | undefined {
  let keeping: (LoggedPruning | undefined)[] = [undefined];
  let isWaiting = false;
  for (const one of all) {
    const isYoung = one.cause === "asked" && one.now !== true && !isGraceOver(one.ts, now);
    isWaiting = one.now !== true && (isWaiting || isYoung);
    keeping = isWaiting ? [...keeping, one] : [one];
  }
  return keptByAny(keeping);
}

/**
 * Returns, oldest first, the prunings that can still be undone. A pruning can be undone during its grace period, as
 * long as the pruning in force gives up a state that was kept before the former pruning.
 */
export function waitingPrunings(all: readonly LoggedPruning[], now: number): LoggedPruning[] {
  const inForce = all.at(-1);
  if (inForce === undefined) return [];
  const from = all.findLastIndex((one) => one.now === true) + 1;
  return all.filter((one, i) => {
    const isYoung = i >= from && one.cause === "asked" && !isGraceOver(one.ts, now);
    return isYoung && !keepsAllOf(inForce, all[i - 1] ?? NOTHING_PRUNED);
  });
}

export interface LoggedGivenUp {
  readonly pruning: LoggedPruning | undefined;
  readonly erasures: Erasures;
}

/**
 * Returns the last pruning and all erasures, for verification. A damaged record counts as giving nothing up. The check
 * of the lines reports the damage.
 */
export async function givenUpIn({ log, workspaceId }: Context): Promise<LoggedGivenUp> {
  const erasures = new Erasures();
  let last: LogEvent | undefined;
  let privates: GivenUpPrivates | undefined;
  for await (const event of givenUpEvents(log, workspaceId)) {
    if (isErasure(event)) despiteDamage(() => erasures.add(event.recordId, event.seq, event.record));
    else {
      last = event;
      // Prunings that earlier versions of Chronicle recorded lack the field `private`.
      if (event.record["private"] !== undefined) privates = despiteDamage(() => asPruning(event))?.privates ?? privates;
    }
  }
  const pruning = last === undefined ? undefined : asLast(last);
  return { pruning: pruning && { ...pruning, ...optional({ privates: pruning.privates ?? privates }) }, erasures };
}

function asLast(event: LogEvent): LoggedPruning | undefined {
  return despiteDamage(() => asPruning(event));
}

function despiteDamage<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LOG_DAMAGED") return undefined;
    throw error;
  }
}

/** Returns notes, for people, on the pruned states of a history, and on the private contents that were given up. */
export function prunedNotes({ floorSeq, kept, seq, privates }: LoggedPruning): string[] {
  const notes: string[] = [];
  if (floorSeq > 0) {
    const states = kept.length === 1 ? "1 earlier state is" : `${kept.length} earlier states are`;
    notes.push(
      `pruned 1..${floorSeq} by event ${seq}: contents that only those events need may be gone; ${states} kept whole`,
    );
  }
  if (privates !== undefined) {
    const works = privates.records === 1 ? "1 run or action" : `${privates.records} runs and actions`;
    const what = `private contents of ${works} (${formatBytes(privates.bytes)})`;
    notes.push(`${what} were given up by event ${seq} or earlier events: their bytes may be gone`);
  }
  return notes;
}

/** Returns a note, for people, on the erased contents of a history. */
export function erasedNote(erasures: Erasures): string {
  const events = erasures.all.map(({ seq }) => seq);
  const shown = events.slice(-3).join(", ");
  const by = events.length === 1 ? `event ${shown}` : `${events.length} events, the last ones ${shown}`;
  return `${erasures.size} ${erasures.size === 1 ? "content" : "contents"} erased by ${by}: their bytes may be gone, their hashes stay in the log`;
}
