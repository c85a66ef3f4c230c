import type { ChronicleError } from "../../core/values/errors.ts";
import { asFatal } from "../as-fatal.ts";
import { pathFromFields } from "../protocol/fields.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { EventContents } from "./event-contents.ts";

/**
 * Stores contents that come ahead of their events, one at a time. They become durable sooner, while the origin is still
 * making them and their events durable. A content that is skipped comes with its event as well.
 */
export class ContentsAhead {
  readonly #contents: EventContents;
  readonly #onLie: (error: ChronicleError) => void;
  #storing: Promise<void> | undefined;

  /** `onLie`: called for a content that does not match its hash. Must not throw. */
  constructor(contents: EventContents, onLie: (error: ChronicleError) => void) {
    this.#contents = contents;
    this.#onLie = onLie;
  }

  /** Stores the content in the background, unless another one is being stored. */
  take(message: MessageOf<"ContentAhead">): void {
    const { content_hash: hash, content: bytes } = message;
    this.#storing ??= this.#contents
      .takeAhead(pathFromFields(message), { hash, bytes })
      .catch((error: unknown) => {
        const failure = asFatal(error);
        // Ignores disk errors: they occur again, and are reported, when the event comes.
        if (failure.code === "INTEGRITY_VIOLATION") this.#onLie(failure);
      })
      .finally(() => (this.#storing = undefined));
  }

  /** Resolves when nothing is being stored. */
  async rest(): Promise<void> {
    await this.#storing;
  }
}
