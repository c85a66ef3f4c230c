import { createHash } from "node:crypto";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Caller } from "../callers/caller.ts";
import { statusOf } from "./problem.ts";

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

/** A change with an idempotency key. */
export interface NamedChange {
  readonly caller: Caller;
  readonly key: string;
  readonly method: string;
  /** The URL, with its query. */
  readonly url: string;
  readonly ifMatch: string | undefined;
  readonly body: unknown;
}

/** Larger replies are not kept: a repetition only learns that the change was done. In characters of JSON. */
const MOST_REPLY = 256 * 1024;

/**
 * Does a change once, however often it is sent under one key, and returns the same reply each time. Throws as the work
 * does.
 */
export async function onlyOnce(
  book: IdempotencyStore,
  change: NamedChange,
  work: () => Promise<KeptReply>,
): Promise<KeptReply> {
  const key = keyOf(change);
  const known = replyFrom(book.begin(key, printOf(change), Date.now()));
  if (known !== undefined) return known;
  let reply: KeptReply;
  try {
    reply = await work();
  } catch (error) {
    book.end(key, changedNothing(error) ? "nothing" : "unknown");
    throw error;
  }
  const isSmall = JSON.stringify(reply.value ?? null).length <= MOST_REPLY;
  book.end(key, isSmall ? reply : { status: reply.status, value: { done: true } });
  return reply;
}

/**
 * Returns the reply that a change got earlier, whether or not its result still exists; `undefined` if it was not begun.
 * Throws as `onlyOnce` does for a key that was used.
 */
export function replyBefore(book: IdempotencyStore, change: NamedChange): KeptReply | undefined {
  return replyFrom(book.standing(keyOf(change), printOf(change), Date.now()));
}

function keyOf({ caller, key }: NamedChange): string {
  return `${caller.id} ${key}`;
}

function replyFrom(standing: Standing): KeptReply | undefined {
  switch (standing.kind) {
    case "done":
      return standing.reply;
    case "other":
      throw reused();
    case "begun":
      throw unfinished(standing.since, standing.going);
    case "new":
      return undefined;
  }
}

/**
 * True if the change was refused or did not get its turn, so it may be retried. For any other error it is unknown how
 * far the change came.
 */
function changedNothing(error: unknown): boolean {
  return error instanceof ChronicleError && (statusOf(error) < 500 || error.code === "LOCKED");
}

/** The error for a key that another request has used. */
export function reused(): ChronicleError {
  return new ChronicleError("USAGE", "this Idempotency-Key was used for something else", {
    hint: "make a new key for each change",
    data: { field: "Idempotency-Key", reused: true },
  });
}

/** True if a key was used for two requests, whether this table noticed or the log (which names the `request`). */
export function isReused(error: unknown): boolean {
  if (!(error instanceof ChronicleError) || error.code !== "USAGE") return false;
  return error.data["reused"] === true || error.data["request"] !== undefined;
}

function unfinished(since: number, isGoing: boolean): ChronicleError {
  const at = new Date(since).toISOString();
  const data = { field: "Idempotency-Key", since: at };
  if (isGoing) {
    const message = `the change under this Idempotency-Key is being made, since ${at}`;
    return new ChronicleError("LOCKED", message, { hint: "ask again in a moment, under the same key", data });
  }
  const message = `the change under this Idempotency-Key was begun ${at}, and nobody can say how far it came`;
  return new ChronicleError("REFUSED", message, {
    hint: "see what is recorded (recent, log), and make a new key",
    data,
  });
}

function printOf({ method, url, ifMatch, body }: NamedChange): string {
  const text = JSON.stringify([method, url, ifMatch ?? null, body ?? null]);
  return createHash("sha256").update(text).digest("base64url");
}
