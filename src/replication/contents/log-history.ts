import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";
import { readEventFast } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { EventLog, LogPosition, RawLine } from "../../storage/event-log.ts";
import type { HeldLock } from "../../storage/lock.ts";
import { Signal } from "../../util/signal.ts";
import type { Timers } from "../../util/timers.ts";
import { oldestSeq } from "../../engine/log/history-start.ts";

/** The minimum distance, in events, between two positions that are kept in memory (`#marks`). */
const MARK_EVERY = 256;

/**
 * The delay, in ms, before a read of lines that another process may have written. The other process is usually still
 * writing, and an immediate read would lock it out.
 */
const LOOK_LATER_MS = 20;

/**
 * The delay, in ms, before replicas are told of an event that only marks the end of an operation. Such an event changes
 * no file, and would otherwise arrive while the replicas still work on the operation's changes. If an event of another
 * kind is recorded meanwhile, the delay ends.
 */
const ENDS_LATER_MS = 50;

interface OtherWriters {
  /** Takes the writers' lock, which keeps all writers out. Throws `LOCKED` if a writer holds the lock for too long. */
  readonly holdOff: () => Promise<HeldLock>;
  readonly timers: Timers;
}

interface LogHistoryOptions {
  /**
   * Set if other processes write to the log. A line of another process can be incomplete, and the next writer would
   * then cut it off. Such a line is therefore reported only after it was read under the writers' lock. Default: no
   * other process writes.
   */
  readonly others?: OtherWriters;
  /**
   * Returns the position of an event's line. The position may be wrong, because `LogHistory` checks it. Default:
   * `LogHistory` reads the log to find the position.
   */
  readonly locate?: (seq: number) => Promise<LogPosition | undefined>;
}

/**
 * Gives the replicas of a workspace the durable events of the workspace's log, in order and with their exact lines. All
 * replicas of a workspace share one `LogHistory`.
 */
export class LogHistory {
  readonly workspace: string;
  /**
   * The signal that events may have been recorded. Without this signal, replicas would notice new events only at the
   * next heartbeat.
   */
  readonly changed = new Signal<void>();
  readonly #log: EventLog;
  readonly #options: LogHistoryOptions;
  /**
   * Positions of events, by seq. An offset counts from the start of the file (the log or a sealed log) that has the
   * event's line.
   */
  #marks: LogPosition[] = [];
  #firstSeq: number | undefined;
  /** The seq of the log's first line at the time when `#firstSeq` was determined. */
  #logFirst: number | undefined;
  #permanent: Head | undefined;
  readonly #own = new RecentEvents();
  #looking: Promise<Head> | undefined;
  #isToLook = false;

  /** `log` must be a separate object over the workspace's log, so that no other reader moves its head. */
  constructor(workspace: string, log: EventLog, options: LogHistoryOptions = {}) {
    this.workspace = workspace;
    this.#log = log;
    this.#options = options;
  }

