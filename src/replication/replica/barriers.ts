import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";

interface Asked {
  /** The last event held here when the question was asked. */
  readonly sequence: number;
  readonly resolve: (current: number) => void;
  readonly reject: (error: ChronicleError) => void;
}

/** Asks an origin for its last event, on behalf of callers who wait until this replica has reached it. */
export class Barriers {
  readonly #channel: Channel;
  #asked: Asked[] = [];
  #isWelcome = false;
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /**
   * Resolves to the origin's last event when it answers. Rejects with `UNAVAILABLE` if the conversation ends before.
   */
  ask(sequence: number): Promise<number> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      this.#asked.push({ sequence, resolve, reject });
      if (this.#isWelcome) this.#send(sequence);
    });
  }

  /** Called once the origin answers: sends the questions asked before. */
  begin(): void {
    this.#isWelcome = true;
    this.beat();
  }

  /** Called with each heartbeat: sends the questions again, since a question or answer may have got lost. */
  beat(): void {
    for (const { sequence } of this.#asked) this.#send(sequence);
  }

  /** Takes an answer. */
  took({ sequence, current_sequence }: MessageOf<"BarrierConfirmation">): void {
    const answered = this.#asked.filter((one) => one.sequence === sequence);
    this.#asked = this.#asked.filter((one) => one.sequence !== sequence);
    for (const { resolve } of answered) resolve(current_sequence);
  }

  /** Called at the end of the conversation. */
  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before the origin had answered");
    for (const { reject } of this.#asked.splice(0)) reject(this.#end);
  }

  #send(sequence: number): void {
    // A channel that has ended ends the session, which calls `end`.
    this.#channel.send({ type: "BarrierRequest", sequence }).catch(() => undefined);
  }
}
