import type { Timers } from "./timers.ts";

/** So many beats without a word, and the other side is gone. */
const SILENT_BEATS = 3;

/** What a pulse does. Neither may throw. */
export interface PulseActions {
  /** It is time to say something. */
  readonly beat: () => void;
  /** Nothing was heard for three beats. Called once; there are no beats after it. */
  readonly gone: () => void;
}

/** Keeps a conversation alive, and notices when the other side has fallen silent (a half-open connection). */
export class Pulse implements Disposable {
  readonly #timers: Timers;
  readonly #everyMs: number;
  readonly #actions: PulseActions;
  #silent = 0;
  #next: Disposable;

  constructor(timers: Timers, everyMs: number, actions: PulseActions) {
    this.#timers = timers;
    this.#everyMs = everyMs;
    this.#actions = actions;
    this.#next = this.#timers.after(everyMs, this.#tick);
  }

  /** Something has arrived. */
  heard(): void {
    this.#silent = 0;
  }

  [Symbol.dispose](): void {
    this.#next[Symbol.dispose]();
  }

  readonly #tick = (): void => {
    this.#silent += 1;
    if (this.#silent > SILENT_BEATS) return this.#actions.gone();
    this.#next = this.#timers.after(this.#everyMs, this.#tick);
    this.#actions.beat();
  };
}
