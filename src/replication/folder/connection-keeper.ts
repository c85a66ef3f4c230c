import { ChronicleError, type ErrorCode } from "../../core/errors.ts";
import type { Channel, ChannelEnd } from "../channel.ts";
import type { ReplicaSession } from "../replica/replica-session.ts";
import type { Timers } from "../timers.ts";

/** How a replica's connection to its origin is doing. `refused`: trying again would not help. */
export type LinkState = "connecting" | "connected" | "offline" | "refused" | "ended";

/** What a connection is kept with. */
export interface KeeperOptions {
  /** Opens a channel to the origin. Rejects with the reason; a signal that aborts is the last one of its life. */
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  /** Begins a conversation. `welcome` is to be called once the origin has let this replica in. */
  readonly begin: (channel: Channel, welcome: () => void) => ReplicaSession;
  readonly timers: Timers;
  /** 0 to 1. */
  readonly random: () => number;
  /** Is the reason for an end one that stays, beside those that always do? */
  readonly isFinal: (error: ChronicleError) => boolean;
  readonly onChange: (state: LinkState, error: ChronicleError | undefined) => void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;

/** Nobody who asks the same once more gets another answer. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "NOT_FOUND",
  "AMBIGUOUS",
  "USAGE",
  "FORMAT_UNSUPPORTED",
]);

/** Keeps a replica connected: again and again, each time after a longer wait, until the origin refuses it. */
export class ConnectionKeeper {
  readonly #options: KeeperOptions;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #session: ReplicaSession | undefined;
  #channel: Channel | undefined;
  #state: LinkState = "connecting";
  #failures = 0;
  #wake: (() => void) | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** The conversation that goes on, once the origin has let this replica in. */
  get session(): ReplicaSession | undefined {
    return this.#state === "connected" ? this.#session : undefined;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Does not wait any longer before it tries again. */
  hurry(): void {
    this.#wake?.();
  }

  /** Ends the conversation, if there is one; resolves when nothing goes on any more. It cannot be started again. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#channel?.close();
    this.#wake?.();
    await this.#running;
    this.#state = "ended";
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const error = await this.#converse();
      if (this.#ending.signal.aborted) return;
      if (error !== undefined && (FINAL.has(error.code) || this.#options.isFinal(error)))
        return this.#become("refused", error);
      this.#become("offline", error);
      await this.#pause();
    }
  }

  /** One conversation, from the connecting on. Answers why it ended; `undefined`: in peace. */
  async #converse(): Promise<ChronicleError | undefined> {
    try {
      this.#channel = await this.#options.connect(this.#ending.signal);
    } catch (error) {
      return asUnavailable(error);
    }
    const channel = this.#channel;
    if (this.#ending.signal.aborted) channel.close();
    try {
      this.#session = this.#options.begin(channel, () => {
        if (this.#state === "connected") return;
        this.#failures = 0;
        this.#become("connected", undefined);
      });
      return reasonOf(await this.#session.run());
    } finally {
      this.#session = undefined;
      this.#channel = undefined;
    }
  }

  /** Waits longer after each failure, and never as long as others do that failed at the same moment. */
  #pause(): Promise<void> {
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    return new Promise((resolve) => {
      const timer = this.#options.timers.after(wait * (0.5 + this.#options.random() / 2), () => this.#wake?.());
      this.#wake = () => {
        this.#wake = undefined;
        timer[Symbol.dispose]();
        resolve();
      };
    });
  }

  #become(state: LinkState, error: ChronicleError | undefined): void {
    if (this.#ending.signal.aborted) return;
    this.#state = state;
    this.#options.onChange(state, error);
  }
}

function reasonOf({ error }: ChannelEnd): ChronicleError | undefined {
  return error;
}

function asUnavailable(error: unknown): ChronicleError {
  if (error instanceof ChronicleError) return error;
  const what = error instanceof Error ? error.message : String(error);
  return new ChronicleError("UNAVAILABLE", `the origin cannot be reached: ${what}`, { cause: error });
}
