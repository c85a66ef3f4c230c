/** A kept reply, to be sent again. */
export interface KeptReply {
  readonly status: number;
  readonly value: unknown;
}

/** The state of a request with an idempotency key. */
export type Standing =
  /** Not seen before. It is recorded now, and may be done. */
  | { readonly kind: "new" }
  | { readonly kind: "done"; readonly reply: KeptReply }
  /** The key was used for another request. */
  | { readonly kind: "other" }
  /** The request is running, or was when the server died: it is unknown how far it came. */
  | { readonly kind: "begun"; readonly since: number; readonly going: boolean };

/**
 * Remembers the replies to changes with an `Idempotency-Key`, so that a repeated request is not done again. Backends:
 * `MemoryIdempotencyStore`, and a file. Bounded: the oldest are forgotten, and all after a day.
 *
 * The rule: `begin` is durable before a change is tried. A change that was begun and has no end is never tried again
 * under the same key, since it may have been done; its client is told to check.
 */
export interface IdempotencyStore {
  /** Returns what `begin` would return, and begins nothing. */
  standing(key: string, print: string, now: number): Standing;
  /**
   * Begins a request. `print` identifies its content, in any form; `now` is in epoch milliseconds. Durable when it
   * returns.
   */
  begin(key: string, print: string, now: number): Standing;
  /** Ends a begun request: with its reply; with `nothing`, if nothing was done, which forgets it; or with `unknown`. */
  end(key: string, how: KeptReply | "nothing" | "unknown"): void;
}
