import { ChronicleError } from "../../core/values/errors.ts";
import type { MessageOf } from "./messages.ts";

type Events = MessageOf<"Events">;

/**
 * Joins a line that comes in parts. Holds what has come, never what was announced. Parts come in order, one line after
 * the other, with no other `Events` between them.
 */
export class LineParts {
  #parts: Uint8Array[] = [];
  #length = 0;
  #sequence = 0;
  #total = 0;

  /**
   * Returns the events that are complete with this message: the message itself if it has no part, one line with its
   * last part, `undefined` until then. Throws `INTEGRITY_VIOLATION` for a part that does not continue the one before,
   * or for a missing part.
   */
  add(message: Events): Events | undefined {
    const { part, lines, first_sequence } = message;
    if (part === undefined) {
      if (this.#length > 0) violated("a line was left off in the middle");
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

  /** Drops the partial line, for a new connection. */
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
