// `ChronicleError` is the only error type of Chronicle. An expected outcome is a return value: `undefined` if something
// is absent, a report if two sides disagree (a conflict, a blocked path). Only a failure is thrown. A thrown error
// always has a stable code, and usually a hint, which is the next step for the user.

import { hintOfErrno, nameOfErrno, systemMessage } from "./errno.ts";
import { optional } from "../../util/optional.ts";

/** Stable codes, on which programs may rely. `api/problems.ts` maps each code to an exit code. */
export type ErrorCode =
  | "USAGE"
  | "NOT_FOUND"
  | "AMBIGUOUS"
  | "LOCKED"
  | "LIMIT_EXCEEDED"
  | "UNSAFE"
  | "REFUSED"
  | "PATH_INVALID"
  | "INTEGRITY_VIOLATION"
  | "BLOB_MISSING"
  | "BLOB_CORRUPT"
  | "LOG_DAMAGED"
  | "ROLLBACK_DETECTED"
  | "READ_ONLY"
  | "POISONED"
  | "FORMAT_UNSUPPORTED"
  | "PLATFORM_UNSUPPORTED"
  | "PRUNED"
  /** The content was erased from the store. */
  | "ERASED"
  | "FORBIDDEN"
  /** A condition that the caller gave for the operation is not fulfilled. */
  | "PRECONDITION_FAILED"
  /**
   * These codes are about a request to a server. `UNAUTHENTICATED`: no token, or a wrong one. `RATE_LIMITED`: too many
   * requests. `UNAVAILABLE`: no answer, or the server cannot answer the request now.
   */
  | "UNAUTHENTICATED"
  | "RATE_LIMITED"
  | "UNAVAILABLE"
  | "IO";

export interface ErrorDetails {
  /** The next step for the user, as a sentence. */
  readonly hint?: string;
  /** The values that the message mentions, for programs. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An error with a stable `code`. `message` names the thing that failed and the reason. */
export class ChronicleError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "ChronicleError";
    this.code = code;
    this.hint = details.hint;
    this.data = details.data ?? {};
  }
}

/** The value of `data.about` in the `UNAVAILABLE` error of a server that is still opening its workspace. */
export const STARTING = "starting";

/**
 * Returns the name of a system error (`ENOENT` …), even if Node knows only the error's number; `undefined` for other
 * errors. The code of a `ChronicleError` is no name of a system error, even if it looks like such a name (`ERASED`).
 */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && !(error instanceof ChronicleError) ? nameOfErrno(error) : undefined;
}

/** Converts a system error to an `IO` error, with a hint if a next step is known. Returns anything else unchanged. */
export function codedError(error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof ChronicleError || !(error instanceof Error)) return error;
  const hint = hintOfSystemError(error, errno);
  return new ChronicleError("IO", plainMessage(error, errno), {
    ...optional({ hint }),
    cause: error,
    data: { errno },
  });
}

/** Returns the error's own `hint` if the error has a hint, and the hint for its errno if not. */
export function hintOfSystemError(error: Error, errno: string): string | undefined {
  return "hint" in error && typeof error.hint === "string" ? error.hint : hintOfErrno(errno);
}

/**
 * Returns the message of a system error for people. A refusal (`REFUSALS`) that names a path becomes a sentence. Other
 * errors keep the system's message. Removes paths of this process's descriptors (`/proc/self/fd/…`), because these
 * paths mean nothing to people.
 */
function plainMessage(error: Error, errno: string): string {
  const plain = (text: string): string => text.replaceAll(/\/proc\/self\/fd\/\d+\/?/g, "");
  const why = REFUSALS[errno];
  if (why === undefined || !("path" in error) || typeof error.path !== "string") return plain(systemMessage(error));
  const name = plain(error.path);
  const call = "syscall" in error ? String(error.syscall) : "";
  return `${why}: ${/^\.?$/.test(name) ? "the folder" : name} cannot be ${DONE[call] ?? "used"} (${errno})`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  EACCES: "no permission",
  EROFS: "the file system is read-only",
};

const DONE: Readonly<Record<string, string>> = {
  open: "opened",
  lstat: "looked at",
  stat: "looked at",
  scandir: "listed",
  mkdir: "made",
  unlink: "removed",
  rmdir: "removed",
  rename: "moved",
};

/** Runs the work. If the work throws a system error, converts the error to an `IO` error, as `codedError` does. */
export async function withCode<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw codedError(error);
  }
}
