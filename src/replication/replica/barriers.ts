import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";

interface Caller {
  readonly resolve: (current: number) => void;
  readonly reject: (error: ChronicleError) => void;
}

/** The requests that name one event. This event is the last one that this replica held when the callers came. */
interface Requests {
  /** The number of sent requests whose answers have not arrived. */
  due: number;
  /** The number of answers to older requests that are still due. The answer for `asked` arrives after these answers. */
  before: number;
  /** The callers that wait for the answer to the open request. Empty if no request is open. */
  asked: readonly Caller[];
  /**
   * The callers that came while a request was open. They get a request of their own, because the answer to the open
   * request may be older than their calls.
   */
  next: Caller[];
}

/** Asks an origin for its last event. The callers then wait until this replica holds that event. */
export class Barriers {
  readonly #channel: Channel;
  /** The requests by their event. The origin answers in the order of the requests. */
  readonly #requests = new Map<number, Requests>();
  #isWelcome = false;
  #end: ChronicleError | undefined;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /**
   * Resolves to the origin's last event. `sequence` is the last event that this replica holds. Rejects with
   * `UNAVAILABLE` if the connection ends before the answer arrives.
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

  /** Called once the origin has admitted this replica. Sends the requests that were made before that. */
  begin(): void {
    this.#isWelcome = true;
    this.#sendOpen();
  }

  /** Called with each heartbeat. Repeats open requests, because the origin does not answer a request that fails there. */
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
