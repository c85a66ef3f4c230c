import { readEventFast } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { EventLog, LogPosition, RawLine } from "../../storage/event-log.ts";
import type { HeldLock } from "../../storage/lock.ts";
import { Signal } from "../../util/signal.ts";
import type { Timers } from "../../util/timers.ts";
import { RecentEvents } from "./recent-events.ts";
import { oldestSeq } from "../../engine/log/history-start.ts";

/** Every so many events their position is remembered. */
const MARK_EVERY = 256;

/**
 * Lines that are not known to be this process's are looked at so much later, in ms: mostly it is still at the write that they
 * are part of, and a look would be in its way.
 */
const LOOK_LATER_MS = 20;

/**
 * That an operation is over changes no file: replicas hear of it with the next event, or so much later, in ms. It would come while
 * they are at what the operation has changed.
 */
const ENDS_LATER_MS = 50;

/** Those who write to a log beside this process. */
export interface OtherWriters {
  /** Holds off everybody who writes. Throws `LOCKED`. */
  readonly holdOff: () => Promise<HeldLock>;
  readonly timers: Timers;
}

/** What a history has beside its log. */
export interface LogHistoryOptions {
  /**
   * Lines that this process did not record are only told of after a look with nobody at it: what another one has begun to
   * write may be cut back. Default: nobody else writes.
   */
  readonly others?: OtherWriters;
  /** Where an event's line begins; it may be wrong. Default: found by reading. */
  readonly locate?: (seq: number) => Promise<LogPosition | undefined>;
}

/** A workspace's log as replicas are given it: exact lines, durable, in order. One for all replicas of a workspace. */
export class LogHistory {
  readonly workspace: string;
  /** To be emitted when events may have been recorded. Whoever forgets it only makes replicas wait for the next heartbeat. */
  readonly changed = new Signal<void>();
  readonly #log: EventLog;
  readonly #options: LogHistoryOptions;
  /** Positions of events, by seq, each in the file that holds it. */
  #marks: LogPosition[] = [];
  #firstSeq: number | undefined;
  /** The first line of the present log, when `#firstSeq` was found. */
  #logFirst: number | undefined;
  /** The last event that is known to stay. */
  #sure: Head | undefined;
  /** The last ones that this process has recorded. */
  readonly #own = new RecentEvents();
  #looking: Promise<Head> | undefined;
  #isToLook = false;

  /** `log`: an object of its own over the workspace's log, so that nobody else's look moves its head. */
  constructor(workspace: string, log: EventLog, options: LogHistoryOptions = {}) {
    this.workspace = workspace;
    this.#log = log;
    this.#options = options;
  }

