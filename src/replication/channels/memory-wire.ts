import { ChronicleError } from "../../core/values/errors.ts";
import type { Channel, Wire } from "../channel.ts";
import { FramedChannel, type FramedChannelOptions } from "./framed-channel.ts";

export interface LinkFrame {
  readonly from: "a" | "b";
  /** The number of the frame in its direction: 0, 1, 2 … */
  readonly index: number;
  readonly bytes: Uint8Array;
}

export interface LinkArrival {
  /**
   * The delay of the arrival, in ms, by the clock of `LinkOptions.later`. Frames that arrive at the same time keep
   * their order.
   */
  readonly afterMs: number;
  /** The bytes to deliver: a part of the frame, or a damaged frame. Default: the frame's bytes. */
  readonly bytes?: Uint8Array;
}

export interface LinkOptions {
  /** Returns the arrivals of a frame; `[]` if the frame is lost. Default: the frame arrives once, without a delay. */
  readonly deliver?: (frame: LinkFrame) => readonly LinkArrival[];
  /**
   * Calls `run` after `afterMs` ms. Default: a microtask for 0 ms, and a timer for longer times. A simulation provides
   * its own clock.
   */
  readonly later?: (afterMs: number, run: () => void) => void;
}

export interface MemoryLink<End> {
  readonly a: End;
  readonly b: End;
  /** Breaks the connection for both ends. Frames in transit are lost. */
  cut(): void;
}

function later(afterMs: number, run: () => void): void {
  if (afterMs > 0) setTimeout(run, afterMs);
  else queueMicrotask(run);
}

export function memoryWires(options: LinkOptions = {}): MemoryLink<Wire> {
  const a = new MemoryWire("a", options);
  const b = new MemoryWire("b", options);
  a.connect(b);
  b.connect(a);
  return {
    a,
    b,
    cut() {
      a.break();
      b.break();
    },
  };
}

/** `isReliable` must be false if `deliver` can lose, repeat or reorder frames. */
export function memoryChannels(options: LinkOptions & FramedChannelOptions = {}): MemoryLink<Channel> {
  const link = memoryWires(options);
  return { a: new FramedChannel(link.a, options), b: new FramedChannel(link.b, options), cut: () => link.cut() };
}

class MemoryWire implements Wire {
  readonly #name: "a" | "b";
  readonly #deliver: (frame: LinkFrame) => readonly LinkArrival[];
  readonly #later: (afterMs: number, run: () => void) => void;
  readonly #arrived: Uint8Array[] = [];
  #peer: MemoryWire | undefined;
  #written = 0;
  #isClosed = false;
  /**
   * If `closed`, the other end has closed the wire, and bytes that arrived before can still be read. If `broken`, all
   * reading fails.
   */
  #state: "open" | "closed" | "broken" = "open";
  #wake: (() => void) | undefined;

  constructor(name: "a" | "b", { deliver = () => [{ afterMs: 0 }], later: own = later }: LinkOptions) {
    this.#name = name;
    this.#deliver = deliver;
    this.#later = own;
  }

  connect(peer: MemoryWire): void {
    this.#peer = peer;
  }

  async write(frame: Uint8Array): Promise<void> {
    if (this.#isClosed || this.#state !== "open") throw new ChronicleError("UNAVAILABLE", "the line is closed");
    // Copy the frame, because the writer may reuse its buffer.
    const bytes = Uint8Array.from(frame);
    for (const arrival of this.#deliver({ from: this.#name, index: this.#written++, bytes })) {
      this.#later(arrival.afterMs, () => this.#peer?.arrive(arrival.bytes ?? bytes));
    }
  }

  arrive(bytes: Uint8Array): void {
    if (this.#state !== "open" || this.#isClosed) return;
    this.#arrived.push(bytes);
    this.#wake?.();
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      if (this.#state === "broken") throw new ChronicleError("UNAVAILABLE", "the line is cut");
      const next = this.#arrived.shift();
      if (next !== undefined) yield next;
      else if (this.#state === "closed" || this.#isClosed) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(how: "gently" | "at once"): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wake?.();
    const peer = this.#peer;
    if (how === "at once") peer?.break();
    else this.#later(0, () => peer?.end());
  }

  end(): void {
    if (this.#state === "open") this.#state = "closed";
    this.#wake?.();
  }

  break(): void {
    this.#state = "broken";
    this.#arrived.length = 0;
    this.#wake?.();
  }
}
