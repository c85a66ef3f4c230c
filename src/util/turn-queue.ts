/** Ends a turn. Idempotent. */
export type Leave = () => void;

interface Waiter {
  readonly exclusive: boolean;
  readonly admit: (leave: Leave) => void;
}

/**
 * A first-come, first-served lock for one resource. The lock has one exclusive holder or any number of shared holders.
 * A shared turn does not overtake a waiting exclusive turn, so nobody starves.
 */
export class TurnQueue {
  readonly #waiting: Waiter[] = [];
  #holders = 0;
  #exclusive = false;

  /** Waits for a turn. Resolves to `undefined` if no turn was free within `waitMs` milliseconds. */
  enter(exclusive: boolean, waitMs: number): Promise<Leave | undefined> {
    if (this.#waiting.length === 0 && this.#isFree(exclusive)) return Promise.resolve(this.#take(exclusive));
    if (waitMs <= 0) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        exclusive,
        admit: (leave) => {
          clearTimeout(timer);
          resolve(leave);
        },
      };
      const timer = setTimeout(
        () => {
          this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
          resolve(undefined);
          this.#admit();
        },
        Math.min(waitMs, 2 ** 31 - 1),
      );
      this.#waiting.push(waiter);
    });
  }

  #isFree(exclusive: boolean): boolean {
    return this.#holders === 0 || (!exclusive && !this.#exclusive);
  }

  #take(exclusive: boolean): Leave {
    this.#holders += 1;
    this.#exclusive = exclusive;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#holders -= 1;
      this.#admit();
    };
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#isFree(next.exclusive); next = this.#waiting[0]) {
      this.#waiting.shift();
      next.admit(this.#take(next.exclusive));
    }
  }
}
