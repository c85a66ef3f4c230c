/**
 * The one error type of Chronicle. Absence is `undefined`, disagreement is a value;
 * an error is trouble, and always carries a stable code and, where there is one, what to do next.
 */

import { hintOfErrno, nameOfErrno, systemMessage } from "./errno.ts";
import { optional } from "../../util/optional.ts";

/** Stable codes. Programs may rely on them; `api/problems.ts` maps each to an exit code. */
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
  /** Somebody has had the content taken out of the store. */
  | "ERASED"
  | "FORBIDDEN"
  /** The thing is not as the caller said that it must be. */
  | "PRECONDITION_FAILED"
  /** Of a server: no token, or a wrong one; too much was asked; nobody answers. */
  | "UNAUTHENTICATED"
  | "RATE_LIMITED"
  | "UNAVAILABLE"
  | "IO";

/** What an error may carry beside its message. */
export interface ErrorDetails {
  /** What the user can do next, as a sentence. */
  readonly hint?: string;
  /** The things named in the message, for programs. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Trouble, with a stable `code`. `message` names the thing and the reason. */
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

/** `data.about` of an `UNAVAILABLE`: the server is there, and still opens what it serves. */
export const STARTING = "starting";

/** The errno name (`ENOENT`, `ENOSPC` …) of a system error, also of one that Node knows by its number only; `undefined` for anything else. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error ? nameOfErrno(error) : undefined;
}

/** A failure of the operating system as `IO` with a hint; anything else as it is. */
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

/** What to do about a failure of the operating system; where Chronicle itself has raised it, its own hint. */
export function hintOfSystemError(error: Error, errno: string): string | undefined {
  return "hint" in error && typeof error.hint === "string" ? error.hint : hintOfErrno(errno);
}

/** What the system has refused, as a sentence; else what it says itself. Names of this process's descriptors tell nobody anything. */
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

/** Calls of the system in plain words. */
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

/** Runs something, giving failures of the operating system a code and a hint. */
export async function withCode<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw codedError(error);
  }
}