  /** Takes durable events that this process has recorded. May be called more than once for an event. */
  recorded(events: readonly SealedEvent[]): void {
    const { seq } = this.#own.head;
    this.#own.add(events);
    const { others } = this.#options;
    const isUrgent = events.some((event) => event.seq > seq && !isEnd(event));
    if (isUrgent || others === undefined) this.changed.emit();
    else if (this.#own.head.seq > seq) others.timers.after(ENDS_LATER_MS, () => this.changed.emit());
  }

  /**
   * Returns the last event that is durable and cannot be cut off any more. Replicas get no later event, because their
   * histories would diverge from the origin's history if the origin lost the line of such an event.
   */
  async head(): Promise<Head> {
    const { seq, hash } = await this.#log.refresh();
    if (this.#permanent?.hash === hash && this.#permanent.seq === seq) return this.#permanent;
    if (this.#own.head.hash === hash && seq > 0) return this.#note({ seq, hash });
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /**
   * Like `head`, but does not wait for other writers if a head is already known. The latest events of other processes
   * may be missing. `changed` reports them a little later.
   */
  async #headSoFar(): Promise<Head> {
    const { others } = this.#options;
    if (others === undefined || this.#permanent === undefined) return this.head();
    const end = await this.#log.refresh();
    const sure = await this.#note(this.#known ?? this.#permanent);
    if (end.seq > sure.seq) this.grown();
    return sure;
  }

  async #lookLater(): Promise<void> {
    this.#isToLook = false;
    const before = this.#permanent?.seq ?? 0;
    // Ignore a failure, because the next caller of `head` gets the failure, too.
    const { seq } = await this.head().catch(() => ({ seq: before }));
    if (seq > before) this.changed.emit();
  }

  /**
   * Must be called when any process may have recorded events. The log is read after `LOOK_LATER_MS`. If this process
   * has recorded the events, `recorded` is usually called before the read, which then needs no lock.
   */
  grown(): void {
    const { others } = this.#options;
    if (others === undefined || this.#isToLook) return;
    this.#isToLook = true;
    others.timers.after(LOOK_LATER_MS, () => void this.#lookLater());
  }

  /** True if no event after `seq` is known yet. `changed` reports later events of other processes. */
  isLastKnown(seq: number): boolean {
    return seq >= (this.#known?.seq ?? 0);
  }

  /**
   * The last event that is known to be permanent. Either the last read has found this event, or this process has
   * recorded it since then.
   */
  get #known(): Head | undefined {
    const own = this.#own.head;
    return own.seq > (this.#permanent?.seq ?? 0) ? own : this.#permanent;
  }

  /** The seq of the oldest event whose line exists in the log or its archive, as of the last call of `head`. */
  get firstSeq(): number {
    return this.#firstSeq ?? this.#log.firstSeq;
  }

  /**
   * Returns the hash of an event; `""` for event 0. Returns `undefined` if the event does not exist yet. Also returns
   * `undefined` if neither the event's line nor the next line, which repeats the hash, exists any more.
   */
  async hashAt(seq: number): Promise<Hash | "" | undefined> {
    const head = await this.head();
    if (seq === head.seq) return head.hash;
    if (seq === 0) return EMPTY_HEAD.hash;
    // Determine the oldest event again, because the archive may have been dropped in the meantime.
    if (seq < this.#log.firstSeq) await this.#findFirst();
    if (seq < this.firstSeq - 1 || seq > head.seq) return undefined;
    const isBefore = seq === this.firstSeq - 1;
    for await (const event of this.#from(isBefore ? seq + 1 : seq)) return isBefore ? event.prevHash : event.hash;
    return undefined;
  }

  /**
   * Returns the events after `last`: at least one event, and at most about `maxBytes` bytes of lines. Returns `[]` if
   * `last` is the last event. Throws `LOG_DAMAGED` if the log does not continue from `last`.
   */
  async after(last: Head, maxBytes: number): Promise<readonly SealedEvent[]> {
    const own = this.#own.after(last, maxBytes);
    if (own.length > 0) return own;
    const head = await this.#headSoFar();
    const events: SealedEvent[] = [];
    if (last.seq >= head.seq) return events;
    let bytes = 0;
    let before = last;
    for await (const event of this.#from(last.seq + 1)) {
      if (event.seq !== before.seq + 1 || event.prevHash !== before.hash) throw brokenAt(before.seq + 1);
      if (events.length > 0 && bytes + event.line.length > maxBytes) break;
      events.push(event);
      before = event;
      bytes += event.line.length;
      // Later lines were written after the head was read, and may not be durable.
      if (event.seq === head.seq) break;
    }
    if (events.length === 0) throw brokenAt(last.seq + 1);
    return events;
  }

  /**
   * Reads the end of the log under the writers' lock. If another writer keeps the lock, returns the known head, which
   * is never before an event that a replica was given. Otherwise, a replica with later events would conclude that the
   * origin has another history.
   */
  async #look(): Promise<Head> {
    try {
      using _held = await this.#options.others?.holdOff();
      const { seq, hash } = await this.#log.refresh();
      if (hash !== this.#own.head.hash) await this.#log.sync();
      return await this.#note({ seq, hash });
    } catch (error) {
      const isBusy = error instanceof ChronicleError && error.code === "LOCKED";
      const known = this.#known;
      if (!isBusy || known === undefined) throw error;
      return this.#note(known);
    }
  }

  /**
   * Sets the permanent head and returns it. The head never moves back, even if the result of an earlier read arrives
   * after the result of a later read.
   */
  async #note(head: Head): Promise<Head> {
    if (this.#log.firstSeq !== this.#logFirst) await this.#findFirst();
    if (this.#permanent === undefined || head.seq > this.#permanent.seq) this.#permanent = head;
    return this.#permanent;
  }

  async #findFirst(): Promise<void> {
    const logFirst = this.#log.firstSeq;
    const first = await oldestSeq(this.#log);
    if (first !== this.#firstSeq) {
      this.#marks = [{ seq: first, offset: 0 }, ...this.#marks.filter((mark) => mark.seq > first)];
    }
    this.#firstSeq = first;
    this.#logFirst = logFirst;
  }

  /**
   * Yields the events from `seq` on. Yields nothing if the line of event `seq` is gone. `isAgain` is true in the second
   * attempt, which follows if a kept position was wrong.
   */
  async *#from(seq: number, isAgain = false): AsyncGenerator<SealedEvent, void> {
    const start = await this.#startFor(seq);
    let at = start.seq;
    for await (const line of this.#linesFrom(start)) {
      const isMark = at >= (this.#marks.at(-1)?.seq ?? 0) + MARK_EVERY;
      // Always check the first line, because it shows whether the position is still right.
      if (at >= seq || isMark || at === start.seq) {
        const event = sealed(line);
        // If the position is wrong, another process has dropped the archive after the position was kept. Find the
        // positions anew, and read again.
        if (event.seq !== at) return yield* this.#anew(Math.max(at, seq), isAgain);
        if (isMark) this.#marks.push({ seq: at, offset: line.offset });
        if (at >= seq) yield event;
      }
      at += 1;
    }
  }

  async *#anew(seq: number, isAgain: boolean): AsyncGenerator<SealedEvent, void> {
    await this.#beginAnew();
    if (!isAgain && seq >= this.firstSeq) yield* this.#from(seq, true);
  }

  async *#linesFrom(start: LogPosition): AsyncGenerator<RawLine, void> {
    for await (const lines of this.#log.read(start)) yield* lines;
  }

  async #beginAnew(): Promise<void> {
    this.#marks = [];
    this.#firstSeq = undefined;
    await this.#findFirst();
  }

  /** Returns the position of the line of event `seq` if it is known, else the position of an earlier line. */
  async #startFor(seq: number): Promise<LogPosition> {
    const mark = this.#marks.findLast((one) => one.seq <= seq) ?? { seq: this.firstSeq, offset: 0 };
    if (seq - mark.seq <= MARK_EVERY) return mark;
    const located = await this.#options.locate?.(seq);
    return located !== undefined && (await this.#begins(located)) ? located : mark;
  }

  async #begins(position: LogPosition): Promise<boolean> {
    for await (const [line] of this.#log.read(position)) {
      if (line === undefined) continue;
      try {
        return readEventFast(line.bytes).seq === position.seq;
      } catch {
        return false;
      }
    }
    return false;
  }
}

/** True if the event only marks the end of an operation. */
function isEnd({ recordId, record }: SealedEvent): boolean {
  return recordId.startsWith("intent:") && record["state"] !== "open";
}

function sealed({ bytes }: RawLine): SealedEvent {
  return { ...readEventFast(bytes), line: bytes.toString("utf8") };
}

function brokenAt(seq: number): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log does not continue at event ${seq}`, {
    hint: "run `chronicle verify`",
    data: { seq },
  });
}

/** The maximum number of characters of lines that are kept in memory. */
const MOST_CHARACTERS = 256 * 1024;

/**
 * The last events that this process has recorded. Readers that follow the log closely get these events from memory, not
 * from the disk.
 */
export class RecentEvents {
  #events: SealedEvent[] = [];
  #characters = 0;
  #head: Head = EMPTY_HEAD;

  get head(): Head {
    return this.#head;
  }

  /** Takes durable events, in order. If an event does not directly follow the kept events, drops these first. */
  add(events: readonly SealedEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.#head.seq) continue;
      if (event.prevHash !== this.#head.hash) this.#forget();
      this.#head = { seq: event.seq, hash: event.hash };
      this.#events.push(event);
      this.#characters += event.line.length;
    }
    if (this.#characters > MOST_CHARACTERS) this.#forget(this.#lastOnes());
  }

  /**
   * Returns the events after `last`: at least one event, and at most about `maxCharacters` characters of lines. Returns
   * `[]` if the next event is not in memory.
   */
  after(last: Head, maxCharacters: number): readonly SealedEvent[] {
    const [first] = this.#events;
    if (first === undefined || last.seq < first.seq - 1) return [];
    const from = last.seq - first.seq + 1;
    if (this.#events[from]?.prevHash !== last.hash) return [];
    let characters = 0;
    const end = this.#events.findIndex((event, at) => {
      if (at >= from) characters += event.line.length;
      return at > from && characters > maxCharacters;
    });
    return this.#events.slice(from, end < 0 ? undefined : end);
  }

  /**
   * Returns the newest events whose lines together have at most half of `MOST_CHARACTERS`. If more events stayed, every
   * further event would soon exceed the limit again, and the array would be copied each time.
   */
  #lastOnes(): SealedEvent[] {
    let characters = 0;
    const from = this.#events.findLastIndex(({ line }) => (characters += line.length) > MOST_CHARACTERS / 2);
    return this.#events.slice(from + 1);
  }

  #forget(kept: SealedEvent[] = []): void {
    this.#events = kept;
    this.#characters = kept.reduce((sum, { line }) => sum + line.length, 0);
  }
}
