import { ChronicleError } from "../../core/values/errors.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import { asFatal, type Channel } from "../channel.ts";
import { INLINE_BELOW_BYTES, MAX_ENTRIES } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { writeBacksOf } from "../protocol/write-back-batches.ts";
import { answerFromWire, entryToWire } from "../protocol/write-back-entries.ts";
import type { Timers } from "../../util/timers.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { WriteJournal } from "./write-journal.ts";

type WriteBack = MessageOf<"WriteBack">;

export interface WriteBackPushOptions {
  readonly sandboxId: string;
  readonly journal: WriteJournal;
  readonly timers: Timers;
}

/**
 * The wait before an unanswered batch is sent again: `beats` heartbeats, and one more for each `pieceBytes` bytes of
 * inline contents, because the connection may be slow.
 */
const PATIENCE = { beats: 2, pieceBytes: 256 * 1024 };
/**
 * The maximum number of times that a batch is sent again. If no answer arrives after the last time, the session ends.
 */
const MOST_TRIES = 50;

/** The pause, in ms, between an answer `unavailable` of the origin and the next attempt to send the batch. */
const RETRY_MS = 1_000;

interface InFlight {
  readonly message: WriteBack;
  /** The `local_seq` of each entry without an answer. */
  readonly open: Set<number>;
  readonly contents: ReadonlySet<Hash>;
  readonly resolve: (answer: WriteBackAnswer | undefined) => void;
  /** The number of heartbeats without an answer after which the batch is sent again. */
  readonly patience: number;
  /** The number of heartbeats since the batch was last sent, or since the origin showed that the batch has arrived. */
  beats: number;
  /**
   * The number of times that the batch was sent again. A request of the origin for a content of the batch resets the
   * number to 0.
   */
  tries: number;
}

/**
 * Sends the entries of the replica's journal to the origin while the session also receives messages. The journal has
 * the replica's own changes, in order. One batch is sent at a time. A batch is sent again until it is answered, and its
 * answer is recorded in the journal before the next batch is sent. The origin says in its `HelloAck` up to which entry
 * it has decided. Entries up to this one are not sent again, even if the journal has no record of the decisions.
 */
export class WriteBackPush {
  /** True if the capability `times` was agreed on. */
  sendsExactTimes = false;
  readonly #channel: Channel;
  readonly #options: WriteBackPushOptions;
  /** Undefined before `begin`. */
  #settled: number | undefined;
  /**
   * The seq of the origin's last event when this session began. Decisions from before the session are recorded in this
   * event or in earlier ones.
   */
  #head = 0;
  #flight: InFlight | undefined;
  #isNoted = true;
  #isRunning = false;
  #isEnded = false;
  /** Set during the pause after an answer `unavailable`. */
  #pause: Disposable | undefined;

