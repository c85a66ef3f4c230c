import type { RecordVerifyShape } from "../../api/record-api.ts";
import { CommitFollower } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { decodeRecordBase, encodeRecordBase } from "../../core/records/record-checkpoint.ts";
import { decodeRecordSentinel } from "../../core/records/record-sentinel.ts";
import { recordText, RecordState } from "../../core/records/record-state.ts";
import type { EventLog, RawLine } from "../../storage/event-log.ts";
import { checkedEvent, soundEvent } from "./follow-log.ts";
import type { Loaded } from "./load-state.ts";
import type { RecordFiles } from "./record-files.ts";

/**
 * Recomputes the whole chain of a record store's log and archive, and every base that a sentinel names. A sentinel is a
 * compaction event, with which a log file begins. Compares the result with `loaded`, the state that the store uses for
 * its answers.
 */
export async function verifyRecords(log: EventLog, files: RecordFiles, loaded: Loaded): Promise<RecordVerifyShape> {
  const verifier = new RecordVerifier(log, files, loaded);
  for await (const lines of log.read({ seq: 1, offset: 0 })) for (const line of lines) await verifier.line(line);
  return verifier.finish();
}

class RecordVerifier {
  readonly #log: EventLog;
  readonly #files: RecordFiles;
  readonly #loaded: Loaded;
  readonly #problems: RecordVerifyShape["problems"] = [];
  readonly #notes: string[] = [];
  #state = new RecordState();
  #events = 0;
  /**
   * The log file that is being read. `first` is the seq of its first event. `before` is the seq of the first event of
   * the previous file.
   */
  #file = { name: "", first: 0, before: 0 };
  /**
   * True after a bad line. Each later line is still checked by itself, but not the state that results from the line.
   */
  #broken = false;
  #commits: CommitFollower | undefined;

  constructor(log: EventLog, files: RecordFiles, loaded: Loaded) {
    this.#log = log;
    this.#files = files;
    this.#loaded = loaded;
  }

