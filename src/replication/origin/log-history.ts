import { readEventFast } from "../../core/chain.ts";
import { ChronicleError } from "../../core/errors.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/event.ts";
import type { Hash } from "../../core/hash.ts";
import type { EventLog, LogPosition, RawLine } from "../../storage/event-log.ts";
import { Signal } from "../../util/signal.ts";

/** Every so many events their position is remembered. */
const MARK_EVERY = 256;

/** A workspace's log as replicas are given it: exact lines, durable, in order. One for all replicas of a workspace. */
export class LogHistory {
  readonly workspace: string;
  /** To be emitted when events may have been recorded. Whoever forgets it only makes replicas wait for the next heartbeat. */
  readonly changed = new Signal<void>();
  readonly #log: EventLog;
  /** Positions of events of the present log, by seq. */
  #marks: LogPosition[] = [];
  #firstSeq: number | undefined;

  /** `log`: an object of its own over the workspace's log, so that nobody else's look moves its head. */
  constructor(workspace: string, log: EventLog) {
    this.workspace = workspace;
    this.#log = log;
  }

  /**
   * The last event now. It is durable: a line that an origin could still lose, and a replica already has, would make two
   * histories of one.
   */
  async head(): Promise<Head> {
    const { seq, hash } = await this.#log.refresh();
    await this.#log.sync();
    if (this.#log.firstSeq !== this.#firstSeq) {
      this.#firstSeq = this.#log.firstSeq;
      this.#marks = [{ seq: this.#firstSeq, offset: 0 }];
    }
    return { seq, hash };
  }

  /** The oldest event that is not in an archive, as of the last `head`. */
  get firstSeq(): number {
    return this.#firstSeq ?? this.#log.firstSeq;
  }

  /** The hash of an event (`""`: of none), `undefined` where it is not in the present log or the one right before it. */
  async hashAt(seq: number): Promise<Hash | "" | undefined> {
    const head = await this.head();
    if (seq === head.seq) return head.hash;
    if (seq === 0) return EMPTY_HEAD.hash;
    if (seq < this.firstSeq - 1 || seq > head.seq) return undefined;
    const isBefore = seq === this.firstSeq - 1;
    for await (const event of this.#from(isBefore ? seq + 1 : seq)) return isBefore ? event.prevHash : event.hash;
    return undefined;
  }

  /**
   * The events after one, at least one and about `maxBytes` of them; none: it is the last. Throws `LOG_DAMAGED` where
   * the log does not go on from it.
   */
  async after(last: Head, maxBytes: number): Promise<SealedEvent[]> {
    const head = await this.head();
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

  async *#from(seq: number): AsyncGenerator<SealedEvent, void> {
    // A compaction meanwhile begins new ones: these are of the file that is read.
    const marks = this.#marks;
    const start = marks.findLast((mark) => mark.seq <= seq) ?? { seq: this.firstSeq, offset: 0 };
    let at = start.seq;
    for await (const lines of this.#log.read(start)) {
      for (const line of lines) {
        if (at >= (marks.at(-1)?.seq ?? 0) + MARK_EVERY) marks.push({ seq: at, offset: line.offset });
        if (at >= seq) yield sealed(line);
        at += 1;
      }
    }
  }
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
