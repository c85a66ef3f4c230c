import { ChronicleError } from "../../core/values/errors.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { Head, LogEvent, SealedEvent } from "../../core/values/event.ts";
import { openEvents, openNotification, openRename } from "../protocol/event-messages.ts";
import type { ArrivedEvent } from "./event-contents.ts";

type EventMessage = MessageOf<"Notification"> | MessageOf<"Rename"> | MessageOf<"Events">;

/**
 * The result of adding the events of a message:
 * - `taken`: the events are queued.
 * - `old`: the events had already arrived.
 * - `gap`: an earlier event is missing, or too many bytes wait to be stored.
 */
type Taken = "taken" | "old" | "gap";

/**
 * The maximum number of bytes that wait to be stored. A correct origin waits for an acknowledgement long before this
 * limit.
 */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * Events that have arrived, were checked, and wait to be stored. Each event follows the event before it in the chain.
 */
export class IncomingEvents {
  readonly #parts = new LineParts();
  #tail: Head;
  /** True while a line is incomplete. */
  #inParts = false;
  #waiting: ArrivedEvent<SealedEvent>[] = [];
  #waitingBytes = 0;

  /** `from` is the last stored event. */
  constructor(from: Head) {
    this.#tail = from;
  }

  /** The last event that has arrived, stored or not. */
  get tail(): Head {
    return this.#tail;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Queues the events of a message if they follow `tail`. Throws `INTEGRITY_VIOLATION` for events whose numbers follow
   * `tail` but whose lines do not. The `data.kind` of this error names the fault of the line.
   */
  add(message: EventMessage): Taken {
    const [first, last] = rangeOf(message);
    if (last <= this.#tail.seq) return "old";
    if (first !== this.#tail.seq + 1 || this.#waitingBytes > MAX_WAITING_BYTES) return this.#lost();
    switch (message.type) {
      case "Notification":
        return this.#notified(message);
      case "Rename":
        return this.#push(openRename(message, this.#tail), message.lines);
      case "Events":
        return this.#addEvents(message);
    }
  }

  /** Removes all waiting events and returns them, oldest first. */
  takeAll(): ArrivedEvent<SealedEvent>[] {
    const all = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return all;
  }

  #lost(): Taken {
    this.#parts.clear();
    this.#inParts = false;
    return "gap";
  }

  #notified(message: MessageOf<"Notification">): Taken {
    const event = openNotification(message, this.#tail);
    const { content_hash: hash, inline_content: bytes } = message;
    const inline = hash === null || bytes === undefined ? undefined : { hash, bytes };
    this.#wait({ event: { ...event, line: message.line }, inline });
    return "taken";
  }

  #addEvents(message: MessageOf<"Events">): Taken {
    const { part } = message;
    if (part !== undefined) {
      // Ignore a part if the beginning of its line is missing, because a catch-up sends the line again from the
      // beginning.
      if (part.offset === 0) this.#parts.clear();
      else if (!this.#inParts) return this.#lost();
    }
    const whole = this.#parts.add(message);
    this.#inParts = part !== undefined && whole === undefined;
    if (whole === undefined) return "taken";
    // The conversion loses no bytes, because `openEvents` refuses lines that are not UTF-8.
    const lines = Buffer.from(whole.lines).toString("utf8").split("\n");
    return this.#push(openEvents(whole, this.#tail), lines);
  }

  #push(events: readonly LogEvent[], lines: readonly string[]): Taken {
    events.forEach((event, at) => this.#wait({ event: { ...event, line: lines[at] ?? "" }, inline: undefined }));
    return "taken";
  }

  #wait(arrived: ArrivedEvent<SealedEvent>): void {
    const { seq, hash, line } = arrived.event;
    this.#tail = { seq, hash };
    this.#waiting.push(arrived);
    this.#waitingBytes += line.length + (arrived.inline?.bytes.length ?? 0);
  }
}

function rangeOf(message: EventMessage): readonly [first: number, last: number] {
  if (message.type === "Events") return [message.first_sequence, message.last_sequence];
  return [message.sequence, message.type === "Rename" ? message.sequence + 1 : message.sequence];
}

type Events = MessageOf<"Events">;

/**
 * Joins the parts of a line. The parts arrive in order, without other `Events` between them. Memory is used only for
 * the bytes that have arrived, even if a part states a large total.
 */
export class LineParts {
  #parts: Uint8Array[] = [];
  #length = 0;
  #sequence = 0;
  #total = 0;

  /**
   * Returns the message itself if it has whole lines (no `part`). If the message has the last part of a line, returns a
   * message with the whole line. Otherwise, returns `undefined`. Throws `INTEGRITY_VIOLATION` for a part that does not
   * continue the previous part, and for a line whose last part is missing.
   */
  add(message: Events): Events | undefined {
    const { part, lines, first_sequence } = message;
    if (part === undefined) {
      if (this.#length > 0) violated("a line was not sent to its end");
      return message;
    }
    if (part.offset !== this.#length) violated("a part of a line is missing, or came twice");
    if (this.#length > 0 && (first_sequence !== this.#sequence || part.total !== this.#total)) {
      violated("parts of two lines are mixed");
    }
    this.#sequence = first_sequence;
    this.#total = part.total;
    this.#parts.push(lines);
    this.#length += lines.length;
    return this.#length < part.total ? undefined : this.#whole();
  }

  clear(): void {
    this.#parts = [];
    this.#length = 0;
  }

  #whole(): Events {
    const lines = Buffer.concat(this.#parts);
    const sequence = this.#sequence;
    this.clear();
    return { type: "Events", first_sequence: sequence, last_sequence: sequence, lines };
  }
}

function violated(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}
