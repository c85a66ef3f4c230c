import { emitKeypressEvents } from "node:readline";

/** A key, by its character or its name. `undefined` if the person ends the input, as with Ctrl-C or Escape. */
export type KeyPress = string | undefined;

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
}

const ENDING: ReadonlySet<string> = new Set(["escape"]);
const ENDING_WITH_CTRL: ReadonlySet<string> = new Set(["c", "d", "\\"]);

/**
 * Reads single keys from the terminal (stdin). Keys that are pressed before `next` is called are kept. The terminal is
 * in raw mode until this object is disposed.
 */
export class KeyPresses implements Disposable {
  readonly #waiting: KeyPress[] = [];
  #take: ((key: KeyPress) => void) | undefined;

  constructor() {
    emitKeypressEvents(process.stdin);
    process.stdin.on("keypress", this.#onKey);
    process.stdin.on("end", this.#onEnd);
    process.stdin.setRawMode(true);
    process.stdin.resume();
  }

  /** Resolves to the next key. */
  next(): Promise<KeyPress> {
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift());
    return new Promise((resolve) => (this.#take = resolve));
  }

  [Symbol.dispose](): void {
    process.stdin.off("keypress", this.#onKey);
    process.stdin.off("end", this.#onEnd);
    process.stdin.setRawMode(false);
    process.stdin.pause();
  }

  readonly #onKey = (text: string | undefined, { name = "", ctrl = false }: Key): void => {
    const ends = ctrl ? ENDING_WITH_CTRL.has(name) : ENDING.has(name);
    if (ends) return this.#push(undefined);
    if (!ctrl) this.#push(text ?? name);
  };

  readonly #onEnd = (): void => this.#push(undefined);

  #push(key: KeyPress): void {
    const take = this.#take;
    this.#take = undefined;
    if (take === undefined) this.#waiting.push(key);
    else take(key);
  }
}
