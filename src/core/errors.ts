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
