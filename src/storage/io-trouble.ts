import { isTroubleOfDisk, systemMessage, troubleInWords } from "../core/values/errno.ts";
import { ChronicleError, errnoOf, hintOfSystemError } from "../core/values/errors.ts";
import { optional } from "../util/optional.ts";

/** The same trouble as an `IO` error that says what was tried (with which file); anything but a system error comes back as it is. */
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

/** Does what `action` does; a system error becomes an `IO` error. */
export function withTrouble<T>(doing: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw ioTrouble(error, doing);
  }
}

/** What is said where an index goes on without its file. */
export function withoutIndexFile(why: unknown): string {
  const errno = errnoIn(why);
  const reason = errno === undefined ? "the store's disk does not take the index" : troubleInWords(errno);
  return `${reason}: what is derived from the log is read into a temporary index, and can be read and verified; nothing can be recorded before the disk takes writes again`;
}

/** Does the error say that the disk takes no writes of what could be done without them? */
export function isDiskTrouble(error: unknown): boolean {
  return error instanceof ChronicleError && isTroubleOfDisk(errnoIn(error));
}

function errnoIn(error: unknown): string | undefined {
  const errno = error instanceof ChronicleError ? error.data["errno"] : undefined;
  return typeof errno === "string" ? errno : undefined;
}

/** Does the error say that the disk takes no writes now, though it may be read? */
export function takesNoWrites(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"].includes(errnoOf(error) ?? "");
}
