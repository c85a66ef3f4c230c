import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";

/** A caller that waits for the answer to a barrier request. */
interface Waiting {
  /** The last event that this replica held at the request; it identifies the answer. */
  readonly sequence: number;
  /** False while another request with this sequence is unanswered: its answer may miss what came before this call. */
  isAsked: boolean;
  readonly resolve: (current: number) => void;
  readonly reject: (error: ChronicleError) => void;
}

/** Asks an origin for its last event, for callers that wait until this replica holds that event. */
export class Barriers {
  readonly #channel: Channel;
  #waiting: Waiting[] = [];
  #isWelcome = false;
  /** The sequences of requests that were sent again and have no answer yet: two answers may come. */
  readonly #repeated = new Set<number>();
  /** The sequences of answered requests that may get a second answer, which may miss what came before a later call. */
  readonly #stray = new Set<number>();
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /**
   * Resolves to the origin's last event once the origin answers. Rejects with `UNAVAILABLE` if the conversation ends
   * before. `sequence`: the last event held here.
   */
  ask(sequence: number): Promise<number> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      const isAsked = !this.#waiting.some((one) => one.sequence === sequence);
      this.#waiting.push({ sequence, isAsked, resolve, reject });
      if (isAsked && this.#isWelcome) this.#send(sequence);
    });
  }

  /** Called once the origin has welcomed this replica. Sends the requests made before. */
  begin(): void {
    this.#isWelcome = true;
    this.#sendAsked();
  }

  /**
   * Called with each heartbeat. Sends unanswered requests again: the origin does not answer a request that fails there.
   */
  beat(): void {
    for (const { sequence, isAsked } of this.#waiting) if (isAsked) this.#repeated.add(sequence);
    this.#sendAsked();
  }

  /** Takes an answer. */
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

  /** Called at the end of the conversation. */
  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before the origin had answered");
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end);
  }

  #sendAsked(): void {
    for (const { sequence, isAsked } of this.#waiting) if (isAsked) this.#send(sequence);
  }

  #send(sequence: number): void {
    // A channel that has ended ends the session, which calls `end`.
    this.#channel.send({ type: "BarrierRequest", sequence }).catch(() => undefined);
  }
}
