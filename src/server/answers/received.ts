import type { IncomingHttpHeaders } from "node:http";
import { ChronicleError } from "../../core/values/errors.ts";

const MAX_KEY = 128;

/** ETags (RFC 9110 §8.8.3). */
const TAGS = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** The hash of a content; empty for a folder. */
const HASH = /^(?:[0-9a-f]{64})?$/;

/** Thrown for a body with a content encoding: none is decoded. */
export class Encoded extends Error {}

/** Throws `Encoded` for an encoded body: bodies are stored as they arrive. */
export function refuseEncoded({ "content-encoding": encoding }: IncomingHttpHeaders): void {
  if (encoding === undefined || /^\s*(?:identity)?\s*$/i.test(encoding)) return;
  throw new Encoded("a body is taken as it is: without Content-Encoding");
}

/**
 * Returns the hashes of which `If-Match` requires one; `none` for `If-None-Match: *`, which only allows a new path.
 * Throws `USAGE`, and `PRECONDITION_FAILED` if none of the ETags can be a content's: weak ones never match.
 */
export function conditionOf(headers: IncomingHttpHeaders): { readonly ifMatch?: string | readonly string[] } {
  const match = headers["if-match"];
  const noneMatch = headers["if-none-match"];
  if (match !== undefined && noneMatch !== undefined) throw unclear("If-Match and If-None-Match at once");
  if (noneMatch !== undefined) {
    if (noneMatch.trim() !== "*") throw unclear("only `If-None-Match: *` means something for a change");
    return { ifMatch: "none" };
  }
  if (match === undefined) return {};
  if (match.trim() === "*") return { ifMatch: "*" };
  const tags = [...match.matchAll(TAGS)];
  if (tags.length === 0 || /[^\s,]/.test(match.replaceAll(TAGS, ""))) {
    throw unclear('If-Match takes ETags, as "HASH", or *');
  }
  // A weak ETag never matches, nor one that is no content's hash.
  const hashes = tags.flatMap(([, weak, hash = ""]) => (weak === undefined && HASH.test(hash) ? [hash] : []));
  const [first, ...others] = hashes;
  if (first === undefined) {
    throw new ChronicleError("PRECONDITION_FAILED", "what If-Match names is not there: nothing was changed", {
      hint: "give the ETag of what was read",
    });
  }
  return { ifMatch: others.length === 0 ? first : hashes };
}

function unclear(message: string): ChronicleError {
  return new ChronicleError("USAGE", message, { data: { field: "If-Match" } });
}

/** Returns the request's idempotency key, with which it may be sent again. Throws `USAGE`. */
export function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key.length <= MAX_KEY && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new ChronicleError("USAGE", `Idempotency-Key takes 1 to ${MAX_KEY} printable characters without spaces`, {
    data: { field: "Idempotency-Key" },
  });
}

/**
 * True if one of the ETags of `If-None-Match` matches. Weak ones count as well, since a content is either the same or
 * not.
 */
export function isKnown(header: string | undefined, hash: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${hash}"`);
}

/** Returns the seq in `Last-Event-ID`. Throws `USAGE`. */
export function eventIdIn({ "last-event-id": id }: IncomingHttpHeaders): number | undefined {
  if (typeof id !== "string") return undefined;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new ChronicleError("USAGE", "Last-Event-ID is not the seq of an event", { data: { field: "Last-Event-ID" } });
}
