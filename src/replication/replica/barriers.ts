import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";

interface Asked {
  /** The last event that was held here when it was asked. */
  readonly sequence: number;
  readonly resolve: (current: number) => void;
  readonly reject: (error: ChronicleError) => void;
}

/** Asks an origin how far it is, for those who wait until this replica is as far. */
export class Barriers {
  readonly #channel: Channel;
  #asked: Asked[] = [];
  #isWelcome = false;
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** The origin's last event when it answers. Rejects with `UNAVAILABLE` where the conversation ends before. */
  ask(sequence: number): Promise<number> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      this.#asked.push({ sequence, resolve, reject });
      if (this.#isWelcome) this.#send(sequence);
    });
  }

  /** The origin answers from now on: what was asked before is asked now. */
  begin(): void {
    this.#isWelcome = true;
    this.beat();
  }

  /** Time has passed: one of the two, question or answer, may have got lost. */
  beat(): void {
    for (const { sequence } of this.#asked) this.#send(sequence);
  }

  /** An answer has come. */
  took({ sequence, current_sequence }: MessageOf<"BarrierConfirmation">): void {
    const answered = this.#asked.filter((one) => one.sequence === sequence);
    this.#asked = this.#asked.filter((one) => one.sequence !== sequence);
    for (const { resolve } of answered) resolve(current_sequence);
  }

  /** Nothing comes any more. */
  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before the origin had answered");
    for (const { reject } of this.#asked.splice(0)) reject(this.#end);
  }

  #send(sequence: number): void {
    // A channel that has ended ends the session, which ends this.
    this.#channel.send({ type: "BarrierRequest", sequence }).catch(() => undefined);
  }
}
