import type { ChronicleError } from "../../core/values/errors.ts";
import { asFatal } from "../as-fatal.ts";
import { pathFromFields } from "../protocol/fields.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { EventContents } from "./event-contents.ts";

/**
 * Stores contents that come ahead of their events, one at a time: they are durable sooner then, while the origin still makes
 * them and their events so. What is left out comes with its event as well.
 */
export class ContentsAhead {
  readonly #contents: EventContents;
  readonly #onLie: (error: ChronicleError) => void;
  #storing: Promise<void> | undefined;

  /** `onLie`: is told of a content that is not what its hash names. Must not throw. */
  constructor(contents: EventContents, onLie: (error: ChronicleError) => void) {
    this.#contents = contents;
    this.#onLie = onLie;
  }

  /** Stores it in the background, unless there is one already that is being stored. */
  take(message: MessageOf<"ContentAhead">): void {
    const { content_hash: hash, content: bytes } = message;
    this.#storing ??= this.#contents
      .takeAhead(pathFromFields(message), { hash, bytes })
      .catch((error: unknown) => {
        const failure = asFatal(error);
        // What the disk does not take now is tried again, and told of, when the event comes.
        if (failure.code === "INTEGRITY_VIOLATION") this.#onLie(failure);
      })
      .finally(() => (this.#storing = undefined));
  }

  /** Resolves when nothing is being stored. */
  async rest(): Promise<void> {
    await this.#storing;
  }
}
