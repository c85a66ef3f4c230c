import type { ErrorCode } from "../core/values/errors.ts";

/** Exit codes of the command line. */
export const EXIT = {
  done: 0,
  /** The command failed, or not everything was recorded. */
  failed: 1,
  usage: 2,
  notFound: 3,
  damaged: 4,
  locked: 5,
  refused: 6,
  /** `run --rollback-on-failure`: the command failed, and not all of its changes were undone. */
  notRolledBack: 122,
  /** `run`: Chronicle itself failed before the command started. */
  notStarted: 125,
} as const;

const EXIT_OF: Readonly<Record<ErrorCode, number>> = {
  USAGE: EXIT.usage,
  PATH_INVALID: EXIT.usage,
  AMBIGUOUS: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  PRUNED: EXIT.notFound,
  ERASED: EXIT.notFound,
  LOCKED: EXIT.locked,
  LIMIT_EXCEEDED: EXIT.refused,
  UNSAFE: EXIT.refused,
  REFUSED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
  PRECONDITION_FAILED: EXIT.refused,
  UNAUTHENTICATED: EXIT.refused,
  RATE_LIMITED: EXIT.locked,
  UNAVAILABLE: EXIT.failed,
  PLATFORM_UNSUPPORTED: EXIT.refused,
  INTEGRITY_VIOLATION: EXIT.damaged,
  BLOB_MISSING: EXIT.damaged,
  BLOB_CORRUPT: EXIT.damaged,
  LOG_DAMAGED: EXIT.damaged,
  ROLLBACK_DETECTED: EXIT.damaged,
  READ_ONLY: EXIT.failed,
  POISONED: EXIT.failed,
  FORMAT_UNSUPPORTED: EXIT.failed,
  IO: EXIT.failed,
};

export function exitCodeOf(code: ErrorCode): number {
  return EXIT_OF[code];
}

/**
 * HTTP statuses (RFC 9110, 6585). `PRUNED` and `ERASED` are 410 (Gone), because the content existed and was removed on
 * purpose.
 */
const STATUS_OF: Readonly<Record<ErrorCode, number>> = {
  USAGE: 400,
  PATH_INVALID: 400,
  AMBIGUOUS: 409,
  NOT_FOUND: 404,
  PRUNED: 410,
  ERASED: 410,
  LOCKED: 503,
  LIMIT_EXCEEDED: 413,
  UNSAFE: 409,
  REFUSED: 409,
  FORBIDDEN: 403,
  PRECONDITION_FAILED: 412,
  UNAUTHENTICATED: 401,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
  PLATFORM_UNSUPPORTED: 501,
  INTEGRITY_VIOLATION: 500,
  BLOB_MISSING: 500,
  BLOB_CORRUPT: 500,
  LOG_DAMAGED: 500,
  ROLLBACK_DETECTED: 500,
  READ_ONLY: 409,
  POISONED: 503,
  FORMAT_UNSUPPORTED: 501,
  IO: 500,
};

export function httpStatusOf(code: ErrorCode): number {
  return STATUS_OF[code];
}

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(STATUS_OF, text);
}
