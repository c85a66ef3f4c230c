import type { ErrorCode } from "../core/errors.ts";

/** Exit codes of the command line. */
export const EXIT = {
  done: 0,
  /** Failed, or done with partial coverage. */
  failed: 1,
  usage: 2,
  notFound: 3,
  damaged: 4,
  locked: 5,
  refused: 6,
  /** `run`: Chronicle itself failed before the command started. */
  notStarted: 125,
} as const;

const EXIT_OF: Readonly<Record<ErrorCode, number>> = {
  USAGE: EXIT.usage,
  PATH_INVALID: EXIT.usage,
  AMBIGUOUS: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  PRUNED: EXIT.notFound,
  LOCKED: EXIT.locked,
  LIMIT_EXCEEDED: EXIT.refused,
  UNSAFE: EXIT.refused,
  REFUSED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
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

/** The exit code for an error's code. */
export function exitCodeOf(code: ErrorCode): number {
  return EXIT_OF[code];
}