  async line(line: RawLine): Promise<void> {
    const { torn } = this.#loaded;
    // Torn lines were never acknowledged, so they are no problem. A note of `loaded` mentions them.
    if (torn !== undefined && this.#isLive(line) && line.offset >= torn.from.offset) return;
    if (this.#isAtEnd) return;
    if (this.#events === 0) this.#begin(line);
    this.#events += 1;
    if (line.file !== this.#file.name) {
      this.#file = { name: line.file, first: this.#state.head.seq + 1, before: this.#file.first };
    }
    const event = checkedEvent(line, this.#state.head);
    if (typeof event === "string") {
      this.#bad(line, event);
      return;
    }
    this.#commits ??= new CommitFollower(this.#state.head.seq);
    const mark = this.#broken ? undefined : this.#commits.take(event);
    if (typeof mark === "string") {
      this.#bad(line, mark);
      return;
    }
    if (event.op === "compact") await this.#checkSentinel(event);
    const { bound } = this.#loaded;
    if (event.seq === bound.seq && event.hash !== bound.hash) {
      this.#report("log-replaced", `event ${event.seq}`, "this event is not the one that was recorded");
    }
    this.#state.apply(event, recordText(line.bytes, event));
  }

  finish(): RecordVerifyShape {
    const { state, damage, headFault, notes } = this.#loaded;
    if (headFault !== undefined) this.#report("head-damaged", "head.json", headFault);
    const { seq, hash } = this.#state.head;
    if (damage !== undefined && this.#problems.every(({ kind }) => kind === "head-damaged")) {
      this.#report(damage.code === "ROLLBACK_DETECTED" ? "log-truncated" : "log-damaged", "events.wal", damage.message);
    }
    if (damage === undefined && !this.#broken && !sameState(state, this.#state)) {
      this.#report("checkpoint-wrong", "snapshot.json", "the state in this file is not the state that the log gives");
    }
    const problems = this.#problems;
    return {
      ok: problems.length === 0,
      events: this.#events,
      head: { seq, hash },
      problems,
      notes: [...this.#notes, ...notes],
    };
  }

  /**
   * True if all events of the loaded state were read. Events that other processes append later are not verified. In a
   * damaged store, all lines are read.
   */
  get #isAtEnd(): boolean {
    const { state, damage } = this.#loaded;
    return damage === undefined && !this.#broken && this.#state.head.seq >= state.head.seq;
  }

  #isLive(line: RawLine): boolean {
    return line.file === "events.wal";
  }

  #report(kind: string, where: string, detail: string): void {
    this.#problems.push({ kind, where, detail });
  }

  /**
   * Reports a bad line. Verification continues with the lines that are sound by themselves, so that later damage is
   * found, too.
   */
  #bad(line: RawLine, detail: string): void {
    const seq = this.#state.head.seq + 1;
    this.#broken = true;
    this.#report("line-damaged", `${line.file}:${line.lineNumber}`, `event ${seq} (byte ${line.offset}): ${detail}`);
    const event = soundEvent(line);
    if (event !== undefined && event.seq >= seq) this.#state.apply(event, recordText(line.bytes, event));
  }

  /** Starts the state on a base if the first line of the oldest log file is a sentinel. */
  #begin(line: RawLine): void {
    const event = soundEvent(line);
    if (event?.op !== "compact") return;
    try {
      const { base, size } = decodeRecordSentinel(event);
      const state = this.#base(base, `event ${event.seq}`);
      if (state === undefined) return;
      this.#state = state;
      this.#notes.push(
        `events 1..${size} were compacted away, and are not in the archive: the history begins at its base`,
      );
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      this.#report("sentinel-wrong", `event ${event.seq}`, error.message);
    }
  }

  /** Returns the state in the file of a base. Reports a missing or wrong file, and then returns `undefined`. */
  #base(hash: Parameters<typeof decodeRecordBase>[1], where: string): RecordState | undefined {
    const bytes = this.#files.readBase(hash);
    if (bytes === undefined) {
      this.#report("base-missing", where, `bases/${hash}.json is not there`);
      return undefined;
    }
    try {
      return decodeRecordBase(bytes, hash).state;
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      this.#report("base-wrong", where, error.message);
      return undefined;
    }
  }

  /** Checks a sentinel. If the sentinel starts the present log, also checks the file of its base. */
  async #checkSentinel(event: LogEvent): Promise<void> {
    const { base, range, frontier, store } = decodeRecordSentinel(event);
    const where = `event ${event.seq} (${event.recordId})`;
    const isStart = this.#events === 1;
    if (this.#file.first !== event.seq || (!isStart && range[0] !== this.#file.before)) {
      this.#report("sentinel-wrong", where, `it does not follow a log of events ${range.join("..")}`);
    }
    if (this.#broken) return;
    if (store !== this.#state.storeId)
      this.#report("sentinel-wrong", where, `this event belongs to another store, ${store}`);
    if (this.#state.frontier.join() !== frontier.join()) {
      this.#report("sentinel-wrong", where, "its frontier is not that of the log tree");
    }
    if (!isStart && encodeRecordBase(this.#state, store).hash !== base) {
      this.#report("base-wrong", where, `it names ${base}, which is not the base of the events before it`);
    }
    // The store keeps only the file of the present log's base. If another process has compacted the log during the
    // verification, the file is gone and is not checked.
    if (!isStart && event.seq === this.#log.firstSeq && !(await this.#isSealed(event.seq))) this.#base(base, where);
  }

  async #isSealed(seq: number): Promise<boolean> {
    return (await this.#log.archived()).some(({ first, last }) => first <= seq && seq <= last);
  }
}

function sameState(a: RecordState, b: RecordState): boolean {
  if (a.head.seq !== b.head.seq || a.head.hash !== b.head.hash || a.size !== b.size) return false;
  for (const row of a.records()) {
    const other = b.get(row.recordId);
    if (other?.text !== row.text || other.seq !== row.seq || other.op !== row.op) return false;
    if (other.ts !== row.ts || other.recursionDepth !== row.recursionDepth) return false;
  }
  return true;
}
