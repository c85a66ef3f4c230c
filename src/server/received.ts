import type { IncomingHttpHeaders } from "node:http";
import { ChronicleError } from "../core/errors.ts";

const MAX_KEY = 128;

/** The hash that `If-Match` names; `none` for `If-None-Match: *`, by which only what is not there is written. Throws `USAGE`. */
export function conditionOf(headers: IncomingHttpHeaders): { readonly ifMatch?: string } {
  const match = headers["if-match"];
  const noneMatch = headers["if-none-match"];
  if (match !== undefined && noneMatch !== undefined) throw unclear("If-Match and If-None-Match at once");
  if (noneMatch !== undefined) {
    if (noneMatch.trim() !== "*") throw unclear("only `If-None-Match: *` means something for a change");
    return { ifMatch: "none" };
  }
  if (match === undefined) return {};
  if (match.trim() === "*") return { ifMatch: "*" };
  const tag = /^"([0-9a-f]{64})?"$/.exec(match.trim());
  if (tag === null) throw unclear('If-Match takes one ETag, as "HASH", or *');
  return { ifMatch: tag[1] ?? "" };
}

function unclear(message: string): ChronicleError {
  return new ChronicleError("USAGE", message, { data: { field: "If-Match" } });
}

/** What a request calls itself, so that it may be sent again. Throws `USAGE`. */
export function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && key.length <= MAX_KEY && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new ChronicleError("USAGE", `Idempotency-Key takes 1 to ${MAX_KEY} printable characters without spaces`, {
    data: { field: "Idempotency-Key" },
  });
}

/** Does one of the ETags of `If-None-Match` fit? A content is the same or it is not: weak ones count as well. */
export function isKnown(header: string | undefined, hash: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${hash}"`);
}