  constructor(channel: Channel, options: WriteBackPushOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  /** The `local_seq` of the last entry that was answered or sent; 0 if there is none. */
  get localSeq(): number {
    return this.#flight?.message.entries.at(-1)?.local_seq ?? this.#settled ?? 0;
  }

  /** The number of entries that were sent and have no answer. */
  get pending(): number {
    return this.#flight?.open.size ?? 0;
  }

  /** Called at `HelloAck`. The origin has decided all entries up to `settled`, and its last event is `head`. */
  begin(settled: number, head: number): void {
    this.#settled = settled;
    this.#head = head;
    this.#options.journal.remembered(settled, head);
    this.note();
  }

  /** Called when the journal has new entries. Sends them at once, or after the batch or the pause that is under way. */
  note(): void {
    this.#isNoted = true;
    if (!this.#isRunning && !this.#isEnded && this.#settled !== undefined && this.#pause === undefined)
      void this.#run();
  }

  /**
   * Takes an answer of the origin. The batch under way is done once all of its entries are answered. An answer to the
   * last batch of an earlier session is passed to the journal, if the journal does not have the answer yet. Any other
   * answer is a repetition, and is ignored.
   */
  took(message: MessageOf<"WriteBackResult">): void {
    const flight = this.#flight;
    const answer = answerFromWire(message);
    const all = [...answer.accepted, ...answer.rejected];
    if (flight !== undefined && all.some(({ localSeq }) => flight.open.has(localSeq)))
      return this.#answered(flight, answer);
    const last = Math.max(0, greatestOf(all.map(({ localSeq }) => localSeq)));
    const { journal } = this.#options;
    if (last > journal.settledTo && last === this.#settled)
      journal.settled(last, answer).catch((error: unknown) => this.#fail(error));
  }

  /** Called with each heartbeat. Repeats an overdue batch. */
  beat(): void {
    const flight = this.#flight;
    // While bytes are pending, the batch may not have been sent yet.
    if (flight === undefined || this.#channel.pendingBytes > 0) return;
    flight.beats += 1;
    if (flight.beats < flight.patience) return;
    flight.beats = 0;
    flight.tries += 1;
    if (flight.tries > MOST_TRIES)
      this.#fail(new ChronicleError("UNAVAILABLE", "the origin does not answer a write-back"));
    else void this.#send(flight.message);
  }

  /**
   * Opens a content that the origin requests. Returns `undefined` for a content that the batch under way does not name,
   * because the origin is not allowed to request such a content.
   */
  async open(hash: Hash): Promise<BlobReader | undefined> {
    const flight = this.#flight;
    if (flight?.contents.has(hash) !== true) return undefined;
    // The request shows that the batch has arrived and is being processed.
    flight.beats = flight.tries = 0;
    return this.#options.journal.open(hash);
  }

  end(): void {
    this.#isEnded = true;
    this.#pause?.[Symbol.dispose]();
    this.#flight?.resolve(undefined);
  }

  #answered(flight: InFlight, answer: WriteBackAnswer): void {
    for (const { localSeq } of [...answer.accepted, ...answer.rejected]) flight.open.delete(localSeq);
    flight.beats = 0;
    if (flight.open.size === 0) flight.resolve(answer);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isNoted && !this.#isEnded && this.#pause === undefined) {
        this.#isNoted = false;
        await this.#sendPage(this.#settled ?? 0);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #sendPage(after: number): Promise<void> {
    const { journal, sandboxId } = this.#options;
    const { entries, upTo } = await journal.next(after, MAX_ENTRIES);
    if (upTo < after) throw forgotten(upTo, after);
    const refused = entries.filter((entry) => !isSendable(entry));
    const wired: WriteBack["entries"] = [];
    const form = { isExact: this.sendsExactTimes };
    for (const entry of entries)
      if (isSendable(entry)) wired.push(entryToWire(entry, await this.#inlineOf(entry), form));
    let rejected = refused.map(({ localSeq }) => ({ localSeq, reason: "path" as const, unheard: true as const }));
    for (const message of writeBacksOf(sandboxId, wired)) {
      const answer = await this.#deliver(message);
      if (answer === undefined) return;
      const last = message.entries.at(-1)?.local_seq ?? after;
      const before = rejected.filter(({ localSeq }) => localSeq < last);
      rejected = rejected.filter(({ localSeq }) => localSeq > last);
      await this.#settle(last, { accepted: answer.accepted, rejected: [...before, ...answer.rejected] });
    }
    if (upTo > after) await this.#settle(upTo, { accepted: [], rejected });
    if (entries.length > 0) this.#isNoted = true;
  }

  async #settle(upTo: number, answer: WriteBackAnswer): Promise<void> {
    this.#settled = upTo;
    await this.#options.journal.settled(upTo, answer, this.#head);
  }

  /**
   * Sends a batch, and returns the answer to it. Returns `undefined` if the session ends before the answer arrives, or
   * if the origin cannot accept anything at present (`unavailable`). After `unavailable`, the entries are sent again
   * after a pause.
   */
  async #deliver(message: WriteBack): Promise<WriteBackAnswer | undefined> {
    const { promise, resolve } = Promise.withResolvers<WriteBackAnswer | undefined>();
    const open = new Set(message.entries.map(({ local_seq }) => local_seq));
    const contents = new Set(message.entries.flatMap(({ content_hash }) => content_hash ?? []).filter(isHash));
    this.#flight = { message, open, contents, resolve, patience: patienceFor(message), beats: 0, tries: 0 };
    if (this.#isEnded) resolve(undefined);
    else await this.#send(message);
    const answer = await promise;
    this.#flight = undefined;
    if (answer?.rejected.some(({ reason }) => reason === "unavailable") !== true) return answer;
    this.#pause = this.#options.timers.after(RETRY_MS, () => {
      this.#pause = undefined;
      this.note();
    });
    return undefined;
  }

  async #send(message: WriteBack): Promise<void> {
    // Ignore the error. When the channel ends, the session ends, too, and calls `end`.
    await this.#channel.send(message).catch(() => undefined);
  }

  async #inlineOf({ entry }: WriteBackEntry): Promise<Uint8Array | undefined> {
    if (entry?.hash === undefined || entry.size >= INLINE_BELOW_BYTES) return undefined;
    const reader = await this.#options.journal.open(entry.hash);
    if (reader?.size !== entry.size) return undefined;
    const pieces: Uint8Array[] = [];
    for await (const piece of reader.pieces()) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  #fail(error: unknown): void {
    if (!this.#isEnded) this.#channel.close(asFatal(error));
  }
}

function patienceFor({ entries }: WriteBack): number {
  const bytes = entries.reduce((sum, { inline_content }) => sum + (inline_content?.length ?? 0), 0);
  return PATIENCE.beats + Math.floor(bytes / PATIENCE.pieceBytes);
}

function isSendable(entry: WriteBackEntry): boolean {
  try {
    entryToWire(entry, undefined, { isExact: false });
    return true;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PATH_INVALID") return false;
    throw error;
  }
}

function forgotten(upTo: number, settled: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `this replica's history ends at event ${upTo}, but the origin already has this replica's changes up to event ${settled}`,
    { hint: "this replica was put back to an earlier state: set it up anew", data: { upTo, settled } },
  );
}
