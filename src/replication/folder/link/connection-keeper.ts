import { ChronicleError, type ErrorCode } from "../../../core/values/errors.ts";
import type { Channel, ChannelEnd } from "../../channel.ts";
import type { ReplicaSession } from "../../replica/replica-session.ts";
import type { Timers } from "../../../util/timers.ts";
import { isFromPeer } from "../../protocol/wire-errors.ts";

/**
 * The state of a replica's connection to its origin. In the state `refused`, the keeper does not try to connect again.
 */
export type LinkState = "connecting" | "connected" | "offline" | "refused" | "ended";

export interface KeeperOptions {
  /**
   * Opens a channel. Rejects if no channel can be opened, or once the signal aborts, which happens when the keeper is
   * stopped.
   */
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  /** Begins a session. Must call `welcome` once the origin has admitted this replica. */
  readonly begin: (channel: Channel, welcome: () => void) => ReplicaSession;
  readonly timers: Timers;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  /**
   * Returns true if another attempt would fail with the same error. Called only for errors that are no refusal
   * (`isRefusal`).
   */
  readonly isFinal: (error: ChronicleError) => boolean;
  readonly onChange: (state: LinkState, error: ChronicleError | undefined) => void;
}

/**
 * The stage at which an attempt to connect ended, and the error that ended the attempt (`undefined` for a normal end):
 * - `connecting`: no channel was opened.
 * - `asking`: a channel was opened, but the origin had not admitted this replica.
 * - `welcome`: the origin had admitted this replica.
 */
interface Attempt {
  readonly stage: "connecting" | "asking" | "welcome";
  readonly error: ChronicleError | undefined;
}

/** The shortest wait between two attempts, in ms. */
const FIRST_WAIT_MS = 100;
/**
 * The longest wait, in ms, after an error that one of the two sides caused. The wait is long, because the next attempt
 * will probably meet the same error.
 */
const LONGEST_WAIT_MS = 10_000;
/**
 * The longest wait, in ms, while the network or the server cannot be reached. The wait is short, so that the return of
 * the network or the server is noticed soon.
 */
const LONGEST_AWAY_MS = 4_000;
/**
 * The minimum duration, in ms, of a stable connection. The failure of a stable connection leads to the shortest wait.
 */
const LASTING_MS = 10_000;

/** The codes of errors that are permanent: another attempt would fail with the same error. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "NOT_FOUND",
  "AMBIGUOUS",
  "USAGE",
  "FORMAT_UNSUPPORTED",
]);

/** The codes of errors with which an origin permanently ends the session of an admitted replica. */
const EXPELLED: ReadonlySet<ErrorCode> = new Set(["UNAUTHENTICATED", "FORBIDDEN", "NOT_FOUND"]);

/**
 * Keeps a replica connected to its origin. Connects again after each failure, with longer and longer waits. Stops
 * trying when the origin refuses the replica.
 */
export class ConnectionKeeper {
  readonly #options: KeeperOptions;
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #session: ReplicaSession | undefined;
  #channel: Channel | undefined;
  #state: LinkState = "connecting";
  #failures = 0;
  /** True if the last attempt took `LONGEST_AWAY_MS` or longer. */
  #hasWaited = false;
  #wake: (() => void) | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** The session with the origin; `undefined` while the origin has not admitted this replica. */
  get session(): ReplicaSession | undefined {
    return this.#state === "connected" ? this.#session : undefined;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the wait before the next attempt, if the keeper is waiting. */
  hurry(): void {
    this.#wake?.();
  }

  /** Stops the keeper for good. Resolves when no attempt and no session is running. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#channel?.close();
    this.#wake?.();
    await this.#running;
    this.#state = "ended";
  }

  /**
   * True once `stop` was called. Must be read again after each await and each call of `onChange`, because `stop` may
   * have been called meanwhile.
   */
  get #isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      const attempt = await this.#attempt();
      if (this.#isEnding) return;
      const { stage, error } = attempt;
      if (error !== undefined && (isRefusal(attempt) || this.#options.isFinal(error)))
        return this.#become("refused", error);
      if (stage === "welcome" && isOfTheNetwork(error)) this.#failures = 0;
      this.#become("offline", error);
      if (this.#isEnding) return;
      await this.#pause(this.#longestWait(error));
    }
  }

  async #attempt(): Promise<Attempt> {
    this.#hasWaited = false;
    using _long = this.#options.timers.after(LONGEST_AWAY_MS, () => (this.#hasWaited = true));
    try {
      this.#channel = await this.#options.connect(this.#ending.signal);
    } catch (error) {
      return { stage: "connecting", error: asUnavailable(error) };
    }
    const channel = this.#channel;
    if (this.#ending.signal.aborted) channel.close();
    let lasting: Disposable | undefined;
    try {
      this.#session = this.#options.begin(channel, () => {
        if (this.#state === "connected") return;
        lasting = this.#options.timers.after(LASTING_MS, () => (this.#failures = 0));
        this.#become("connected", undefined);
      });
      const end = await this.#session.run();
      return { stage: lasting === undefined ? "asking" : "welcome", error: reasonOf(end) };
    } finally {
      lasting?.[Symbol.dispose]();
      this.#session = undefined;
      this.#channel = undefined;
    }
  }

  #longestWait(error: ChronicleError | undefined): number {
    if (!isOfTheNetwork(error)) return LONGEST_WAIT_MS;
    return this.#hasWaited ? FIRST_WAIT_MS : LONGEST_AWAY_MS;
  }

  /**
   * Waits before the next attempt, at most `longest` ms. A random part of the wait keeps many replicas from connecting
   * at the same moment.
   */
  #pause(longest: number): Promise<void> {
    const wait = Math.min(longest, FIRST_WAIT_MS * 2 ** Math.min(this.#failures, 10));
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

/**
 * True if another attempt would fail in the same way, because the origin has refused `Hello` or has expelled the
 * replica. A rollback that this side has found is also a refusal, at every stage. Other errors after the admission are
 * not refusals, whichever side has caused them. Otherwise, a person would have to resume every sync of an origin that
 * was broken for a while.
 */
export function isRefusal({ stage, error }: Attempt): boolean {
  if (error === undefined) return false;
  // A rollback that this side has found is permanent. A rollback that the origin reports concerns the origin's own
  // history, and can be repaired there.
  if (error.code === "ROLLBACK_DETECTED") return !isFromPeer(error);
  if (stage === "welcome") return isFromPeer(error) && EXPELLED.has(error.code);
  const isOwnComplaint = stage === "asking" && error.code === "USAGE" && !isFromPeer(error);
  return FINAL.has(error.code) && !isOwnComplaint;
}

/** True if neither side is at fault, so that the next attempt can come soon. */
function isOfTheNetwork(error: ChronicleError | undefined): boolean {
  return error === undefined || error.code === "UNAVAILABLE";
}

function reasonOf({ error }: ChannelEnd): ChronicleError | undefined {
  return error;
}

function asUnavailable(error: unknown): ChronicleError {
  if (error instanceof ChronicleError) return error;
  const what = error instanceof Error ? error.message : String(error);
  return new ChronicleError("UNAVAILABLE", `the origin cannot be reached: ${what}`, { cause: error });
}
