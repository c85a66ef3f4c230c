import { createHash } from "node:crypto";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Caller } from "../callers/caller.ts";
import { statusOf } from "./problem.ts";

/** A change whose request has an `Idempotency-Key` (`key`). */
export interface NamedChange {
  readonly caller: Caller;
  readonly key: string;
  readonly method: string;
  /** The URL with its query. */
  readonly url: string;
  readonly ifMatch: string | undefined;
  readonly body: unknown;
  /**
   * True if the log records whether the change was made. Such a change may be tried again if the first attempt has no
   * reply, because the workspace does not make a change twice. Default: false.
   */
  readonly isInLog?: boolean;
}

/** The maximum size of a kept reply, in characters of JSON. If a reply is larger, only its status is kept. */
const MOST_REPLY = 256 * 1024;

/**
 * Makes a change at most once, even if the request is repeated with its key. Returns the same reply each time. If the
 * reply was too large to be kept, a repeated request gets `{ done: true }`. Throws the error of `work`. Throws `LOCKED`
 * while the change is being made. Throws `REFUSED` for a change that was begun and has no reply, unless `isInLog`.
 * Throws `USAGE` for a key that was used for another request.
 */
export async function onlyOnce(
  book: IdempotencyStore,
  change: NamedChange,
  work: () => Promise<KeptReply>,
): Promise<KeptReply> {
  const key = keyOf(change);
  const known = replyFrom(book.begin(key, printOf(change), Date.now()), change);
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
 * Returns the earlier reply to a change; `undefined` if the change was not begun, or may be tried again. Throws
 * `LOCKED`, `REFUSED` and `USAGE` in the same cases as `onlyOnce`.
 */
export function replyBefore(book: IdempotencyStore, change: NamedChange): KeptReply | undefined {
  return replyFrom(book.standing(keyOf(change), printOf(change), Date.now()), change);
}

function keyOf({ caller, key }: NamedChange): string {
  return `${caller.id} ${key}`;
}

function replyFrom(standing: Standing, { isInLog }: NamedChange): KeptReply | undefined {
  switch (standing.kind) {
    case "done":
      return standing.reply;
    case "other":
      throw reused();
    case "begun":
      if (isInLog === true && !standing.going) return undefined;
      throw unfinished(standing.since, standing.going);
    case "new":
      return undefined;
  }
}

/**
 * True if the error shows that nothing was changed, because the change was refused, or did not get its turn. False if
 * it is unknown whether something was changed.
 */
function changedNothing(error: unknown): boolean {
  return error instanceof ChronicleError && (statusOf(error) < 500 || error.code === "LOCKED");
}

/** Returns the error `USAGE` for a key that was used for another request. */
export function reused(): ChronicleError {
  return new ChronicleError("USAGE", "this Idempotency-Key was used for another request", {
    hint: "make a new key for each change",
    data: { field: "Idempotency-Key", reused: true },
  });
}

/**
 * True for the error of `reused`, and for the engine's error that the log has this key for another request
 * (`data.request`).
 */
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

/** A reply: its HTTP status, and the value of its JSON body. */
export interface KeptReply {
  readonly status: number;
  readonly value: unknown;
}

export type Standing =
  /** The key was not used before. After `begin`, the change may be made. */
  | { readonly kind: "new" }
  | { readonly kind: "done"; readonly reply: KeptReply }
  /** The key was used for another request. */
  | { readonly kind: "other" }
  /**
   * The request was begun at `since` (epoch milliseconds) and has no reply. If `going`, this process is performing the
   * request. Otherwise, the server ended meanwhile or the request failed, and it is unknown what was changed.
   */
  | { readonly kind: "begun"; readonly since: number; readonly going: boolean };

/**
 * Remembers the replies to changes with an `Idempotency-Key`, so that a repeated request is not performed again. The
 * backends are `MemoryIdempotencyStore` and a file. Each change is forgotten after a day. If there are too many
 * changes, the oldest ones are forgotten sooner.
 *
 * `begin` is durable before the change is made. A change that was begun and has no reply is not made again under the
 * same key, because it may already have been made. The client is told to look at the history.
 */
export interface IdempotencyStore {
  /** Returns what `begin` would return, without beginning the request. */
  standing(key: string, print: string, now: number): Standing;
  /**
   * Durably begins a request if its key was not used before. Returns the state before this call. `print` differs for
   * different requests. `now` is in epoch milliseconds.
   */
  begin(key: string, print: string, now: number): Standing;
  /**
   * Ends a request. `how` is the reply, `nothing` if nothing was changed, or `unknown` if it is unknown what was
   * changed. After `nothing`, the key may be used again.
   */
  end(key: string, how: KeptReply | "nothing" | "unknown"): void;
}
