import { ChronicleError } from "../../core/values/errors.ts";
import { type Leave, TurnQueue } from "../../util/turn-queue.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { Caller } from "./caller.ts";
import { ConcurrencyLimit } from "../limits/concurrency-limit.ts";

/** The time after which a waiting read is given up, in milliseconds. No client waits that long. */
const PATIENCE_MS = 24 * 3_600_000;

/**
 * The queue for one kind of slow reads. For example, `verify` reads the whole history, and a patch is a large answer.
 * At most one read runs for each workspace, because a second one would read the same data. At most two reads of this
 * kind run at a time, because other requests need the same disk and thread.
 */
export class HeavyReads {
  readonly #slots: ConcurrencyLimit;
  readonly #most: number;
  readonly #what: string;
  readonly #queues = new Map<string, Queue>();
  readonly #lanes: readonly [Queue, Queue] = [newQueue(), newQueue()];

  /**
   * One caller may have at most `most` reads running or waiting. The owner has no limit. `what` names such reads in
   * error messages, in the plural.
   */
  constructor(most: number, what: string) {
    this.#most = most;
    this.#what = what;
    this.#slots = new ConcurrencyLimit(most);
  }

  /**
   * Resolves when a read may begin. The caller must dispose of the result when the read has ended. Throws
   * `RATE_LIMITED` if too many reads of this caller are running or waiting, and `UNAVAILABLE` after a wait of
   * `PATIENCE_MS`.
   */
  async turn(workspace: string, { id, isOwner }: Caller): Promise<Disposable> {
    const slot = isOwner ? undefined : this.#slots.take(id);
    if (slot === undefined && !isOwner) {
      throw new ChronicleError("RATE_LIMITED", `this token waits for ${this.#most} ${this.#what} already`, {
        hint: "wait for the answers to these requests: each takes long",
      });
    }
    using taken = new DisposableStack();
    taken.use(slot);
    taken.defer(await this.#enter(workspace));
    const [one, other] = this.#lanes;
    taken.defer(await entered(one.users <= other.users ? one : other));
    // The read can block the thread until it ends. Therefore, let the event loop first accept the connections that have
    // arrived, one in each turn. Their requests are then counted.
    for (let turns = 0; turns <= this.#most; turns += 1) await yieldToEventLoop();
    return taken.move();
  }

  async #enter(workspace: string): Promise<Leave> {
    const known = this.#queues.get(workspace) ?? newQueue();
    this.#queues.set(workspace, known);
    const leave = await entered(known);
    return () => {
      leave();
      if (known.users === 0) this.#queues.delete(workspace);
    };
  }
}

/** A queue in which one read runs at a time. `users` is the number of waiting and running reads. */
interface Queue {
  readonly turns: TurnQueue;
  users: number;
}

function newQueue(): Queue {
  return { turns: new TurnQueue(), users: 0 };
}

async function entered(queue: Queue): Promise<Leave> {
  queue.users += 1;
  const leave = await queue.turns.enter(true, PATIENCE_MS);
  if (leave === undefined) {
    queue.users -= 1;
    throw new ChronicleError("UNAVAILABLE", "too many reads that take long are waiting", { hint: "try again" });
  }
  return () => {
    queue.users -= 1;
    leave();
  };
}
