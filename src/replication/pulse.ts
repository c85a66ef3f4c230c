import type { Timers } from "./timers.ts";

/**
 * So many beats without a word, and the other side is gone. Beats are counted, not milliseconds: one that comes late, since this
 * process was busy or its machine slept, is one beat, and what has arrived meanwhile is read before the next one.
 */
const SILENT_BEATS = 3;

/** What a pulse does, and what it goes by. None of it may throw. */
export interface PulseActions {
  /** So much has arrived: another number each time, and the other side is there, however long what came is worked on. */
  readonly arrived: () => number;
  /** It is time to say something. */
  readonly beat: () => void;
  /** Nothing has arrived for three beats, which is so many milliseconds at least. Called once; there are no beats after it. */
  readonly gone: (silentMs: number) => void;
}

/** Keeps a conversation alive, and notices when the other side has fallen silent (a half-open connection). */
export class Pulse implements Disposable {
  readonly #timers: Timers;
  readonly #everyMs: number;
  readonly #actions: PulseActions;
  #silent = 0;
  #arrived: number;
  #next: Disposable;

  constructor(timers: Timers, everyMs: number, actions: PulseActions) {
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
