import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";

interface Waiting {
  /** The last event that this replica held when it sent the request. The answer names this event. */
  readonly sequence: number;
  /**
   * False while another request with this sequence is unanswered. The answer to that request may not include events
   * that the origin recorded before this call.
   */
  isAsked: boolean;
  readonly resolve: (current: number) => void;
  readonly reject: (error: ChronicleError) => void;
}

/** Asks an origin for its last event. The callers then wait until this replica holds that event. */
export class Barriers {
  readonly #channel: Channel;
  #waiting: Waiting[] = [];
  #isWelcome = false;
  /** The sequences of requests that were sent again and have no answer yet. Two answers can arrive for each of them. */
  readonly #repeated = new Set<number>();
  /**
   * The sequences of answered requests for which a second answer can arrive. The second answer to an old request does
   * not answer a later call of `ask`, because it may miss events that the origin recorded before that call.
   */
  readonly #stray = new Set<number>();
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /**
   * Resolves to the origin's last event. `sequence` is the last event that this replica holds. Rejects with
   * `UNAVAILABLE` if the connection ends first.
   */
  ask(sequence: number): Promise<number> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      const isAsked = !this.#waiting.some((one) => one.sequence === sequence);
      this.#waiting.push({ sequence, isAsked, resolve, reject });
      if (isAsked && this.#isWelcome) this.#send(sequence);
    });
  }

  /** Called once the origin has admitted this replica. Sends the requests that were made before. */
  begin(): void {
    this.#isWelcome = true;
    this.#sendAsked();
  }

  /**
   * Called with each heartbeat. Repeats unanswered requests, because the origin sends no answer if it fails to process
   * a request.
   */
  beat(): void {
    for (const { sequence, isAsked } of this.#waiting) if (isAsked) this.#repeated.add(sequence);
    this.#sendAsked();
  }

  took({ sequence, current_sequence }: MessageOf<"BarrierConfirmation">): void {
    if (this.#stray.delete(sequence)) {
      if (this.#waiting.some((one) => one.sequence === sequence)) this.#send(sequence);
      return;
    }
    if (this.#repeated.delete(sequence)) this.#stray.add(sequence);
    const answered = this.#waiting.filter((one) => one.sequence === sequence && one.isAsked);
    this.#waiting = this.#waiting.filter((one) => !answered.includes(one));
    for (const { resolve } of answered) resolve(current_sequence);
    const next = this.#waiting.filter((one) => one.sequence === sequence);
    for (const one of next) one.isAsked = true;
    if (next.length > 0) this.#send(sequence);
  }

  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before the origin had answered");
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end);
  }

  #sendAsked(): void {
    for (const { sequence, isAsked } of this.#waiting) if (isAsked) this.#send(sequence);
  }

  #send(sequence: number): void {
    // Ignore the error: a channel that has ended ends the session, which calls `end`.
    this.#channel.send({ type: "BarrierRequest", sequence }).catch(() => undefined);
  }
}
