import { ChronicleError, type ErrorCode, STARTING } from "../../core/values/errors.ts";
import type { MessageOf } from "./messages.ts";
import { optional } from "../../util/optional.ts";

/** The codes that are known here. Another one, of a later version, is taken for `IO`. */
const KNOWN: Readonly<Record<ErrorCode, true>> = {
  USAGE: true,
  NOT_FOUND: true,
  AMBIGUOUS: true,
  LOCKED: true,
  LIMIT_EXCEEDED: true,
  UNSAFE: true,
  REFUSED: true,
  PATH_INVALID: true,
  INTEGRITY_VIOLATION: true,
  BLOB_MISSING: true,
  BLOB_CORRUPT: true,
  LOG_DAMAGED: true,
  ROLLBACK_DETECTED: true,
  READ_ONLY: true,
  POISONED: true,
  FORMAT_UNSUPPORTED: true,
  PLATFORM_UNSUPPORTED: true,
  PRUNED: true,
  ERASED: true,
  FORBIDDEN: true,
  PRECONDITION_FAILED: true,
  UNAUTHENTICATED: true,
  RATE_LIMITED: true,
  UNAVAILABLE: true,
  IO: true,
};

const MOST = 2000;

/**
 * An error as a message: its code, what it says and its hint, and whether it is that a server still starts. Its other data stay here,
 * for they may name what is nobody else's business.
 */
export function errorToMessage(error: ChronicleError, fatal: boolean): MessageOf<"Error"> {
  const hint = error.hint === undefined ? {} : { hint: shortened(error.hint) };
  const about = error.data["about"] === STARTING ? { about: STARTING } : {};
  return { type: "Error", code: error.code, message: shortened(error.message), ...hint, fatal, ...about };
}

function shortened(text: string): string {
  return text.slice(0, MOST).toWellFormed();
}

/** What the peer said, as an error of this side. `data.peer` marks it. */
export function errorFromMessage({ code, message, hint, about }: MessageOf<"Error">): ChronicleError {
  const known = Object.hasOwn(KNOWN, code) ? (code as ErrorCode) : "IO";
  return new ChronicleError(known, `the other side says: ${message}`, {
    ...optional({ hint }),
    data: { peer: true, code, ...optional({ about }) },
  });
}

/** Has the peer said it, rather than this side found it? */
export function isFromPeer(error: ChronicleError): boolean {
  return error.data["peer"] === true;
}

/** What a peer is accused of where its frames are not what they must be. */
const VIOLATIONS: ReadonlySet<ErrorCode> = new Set([
  "USAGE",
  "PATH_INVALID",
  "INTEGRITY_VIOLATION",
  "LIMIT_EXCEEDED",
  "FORMAT_UNSUPPORTED",
]);

/** Did this side end the conversation because of what the peer sent? */
export function isViolation(error: ChronicleError): boolean {
  return VIOLATIONS.has(error.code) && !isFromPeer(error);
}

/**
 * The close code of a WebSocket (RFC 6455, section 7.4) for an error; 1000 without one. What the standard's codes do not
 * say is 4000 plus the HTTP status that says it.
 */
export function closeCodeOf(code: ErrorCode | undefined): number {
  switch (code) {
    case undefined:
      return 1000;
    case "USAGE":
    case "FORMAT_UNSUPPORTED":
      return 1002;
    case "INTEGRITY_VIOLATION":
      return 1007;
    case "PATH_INVALID":
    case "REFUSED":
      return 1008;
    case "LIMIT_EXCEEDED":
      return 1009;
    case "UNAVAILABLE":
    case "LOCKED":
      return 1013;
    case "UNAUTHENTICATED":
      return 4401;
    case "FORBIDDEN":
      return 4403;
    case "NOT_FOUND":
      return 4404;
    case "RATE_LIMITED":
      return 4429;
    default:
      return 1011;
  }
}
