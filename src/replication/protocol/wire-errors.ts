import { ChronicleError, type ErrorCode, STARTING } from "../../core/values/errors.ts";
import { errnoIn, failureInWords } from "../../core/values/failure-in-words.ts";
import type { MessageOf } from "./messages.ts";
import { optional } from "../../util/optional.ts";

/** The codes that this version knows. An unknown code comes from a later version, and is treated as `IO`. */
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

/** The maximum length of a message or hint that is sent, in characters. */
const MOST = 2000;

/**
 * The codes of errors that come from a failure of the store or of its machine. The peer can do nothing about such a
 * failure, and the text of the error can name files.
 */
const FAILURES: ReadonlySet<ErrorCode> = new Set(["IO", "POISONED", "BLOB_MISSING", "BLOB_CORRUPT", "LOG_DAMAGED"]);

/** True for a failure of this side's store or machine. The text of such an error must not be sent to the peer. */
export function isOwnFailure(error: ChronicleError): boolean {
  if (isFromPeer(error)) return false;
  return FAILURES.has(error.code) || (error.code === "READ_ONLY" && errnoIn(error) !== undefined);
}

/**
 * Returns the message for an error: its code, text and hint, and whether the server is still starting. The error's
 * other data are not sent, because they can name paths of this machine. For the same reason, a failure of this side
 * (`isOwnFailure`) is sent with a general text, which names `id`. The diagnostics of this side have the original text
 * under this id.
 */
export function errorToMessage(error: ChronicleError, fatal: boolean, id?: string): MessageOf<"Error"> {
  const { message, hint } = isOwnFailure(error) ? withoutNames(error, id) : error;
  const about = error.data["about"] === STARTING ? { about: STARTING } : {};
  return {
    ...{ type: "Error", code: error.code, message: shortened(message), fatal },
    ...(hint === undefined ? {} : { hint: shortened(hint) }),
    ...about,
  };
}

/**
 * Returns a general text and a hint for a failure of this side, without names of files. The words are those of the HTTP
 * API. The peer gets them, so this side is called the sender.
 */
function withoutNames(error: ChronicleError, id: string | undefined): Pick<ChronicleError, "message" | "hint"> {
  const { why = "the sender has failed", hint } = failureInWords(error);
  return { message: id === undefined ? why : `${why}; the sender's diagnostics say more under ${id}`, hint };
}

function shortened(text: string): string {
  return text.slice(0, MOST).toWellFormed();
}

/**
 * Returns the error that a message of the peer reports. The error has `data.peer`, by which `isFromPeer` recognises it.
 */
export function errorFromMessage({ code, message, hint, about }: MessageOf<"Error">): ChronicleError {
  const known = Object.hasOwn(KNOWN, code) ? (code as ErrorCode) : "IO";
  return new ChronicleError(known, `the other side says: ${message}`, {
    ...optional({ hint }),
    data: { peer: true, code, ...optional({ about }) },
  });
}

export function isFromPeer(error: ChronicleError): boolean {
  return error.data["peer"] === true;
}

/**
 * Returns the error for a server that was started without `--replication`. The replica keeps trying to connect, because
 * the server may be started again with `--replication`.
 */
export function notOffered(cause?: unknown): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the server there does not offer replication now", {
    hint: "start it there with `serve --replication`",
    ...optional({ cause }),
  });
}

const VIOLATIONS: ReadonlySet<ErrorCode> = new Set([
  "USAGE",
  "PATH_INVALID",
  "INTEGRITY_VIOLATION",
  "LIMIT_EXCEEDED",
  "FORMAT_UNSUPPORTED",
]);

/** True if this side has raised the error because of a message of the peer. */
export function isViolation(error: ChronicleError): boolean {
  return VIOLATIONS.has(error.code) && !isFromPeer(error);
}

/**
 * Returns the WebSocket close code (RFC 6455, section 7.4) for an error; 1000 if there is no error. A code from 4000 on
 * is 4000 plus the HTTP status of the error. An error without a more specific code gets 1011.
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
