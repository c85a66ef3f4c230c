/**
 * The one error type of Chronicle. Absence is `undefined`, disagreement is a value;
 * an error is trouble, and always carries a stable code and, where there is one, what to do next.
 */

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

/** The errno name (`ENOENT`, `ENOSPC` …) of a system error, or `undefined` for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const code: unknown = error.code;
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** What to do where the system says that this user may not. */
export const NO_PERMISSION =
  "it belongs to another user, or its permissions keep this one out (`ls -ld` shows which); `chronicle doctor` lists such files " +
  "of the store, with the command that gives them back";

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: "free some space on that disk, and try again",
  EDQUOT: "free some space within your quota, and try again",
  EROFS: "that file system is mounted read-only",
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  EMFILE: "too many files are open: raise the limit (`ulimit -n`)",
  ENFILE: "too many files are open on this machine",
  EIO: "the disk reports a failure: check it before going on",
};

/** A failure of the operating system as `IO` with a hint; anything else as it is. */
export function codedError(error: unknown): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof ChronicleError || !(error instanceof Error)) return error;
  const hint = HINTS[errno];
  return new ChronicleError("IO", plainMessage(error, errno), {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
    data: { errno },
  });
}

/** What the system refused, as a sentence; what it says of itself where that is not about permissions. */
function plainMessage(error: Error, errno: string): string {
  if (errno !== "EACCES" || !("path" in error) || typeof error.path !== "string") return error.message;
  return `no permission to ${VERBS[String("syscall" in error ? error.syscall : "")] ?? "use"} ${error.path} (EACCES)`;
}

/** Calls of the system in plain words. */
const VERBS: Readonly<Record<string, string>> = {
  open: "open",
  lstat: "look at",
  stat: "look at",
  scandir: "list",
  mkdir: "make",
  unlink: "remove",
  rename: "move",
};

/** Runs something, giving failures of the operating system a code and a hint. */
export async function withCode<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw codedError(error);
  }
}
