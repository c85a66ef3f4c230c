import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";

interface Caller {
  readonly resolve: (current: number) => void;
  readonly reject: (error: ChronicleError) => void;
}

/**
 * The barrier requests that name the same event: the last event that the replica held when its callers called `ask`.
 */
interface Requests {
  /** The number of sent requests whose answers have not arrived. */
  due: number;
  /** The number of answers to older requests that are still to arrive before the answer for `asked`. */
  before: number;
  /** The callers that wait for the answer to the open request. Empty if no request is open. */
  asked: readonly Caller[];
  /**
   * The callers that called `ask` while a request was open. The answer to the open request may be older than their
   * calls, so they wait for another request.
   */
  next: Caller[];
}

/**
 * Asks the origin for its last event. Callers use this to wait until this replica holds that event.
 */
export class Barriers {
  readonly #channel: Channel;
  /** Maps the seq of an event to the requests that name the event. The origin answers in the order of the requests. */
  readonly #requests = new Map<number, Requests>();
  #isWelcome = false;
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /**
   * Resolves to the seq of the origin's last event. `sequence` is the seq of the last event that this replica holds.
   * Rejects with `UNAVAILABLE` if the connection ends before the answer arrives.
   */
  ask(sequence: number): Promise<number> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const requests = this.#requests.get(sequence) ?? { due: 0, before: 0, asked: [], next: [] };
    this.#requests.set(sequence, requests);
    return new Promise((resolve, reject) => {
      requests.next.push({ resolve, reject });
      if (requests.asked.length === 0) this.#askNext(sequence, requests);
    });
  }

  /** Must be called once the origin has admitted this replica. Sends the requests of earlier calls of `ask`. */
  begin(): void {
    this.#isWelcome = true;
    this.#sendOpen();
  }

  /**
   * Must be called with each heartbeat. Repeats open requests, because the origin does not answer a request that has
   * failed there.
   */
  beat(): void {
    if (this.#isWelcome) this.#sendOpen();
  }

  took({ sequence, current_sequence }: MessageOf<"BarrierConfirmation">): void {
    const requests = this.#requests.get(sequence);
    if (requests === undefined) return;
    requests.due = Math.max(0, requests.due - 1);
    if (requests.before > 0) {
      requests.before -= 1;
      return;
    }
    for (const { resolve } of requests.asked) resolve(current_sequence);
    requests.asked = [];
    if (requests.next.length > 0) this.#askNext(sequence, requests);
    else if (requests.due === 0) this.#requests.delete(sequence);
  }

  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before the origin had answered");
    for (const { asked, next } of this.#requests.values())
      for (const { reject } of [...asked, ...next]) reject(this.#end);
    this.#requests.clear();
  }

  #askNext(sequence: number, requests: Requests): void {
    requests.before = requests.due;
    requests.asked = requests.next;
    requests.next = [];
    if (this.#isWelcome) this.#send(sequence, requests);
  }

  #sendOpen(): void {
    for (const [sequence, requests] of this.#requests) if (requests.asked.length > 0) this.#send(sequence, requests);
  }

  #send(sequence: number, requests: Requests): void {
    requests.due += 1;
    // Ignore the error. When the channel ends, the session ends, too, and calls `end`.
    this.#channel.send({ type: "BarrierRequest", sequence }).catch(() => undefined);
  }
}
