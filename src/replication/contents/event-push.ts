import { ChronicleError } from "../../core/values/errors.ts";
import type { Head, SealedEvent } from "../../core/values/event.ts";
import { changesOf } from "../../core/values/file-record.ts";
import { type Hash, isHash } from "../../core/values/hash.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import { type Channel, asFatal } from "../channel.ts";
import { eventsOf, notificationOf } from "../protocol/event-messages.ts";
import { TurnSlices } from "../../util/yield-to-event-loop.ts";
import { INLINE_BELOW_BYTES } from "../protocol/limits.ts";
import type { Message } from "../protocol/messages.ts";
import type { LogHistory } from "./log-history.ts";

/** The size, in bytes, of the part of the log (a page) that is read at once for one replica. */
const PAGE_BYTES = 256 * 1024;
const WINDOW_BYTES = 4 * 1024 * 1024;
/** The number of events whose small contents are read together. Such a read takes about a millisecond. */
const READ_TOGETHER = 64;
const NONE: ReadonlyMap<SealedEvent, Uint8Array> = new Map();

/**
 * Limits all pushes of this process together to 16 events per turn of the event loop. Sending 16 events takes some
 * milliseconds.
 */
const SLICES = new TurnSlices(16);

export interface NamedContents {
  /** Opens many contents, and yields them in any order. A missing content is yielded as `undefined`, or not at all. */
  openNamed(hashes: readonly Hash[]): AsyncIterable<readonly [Hash, BlobReader | undefined]>;
  /**
   * Returns true if the replica is allowed to have the content of this event. The implementation must not ask the
   * index, because the index may not have the event yet. Default: true for all events.
   */
  isGiven?(event: Pick<SealedEvent, "record">): boolean;
}

export interface EventPushOptions {
  readonly history: LogHistory;
  readonly contents: NamedContents;
  /**
   * The maximum number of sent bytes that wait for an acknowledgement. At the limit, no further event is sent. Default:
   * 4 MiB.
   */
  readonly windowBytes?: number;
  /** Called when a page was sent and more pages will follow. Must not throw. */
  readonly onMore?: () => void;
}

/**
 * Sends a replica the events after the replica's last event, in order. A call of `note` makes the push read the log
 * again. Several calls before that read count as one call. Besides the channel's credit, a window limits the bytes that
 * were sent and are not acknowledged. Without the window, a replica with a slow disk would get events that it must
 * drop.
 */
export class EventPush {
  readonly #channel: Channel;
  readonly #options: EventPushOptions;
  /** The last event that was sent; `undefined` before `begin`, and from `stop` until the next `begin`. */
  #sent: Head | undefined;
  /**
   * The seq of the latest event that was sent, or passed to `offered` or `begin`. No later event can be acknowledged.
   */
  #most = 0;
  #acknowledged = 0;
  #iteration = 0;
  /**
   * The parcels (see `#parcels`) that were sent and are not acknowledged, each with its last event and its size in
   * bytes.
   */
  #inFlight: { readonly seq: number; readonly bytes: number }[] = [];
  #inFlightBytes = 0;
  /** A counter that `begin` and `stop` increment. A change of the counter aborts the page that is being sent. */
  #epoch = 0;
  #isNoted = false;
  #isRunning = false;

  constructor(channel: Channel, options: EventPushOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  get sent(): number {
    return this.#most;
  }

  /**
   * The number of the iteration that the last sent file event records; 0 if no file event was sent. Considers only the
   * last event of each parcel (see `#parcels`).
   */
  get iteration(): number {
    return this.#iteration;
  }

  /** True after `begin`, if the replica has acknowledged everything, and nothing is being sent or waits to be sent. */
  get isIdle(): boolean {
    return this.#sent !== undefined && !this.#isRunning && !this.#isNoted && this.#inFlight.length === 0;
  }

  /** Begins to send the events after `from`. The replica must have everything up to `from`, and no later event. */
  begin(from: Head): void {
    this.#epoch += 1;
    this.#sent = from;
    this.#most = Math.max(this.#most, from.seq);
    this.#inFlight = [];
    this.#inFlightBytes = 0;
    this.note();
  }

  stop(): void {
    this.#epoch += 1;
    this.#sent = undefined;
  }

  /** Must be called when a reconciliation sends the replica everything up to this event. */
  offered(sequence: number): void {
    this.#most = Math.max(this.#most, sequence);
  }

  /** Must be called when there can be new events or room to send them. */
  note(): void {
    this.#isNoted = true;
    if (!this.#isRunning && this.#sent !== undefined) void this.#run();
  }

  /**
   * Takes an acknowledgement: the replica holds every event up to `sequence`. Returns false if this event was already
   * acknowledged. With `sequence` 0, a replica acknowledges an empty history; the result is then true until the first
   * event is sent or offered. Throws `INTEGRITY_VIOLATION` for an event that the replica cannot have.
   */
  acknowledge(sequence: number): boolean {
    if (sequence > this.#most) {
      throw new ChronicleError("INTEGRITY_VIOLATION", `event ${sequence} was acknowledged and never sent`);
    }
    const settled = this.#inFlight.findLastIndex(({ seq }) => seq <= sequence) + 1;
    for (const { bytes } of this.#inFlight.splice(0, settled)) this.#inFlightBytes -= bytes;
    if (settled > 0) this.note();
    const isNew = sequence > this.#acknowledged || (sequence === 0 && this.#most === 0);
    this.#acknowledged = Math.max(this.#acknowledged, sequence);
    return isNew;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isNoted && this.#sent !== undefined) {
        this.#isNoted = false;
        await this.#sendPage(this.#sent);
      }
    } catch (error) {
      this.#sent = undefined;
      this.#channel.close(asFatal(error));
    } finally {
      this.#isRunning = false;
    }
  }

  get #hasRoom(): boolean {
    return this.#inFlight.length === 0 || this.#inFlightBytes < (this.#options.windowBytes ?? WINDOW_BYTES);
  }

