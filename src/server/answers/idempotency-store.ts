/** A reply that was given, to be given again. */
export interface KeptReply {
  readonly status: number;
  readonly value: unknown;
}

/** What is known of a request that names itself. */
export type Standing =
  /** Not seen before: it is written down now, and may be done. */
  | { readonly kind: "new" }
  | { readonly kind: "done"; readonly reply: KeptReply }
  /** The same key, for something else. */
  | { readonly kind: "other" }
  /** It is being done, or was when the server died: nobody can say how far it came. */
  | { readonly kind: "begun"; readonly since: number; readonly going: boolean };

/**
 * Remembers the replies to changes that named themselves (`Idempotency-Key`), so that one that is sent again is not done
 * again. Backends: `MemoryIdempotencyStore`, and a file. Bounded: the oldest are forgotten, and all after a day.
 *
 * The rule: `begin` is durable before a change is tried. What was begun and has no end is never tried again under the
 * same key, since it may have been done; its client is told to look.
 */
export interface IdempotencyStore {
  /** As `begin` would answer, and begins nothing. */
  standing(key: string, print: string, now: number): Standing;
  /** `print`: what the request is, in any form; epoch milliseconds. Durable when it returns. */
  begin(key: string, print: string, now: number): Standing;
  /** Ends what was begun: with a reply; or nothing was done, and it is forgotten; or nobody knows. */
  end(key: string, how: KeptReply | "nothing" | "unknown"): void;
}
