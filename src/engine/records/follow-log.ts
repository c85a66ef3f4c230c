import { checkLine, parseLine } from "../../core/log/chain.ts";
import { CommitFollower } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Head, LogEvent } from "../../core/values/event.ts";
import { decodeRecordSentinel } from "../../core/records/record-sentinel.ts";
import { recordText, type RecordState } from "../../core/records/record-state.ts";
import type { EventLog, LogPosition, RawLine } from "../../storage/event-log.ts";
import { laterCommitEnd } from "../log/chain-fault.ts";

/** The state of a record store, and the byte offset in the log directly after the last event of the state. */
export interface Place {
  readonly state: RecordState;
  offset: number;
}

/** A bad line, or the first line of a commit without an end. */
export interface BadLine {
  /** The position of the bad line, or of the first line of the commit. */
  readonly position: LogPosition;
  /** The position of the first line after the last whole commit. */
  readonly from: LogPosition;
  /** True if all lines are sound, but the last commit has no end. */
  readonly isUnended?: true;
  readonly lineNumber: number;
  readonly detail: string;
}

/** An event that is known to have been recorded. */
export type Bound = Head;

export interface FollowOptions {
  /**
   * The last event that is known to have been recorded. A bad line at or before this event is damage (see `isDamage`),
   * and does not stop later sound lines from being applied.
   */
  readonly bound: Bound;
  /** Further events that are known to have been recorded, by the caller or by `head.json`. */
  readonly witnesses?: readonly Bound[];
}

export interface Followed {
  /** The first bad line, or the last commit if it has no end. */
  readonly bad: BadLine | undefined;
  /** The seq of the first event whose hash differs from the hash that the bound or a witness has for this seq. */
  readonly replaced: number | undefined;
}

/**
 * Brings a state up to the last whole commit of the log, and checks each line completely. At the first bad line, stops
 * if a crash tore that line. If the bad line is damage, also applies the earlier events of its commit and all later
 * sound events.
 */
export async function followLog(log: EventLog, place: Place, options: FollowOptions): Promise<Followed> {
  const { bound, witnesses = [] } = options;
  const follower = new RecordFollower(place, [bound, ...witnesses]);
  let bad: BadLine | undefined;
  for await (const lines of log.read({ seq: place.state.head.seq + 1, offset: place.offset })) {
    for (const line of lines) {
      if (bad !== undefined) {
        salvage(place.state, line);
        continue;
      }
      bad = follower.take(line);
      if (bad === undefined) continue;
      if (!(await isDamage(log, bad, bound))) return { bad, replaced: follower.replaced };
      follower.endCommit();
      salvage(place.state, line);
    }
  }
  bad ??= follower.unended();
  // If the last commit has no end, but was acknowledged, its events are applied.
  if (bad?.isUnended === true && (await isDamage(log, bad, bound))) follower.endCommit();
  return { bad, replaced: follower.replaced };
}

interface OpenLine {
  readonly event: LogEvent;
  readonly text: string;
  readonly line: Omit<RawLine, "bytes"> & { readonly end: number };
}

class RecordFollower {
  readonly #place: Place;
  /** Maps a seq to the known events with this seq. The event of the log must have their hash. */
  readonly #known: ReadonlyMap<number, readonly Bound[]>;
  readonly #commits: CommitFollower;
  #prev: Head;
  #open: OpenLine[] = [];
  replaced: number | undefined;

  constructor(place: Place, known: readonly Bound[]) {
    this.#place = place;
    this.#known = Map.groupBy(known, ({ seq }) => seq);
    this.#prev = place.state.head;
    this.#commits = new CommitFollower(this.#prev.seq);
  }

  /**
   * Takes the next line. Its event is applied when the commit of the event ends. Returns a `BadLine` if the line is
   * bad.
   */
  take(line: RawLine): BadLine | undefined {
    const checked = checkedEvent(line, this.#prev);
    if (typeof checked === "string") return this.#bad(line, checked);
    const mark = this.#commits.take(checked);
    if (typeof mark === "string") return this.#bad(line, mark);
    const { file, offset, lineNumber, bytes } = line;
    const place = { file, offset, lineNumber, end: offset + bytes.length + 1 };
    this.#open.push({ event: checked, text: recordText(bytes, checked), line: place });
    this.#prev = checked;
    if (mark !== undefined) this.endCommit();
    return undefined;
  }

  /** Applies the events of the open commit. */
  endCommit(): void {
    for (const { event, text, line } of this.#open) {
      this.#place.state.apply(event, text);
      this.#place.offset = line.end;
      if (this.#known.get(event.seq)?.some(({ hash }) => hash !== event.hash) === true) this.replaced ??= event.seq;
    }
    this.#open = [];
  }

  /** Returns the open commit as a `BadLine`; `undefined` if no commit is open. */
  unended(): BadLine | undefined {
    const [first] = this.#open;
    if (first === undefined) return undefined;
    const { offset, lineNumber } = first.line;
    const from = { seq: first.event.seq, offset };
    const detail = `the commit that begins at event ${from.seq} has no end`;
    return { position: from, from, lineNumber, detail, isUnended: true };
  }

  #bad({ offset, lineNumber }: RawLine, detail: string): BadLine {
    const position = { seq: this.#prev.seq + 1, offset };
    const [first] = this.#open;
    const from = first === undefined ? position : { seq: first.event.seq, offset: first.line.offset };
    return { position, from, lineNumber, detail };
  }
}

/**
 * True if a bad line is damage. False if the line belongs to a last commit that a crash tore before the commit was
 * acknowledged.
 */
export async function isDamage(log: EventLog, { position, from, isUnended }: BadLine, bound: Bound): Promise<boolean> {
  const { seq, offset } = position;
  // Events up to the bound are known to have been recorded. The lines of the archive, and the first line of the present
  // log, were durable before later lines were written.
  if (from.seq <= bound.seq || seq < log.firstSeq || (seq > 1 && offset === 0)) return true;
  return isUnended !== true && (await laterCommitEnd(log, position, from.seq)) !== undefined;
}

/** Returns the event of a line that continues the chain after `prev`, or a description of the line's fault. */
export function checkedEvent(line: RawLine, prev: Head): LogEvent | string {
  const checked = checkLine(line.bytes, prev);
  if ("fault" in checked) return checked.fault.detail;
  const { event } = checked;
  const isOurs = event.seq > 1 || event.recordId.startsWith("store:");
  if (!isOurs) return `the log begins with ${event.recordId}: it is no record store`;
  if (event.op !== "compact") return event;
  try {
    decodeRecordSentinel(event);
    return event;
  } catch (error) {
    if (error instanceof ChronicleError) return error.message;
    throw error;
  }
}

/**
 * Applies the event of a bad line, or of a line after a bad line. Does nothing if the line is not sound by itself, if
 * its event is a compaction, or if the state already has the event's seq.
 */
function salvage(state: RecordState, line: RawLine): void {
  const event = soundEvent(line);
  if (event === undefined || event.seq <= state.head.seq || event.op === "compact") return;
  state.apply(event, recordText(line.bytes, event));
}

/** Returns the event of a line that is sound by itself, whatever line precedes it; `undefined` for any other line. */
export function soundEvent(line: RawLine): LogEvent | undefined {
  try {
    return parseLine(line.bytes);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}