  async #sendPage(from: Head): Promise<void> {
    if (!this.#hasRoom) return;
    const epoch = this.#epoch;
    const events = await this.#options.history.after(from, PAGE_BYTES);
    for await (const { last, bytes, messages } of this.#parcels(events)) {
      // After a new `begin` or `stop`, this page is outdated. If the window is full, the next acknowledgement continues
      // the push.
      if (epoch !== this.#epoch || !this.#hasRoom) return;
      this.#sent = { seq: last.seq, hash: last.hash };
      this.#most = Math.max(this.#most, last.seq);
      this.#inFlight.push({ seq: last.seq, bytes });
      this.#inFlightBytes += bytes;
      for (const message of messages) {
        await this.#channel.send(message);
        if (epoch !== this.#epoch) return;
      }
      this.#iteration = changesOf(last).at(-1)?.file.iteration ?? this.#iteration;
    }
    const last = events.at(-1);
    if (last === undefined || this.#options.history.isLastKnown(last.seq)) return;
    this.#isNoted = true;
    this.#options.onMore?.();
  }

  /**
   * Splits the events into parcels. An event that can be sent as a notification is a parcel of its own. A small content
   * belongs to the parcel of its event. Consecutive events that cannot be sent as notifications form one parcel.
   */
  async *#parcels(events: readonly SealedEvent[]): AsyncGenerator<Parcel, void> {
    let others: SealedEvent[] = [];
    let inline = NONE;
    for (const [at, event] of events.entries()) {
      await SLICES.step();
      if (at % READ_TOGETHER === 0) inline = await this.#inlineOf(events.slice(at, at + READ_TOGETHER));
      const message = notificationOf(event, inline.get(event));
      if (message === undefined) {
        others.push(event);
        continue;
      }
      if (others.length > 0) yield parcelOf(others);
      others = [];
      yield {
        last: event,
        bytes: event.line.length + (message.inline_content?.length ?? 0),
        messages: [message],
      };
    }
    if (others.length > 0) yield parcelOf(others);
  }

  async #inlineOf(events: readonly SealedEvent[]): Promise<ReadonlyMap<SealedEvent, Uint8Array>> {
    const { contents: from } = this.#options;
    const named = events.flatMap((event) => (from.isGiven?.(event) === false ? [] : (smallContentOf(event) ?? [])));
    const contents = new Map<Hash, Uint8Array>();
    if (named.length === 0) return NONE;
    for await (const [hash, reader] of from.openNamed(named.map((one) => one.hash))) {
      if (reader === undefined || reader.size >= INLINE_BELOW_BYTES) continue;
      const bytes = await bytesOf(reader);
      if (bytes !== undefined) contents.set(hash, bytes);
    }
    const inline = new Map<SealedEvent, Uint8Array>();
    for (const { event, hash, size } of named) {
      const bytes = contents.get(hash);
      // Leave out a content that is missing or damaged, or whose size differs from the size in the event. The replica
      // then requests the content.
      if (bytes?.length === size) inline.set(event, bytes);
    }
    return inline;
  }
}

function smallContentOf(event: SealedEvent): { event: SealedEvent; hash: Hash; size: number } | undefined {
  const { hash, size } = event.record;
  if (typeof hash !== "string" || !isHash(hash) || typeof size !== "number" || size >= INLINE_BELOW_BYTES)
    return undefined;
  return { event, hash, size };
}

/** Returns the bytes of a content; `undefined` if it is damaged. */
async function bytesOf(reader: BlobReader): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of reader.pieces()) pieces.push(piece);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "BLOB_CORRUPT") return undefined;
    throw error;
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}

interface Parcel {
  readonly last: SealedEvent;
  readonly bytes: number;
  readonly messages: Iterable<Message>;
}

function parcelOf(events: readonly SealedEvent[]): Parcel {
  const last = events.at(-1);
  if (last === undefined) throw new ChronicleError("INTEGRITY_VIOLATION", "a parcel holds at least one event");
  const bytes = events.reduce((sum, { line }) => sum + line.length, 0);
  return { last, bytes, messages: eventsOf(events) };
}
