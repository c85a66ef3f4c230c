import { isTroubleOfDisk, systemMessage, troubleInWords } from "../core/values/errno.ts";
import { ChronicleError, errnoOf, hintOfSystemError } from "../core/values/errors.ts";
import { optional } from "../util/optional.ts";

/** Converts a system error to an `IO` error that says what was being done; returns any other error unchanged. */
export function ioTrouble(error: unknown, doing: string, path?: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof ChronicleError || !(error instanceof Error)) return error;
  const hint = hintOfSystemError(error, errno);
  return new ChronicleError("IO", `${doing}: ${systemMessage(error)}`, {
    cause: error,
    data: { errno, ...optional({ path }) },
    ...optional({ hint }),
  });
}

/** Runs an action, and converts its system errors with `ioTrouble`. */
export function withTrouble<T>(doing: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw ioTrouble(error, doing);
  }
}

/** Returns a message that tells people that a temporary index is used, because the file of the index cannot be used. */
export function withoutIndexFile(why: unknown): string {
  const errno = errnoIn(why);
  const reason = errno === undefined ? "the index cannot be written to the store's disk" : troubleInWords(errno);
  return `${reason}: a temporary index is built from the log, so the history can be read and verified; nothing can be recorded until the disk takes writes again`;
}

/**
 * True for an error whose errno means that the disk is full, read-only or failing. After such an error, the caller can
 * continue without writing.
 */
export function isDiskTrouble(error: unknown): boolean {
  return error instanceof ChronicleError && isTroubleOfDisk(errnoIn(error));
}

function errnoIn(error: unknown): string | undefined {
  const errno = error instanceof ChronicleError ? error.data["errno"] : undefined;
  return typeof errno === "string" ? errno : undefined;
}

/** Returns true for a system error that says that the disk takes no writes now. The disk may still be readable. */
export function takesNoWrites(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"].includes(errnoOf(error) ?? "");
}