  /** This process has recorded events: they are durable. It may say so of some of them more than once. */
  recorded(events: readonly SealedEvent[]): void {
    const { seq } = this.#own.head;
    this.#own.add(events);
    const { others } = this.#options;
    const isUrgent = events.some((event) => event.seq > seq && !isEnd(event));
    if (isUrgent || others === undefined) this.changed.emit();
    else if (this.#own.head.seq > seq) others.timers.after(ENDS_LATER_MS, () => this.changed.emit());
  }

  /**
   * The last event now. It is durable, and nobody cuts it off any more: a line that an origin could still lose, and a
   * replica already has, would make two histories of one.
   */
  async head(): Promise<Head> {
    const { seq, hash } = await this.#log.refresh();
    if (this.#sure?.hash === hash && this.#sure.seq === seq) return this.#sure;
    if (this.#own.head.hash === hash && seq > 0) return this.#note({ seq, hash });
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  /** As `head`, at once: what others have recorded may be left out, and is told of by `changed` a moment later. */
  async #headSoFar(): Promise<Head> {
    const { others } = this.#options;
    if (others === undefined || this.#sure === undefined) return this.head();
    const end = await this.#log.refresh();
    const sure = await this.#note(this.#known ?? this.#sure);
    if (end.seq > sure.seq) this.grown();
    return sure;
  }

  async #lookLater(): Promise<void> {
    this.#isToLook = false;
    const before = this.#sure?.seq ?? 0;
    // Where it fails it is told to whoever asks next.
    const { seq } = await this.head().catch(() => ({ seq: before }));
    if (seq > before) this.changed.emit();
  }

  /** The log may have grown, by whomever: what this process records it says itself, mostly a moment later. */
  grown(): void {
    const { others } = this.#options;
    if (others === undefined || this.#isToLook) return;
    this.#isToLook = true;
    others.timers.after(LOOK_LATER_MS, () => void this.#lookLater());
  }

  /** Is nothing known that follows this event? What others may have recorded is told of by `changed`. */
  isLastKnown(seq: number): boolean {
    return seq >= (this.#known?.seq ?? 0);
  }

  /** The last event that is known to stay: as of the last look, or because this process has recorded it since. */
  get #known(): Head | undefined {
    const own = this.#own.head;
    return own.seq > (this.#sure?.seq ?? 0) ? own : this.#sure;
  }

  /** The oldest event whose line is there, in an archive or not, as of the last `head`. */
  get firstSeq(): number {
    return this.#firstSeq ?? this.#log.firstSeq;
  }

  /** The hash of an event (`""`: of none), `undefined` where neither its line is there nor the one right behind it. */
  async hashAt(seq: number): Promise<Hash | "" | undefined> {
    const head = await this.head();
    if (seq === head.seq) return head.hash;
    if (seq === 0) return EMPTY_HEAD.hash;
    // Where the archive was dropped, this is where somebody notices.
    if (seq < this.#log.firstSeq) await this.#findFirst();
    if (seq < this.firstSeq - 1 || seq > head.seq) return undefined;
    const isBefore = seq === this.firstSeq - 1;
    for await (const event of this.#from(isBefore ? seq + 1 : seq)) return isBefore ? event.prevHash : event.hash;
    return undefined;
  }

  /**
   * The events after one, at least one and about `maxBytes` of them; none: it is the last. Throws `LOG_DAMAGED` where
   * the log does not go on from it.
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
      // What lies behind the head was not there when it was made durable.
      if (event.seq === head.seq) break;
    }
    if (events.length === 0) throw brokenAt(last.seq + 1);
    return events;
  }

  /**
   * Looks at the end while nobody writes. Where somebody does so for long, what is known holds: all that replicas were ever given,
   * or one that comes back with it would take this for another history.
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

  /** It stays; whoever has looked earlier, and comes later, takes nothing of that back. */
  async #note(head: Head): Promise<Head> {
    if (this.#log.firstSeq !== this.#logFirst) await this.#findFirst();
    if (this.#sure === undefined || head.seq > this.#sure.seq) this.#sure = head;
    return this.#sure;
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

  /** The events from one on; none where its line is gone. */
  async *#from(seq: number, isAgain = false): AsyncGenerator<SealedEvent, void> {
    const start = await this.#startFor(seq);
    let at = start.seq;
    for await (const line of this.#linesFrom(start)) {
      const isMark = at >= (this.#marks.at(-1)?.seq ?? 0) + MARK_EVERY;
      // The first line tells whether the position still holds, however short the log is.
      if (at >= seq || isMark || at === start.seq) {
        const event = sealed(line);
        // Others have dropped the archive since the position was noted: what is read then is the log behind it.
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

  /** Forgets all positions. */
  async #beginAnew(): Promise<void> {
    this.#marks = [];
    this.#firstSeq = undefined;
    await this.#findFirst();
  }

  /** From where to read so that a line comes: from itself, where its place is known, else from one before it. */
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
        // No line begins there.
        return false;
      }
    }
    return false;
  }
}

/** Does it only say that an operation is over? */
function isEnd({ recordId, record }: SealedEvent): boolean {
  return recordId.startsWith("intent:") && record["state"] !== "open";
}

function sealed({ bytes }: RawLine): SealedEvent {
  return { ...readEventFast(bytes), line: bytes.toString("utf8") };
}

function brokenAt(seq: number): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log does not go on at event ${seq}`, {
    hint: "run `chronicle verify`",
    data: { seq },
  });
}
