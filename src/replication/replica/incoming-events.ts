import type { Head, LogEvent, SealedEvent } from "../../core/values/event.ts";
import { openEvents, openNotification, openRename } from "../protocol/event-messages.ts";
import { LineParts } from "../protocol/line-parts.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { ArrivedEvent } from "./event-contents.ts";

type EventMessage = MessageOf<"Notification"> | MessageOf<"Rename"> | MessageOf<"Events">;

/**
 * The result of taking a message. `old`: the events are already here. `gap`: an earlier event is missing, or there is
 * no room.
 */
type Taken = "taken" | "old" | "gap";

/** Bytes of lines and contents that may wait to be stored. Origins stay far below it (their window). */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Arrived and checked events that wait to be stored; each follows the one before it. */
export class IncomingEvents {
  readonly #parts = new LineParts();
  #tail: Head;
  #inParts = false;
  #waiting: ArrivedEvent<SealedEvent>[] = [];
  #waitingBytes = 0;

  /** `from`: the last stored event. */
  constructor(from: Head) {
    this.#tail = from;
  }

  /** The last event that has arrived. */
  get tail(): Head {
    return this.#tail;
  }

  /** True if there is something to store. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Takes the events that follow `tail`. Throws `INTEGRITY_VIOLATION` for events that claim to follow it and do not;
   * `data.kind` is the line's fault.
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

  /** Returns and removes all waiting events, oldest first. */
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
      // It begins again after a catch-up, or its beginning was lost.
      if (part.offset === 0) this.#parts.clear();
      else if (!this.#inParts) return this.#lost();
    }
    const whole = this.#parts.add(message);
    this.#inParts = part !== undefined && whole === undefined;
    if (whole === undefined) return "taken";
    // The checked lines are UTF-8 without newlines, so splitting restores their bytes.
    const lines = Buffer.from(whole.lines).toString("utf8").split("\n");
    return this.#push(openEvents(whole, this.#tail), lines);
  }

  /** Queues checked events with their lines. */
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
