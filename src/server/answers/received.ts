import type { IncomingHttpHeaders } from "node:http";
import { ChronicleError } from "../../core/values/errors.ts";

/** The maximum length of an idempotency key, in characters. */
const MAX_KEY = 128;

/** Matches each ETag in a header (RFC 9110 §8.8.3). */
const TAGS = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/** Matches the ETag of a file, which is the hash of its content, and the ETag of a folder, which is empty. */
const HASH = /^(?:[0-9a-f]{64})?$/;

/** Thrown for a body with a content encoding, because the server decodes no content encoding. */
export class Encoded extends Error {}

/** Throws `Encoded` if the body has a content encoding. */
export function refuseEncoded({ "content-encoding": encoding }: IncomingHttpHeaders): void {
  if (encoding === undefined || /^\s*(?:identity)?\s*$/i.test(encoding)) return;
  throw new Encoded("a body must be sent without Content-Encoding");
}

/**
 * Returns the condition of a change:
 * - `If-Match` with ETags gives their hashes, one of which the path must have;
 * - `If-Match: *` gives `*`, which means that the path must exist;
 * - `If-None-Match: *` gives `none`, which means that the path must not exist.
 *
 * Throws `USAGE` for invalid headers, and `PRECONDITION_FAILED` if none of the ETags can match.
 */
export function conditionOf(headers: IncomingHttpHeaders): { readonly ifMatch?: string | readonly string[] } {
  const match = headers["if-match"];
  const noneMatch = headers["if-none-match"];
  if (match !== undefined && noneMatch !== undefined)
    throw unclear("If-Match", "If-Match and If-None-Match cannot be given together");
  if (noneMatch !== undefined) {
    if (noneMatch.trim() !== "*") throw unclear("If-None-Match", "for a change, only `If-None-Match: *` is allowed");
    return { ifMatch: "none" };
  }
  if (match === undefined) return {};
  if (match.trim() === "*") return { ifMatch: "*" };
  const tags = [...match.matchAll(TAGS)];
  if (tags.length === 0 || /[^\s,]/.test(match.replaceAll(TAGS, ""))) {
    throw unclear("If-Match", 'If-Match takes ETags, as "HASH", or *');
  }
  // Weak ETags never match. Other ETags match only if they are a hash or empty (see `HASH`).
  const hashes = tags.flatMap(([, weak, hash = ""]) => (weak === undefined && HASH.test(hash) ? [hash] : []));
  const [first, ...others] = hashes;
  if (first === undefined) {
    throw new ChronicleError(
      "PRECONDITION_FAILED",
      "none of the ETags in If-Match can be that of a file or folder: nothing was changed",
      {
        hint: "give the ETag of what was read",
      },
    );
  }
  return { ifMatch: others.length === 0 ? first : hashes };
}

function unclear(field: "If-Match" | "If-None-Match", message: string): ChronicleError {
  return new ChronicleError("USAGE", message, { data: { field } });
}

/** Returns the idempotency key, if any. Throws `USAGE` for an invalid key. */
export function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key.length <= MAX_KEY && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new ChronicleError("USAGE", `Idempotency-Key takes 1 to ${MAX_KEY} printable characters without spaces`, {
    data: { field: "Idempotency-Key" },
  });
}

/**
 * True if `If-None-Match` (`header`) has the ETag of this hash, or is `*`. Weak ETags match, too, because contents with
 * the same hash are equal.
 */
export function isKnown(header: string | undefined, hash: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${hash}"`);
}

/** Returns the seq in `Last-Event-ID`, if any. Throws `USAGE` for a value that is no seq. */
export function eventIdIn({ "last-event-id": id }: IncomingHttpHeaders): number | undefined {
  if (typeof id !== "string") return undefined;
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new ChronicleError("USAGE", "Last-Event-ID is not the seq of an event", { data: { field: "Last-Event-ID" } });
}
