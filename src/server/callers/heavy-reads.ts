import { ChronicleError } from "../../core/values/errors.ts";
import { type Leave, TurnQueue } from "../../util/turn-queue.ts";
import type { Caller } from "./caller.ts";
import { ConcurrencyLimit } from "../limits/concurrency-limit.ts";

/** Longer than any client waits, in milliseconds: a client that has gone by then gives its turn up at once. */
const PATIENCE_MS = 24 * 3_600_000;

/**
 * Reads that go through a whole history, such as `verify`. One runs at a time for each workspace, because a second one
 * would only read the same again. Two run in all, because all other requests need the same disk and thread.
 */
export class HeavyReads {
  readonly #slots: ConcurrencyLimit;
  readonly #most: number;
  readonly #queues = new Map<string, Queue>();
  readonly #lanes: readonly [Queue, Queue] = [newQueue(), newQueue()];

  /** `most`: how many of them one caller may have running or waiting. */
  constructor(most: number) {
    this.#most = most;
    this.#slots = new ConcurrencyLimit(most);
  }

  /** Resolves when it is this caller's turn; the turn must be given back. Throws `RATE_LIMITED`. */
  async turn(workspace: string, { id, isOwner }: Caller): Promise<Disposable> {
    const slot = isOwner ? undefined : this.#slots.take(id);
    if (slot === undefined && !isOwner) {
      throw new ChronicleError("RATE_LIMITED", `this token waits for ${this.#most} checks of histories already`, {
        hint: "wait for their answers: each goes through a whole history",
      });
    }
    using taken = new DisposableStack();
    taken.use(slot);
    taken.defer(await this.#enter(workspace));
    const [one, other] = this.#lanes;
    taken.defer(await entered(one.users <= other.users ? one : other));
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

/** A queue, with the number of its waiting and running reads. */
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
    throw new ChronicleError("UNAVAILABLE", "too much is being checked", { hint: "try again" });
  }
  return () => {
    queue.users -= 1;
    leave();
  };
}
