import { ChronicleError } from "../core/values/errors.ts";
import type { Timers } from "../util/timers.ts";

/**
 * The number of consecutive heartbeats without a received byte after which the other side counts as gone. The timer
 * counts heartbeats, not milliseconds. If this process was busy, or its machine slept, the late heartbeat therefore
 * counts only once, and the bytes that arrived meanwhile are read before the next heartbeat.
 */
const SILENT_BEATS = 3;

/** The callbacks of the timer. None of them may throw. */
interface HeartbeatActions {
  /**
   * Returns the number of bytes that have arrived. While this number grows, the other side is alive, even if this side
   * processes the bytes slowly.
   */
  readonly arrived: () => number;
  readonly beat: () => void;
  /**
   * Called when no byte has arrived for `SILENT_BEATS` heartbeats. `silentMs` is the minimum duration of the silence,
   * in ms. No heartbeat follows.
   */
  readonly gone: (silentMs: number) => void;
}

/** Keeps a connection alive, and notices when the other side has fallen silent (a half-open connection). */
export class HeartbeatTimer implements Disposable {
  readonly #timers: Timers;
  readonly #everyMs: number;
  readonly #actions: HeartbeatActions;
  #silent = 0;
  #arrived: number;
  #next: Disposable;

  constructor(timers: Timers, everyMs: number, actions: HeartbeatActions) {
    this.#timers = timers;
    this.#everyMs = everyMs;
    this.#actions = actions;
    this.#arrived = actions.arrived();
    this.#next = this.#timers.after(everyMs, this.#tick);
  }

  [Symbol.dispose](): void {
    this.#next[Symbol.dispose]();
  }

  readonly #tick = (): void => {
    const arrived = this.#actions.arrived();
    this.#silent = arrived === this.#arrived ? this.#silent + 1 : 1;
    this.#arrived = arrived;
    if (this.#silent > SILENT_BEATS) return this.#actions.gone(SILENT_BEATS * this.#everyMs);
    this.#next = this.#timers.after(this.#everyMs, this.#tick);
    this.#actions.beat();
  };
}

/** Returns the error for a connection whose other side (`who`) has sent nothing for `ms` milliseconds. */
export function silent(who: "the origin" | "the replica", ms: number): ChronicleError {
  return new ChronicleError("UNAVAILABLE", `${who} has sent nothing for ${ms / 1_000} s`, {
    hint: "Chronicle tries again by itself; is the other side running, and is the network between the two up?",
    data: { silent_ms: ms },
  });
}
