import { ChronicleError } from "../core/values/errors.ts";

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: ChronicleError) => void;
}

/** Lets callers wait until a replica has reached an event. */
export class Waiters {
  #waiting: Waiter[] = [];
  #reached = 0;
  #end: ChronicleError | undefined;

  /** Resolves once the event `sequence` is reached. Rejects with `UNAVAILABLE` if the connection ends before that. */
  wait(sequence: number): Promise<void> {
    if (sequence <= this.#reached) return Promise.resolve();
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => this.#waiting.push({ sequence, resolve, reject }));
  }

  reach(sequence: number): void {
    this.#reached = Math.max(this.#reached, sequence);
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((one) => one.sequence > this.#reached);
    for (const one of waiting) if (one.sequence <= this.#reached) one.resolve();
  }

  /** Called when the connection has ended, so that no further event will be reached. */
  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before the replica reached the awaited event", {
      hint: "wait again once the replica is connected",
    });
    for (const one of this.#waiting.splice(0)) one.reject(this.#end);
  }
}
