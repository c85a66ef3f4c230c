import { systemMessage } from "../core/errno.ts";
import { ChronicleError, errnoOf, hintOfSystemError } from "../core/errors.ts";

/** The same trouble as an `IO` error that says what was tried (with which file); anything but a system error comes back as it is. */
export function ioTrouble(error: unknown, doing: string, path?: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof ChronicleError || !(error instanceof Error)) return error;
  const hint = hintOfSystemError(error, errno);
  return new ChronicleError("IO", `${doing}: ${systemMessage(error)}`, {
    cause: error,
    data: { errno, ...(path === undefined ? {} : { path }) },
    ...(hint === undefined ? {} : { hint }),
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

/** Does the error say that the disk takes no writes now, though it may be read? */
export function takesNoWrites(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"].includes(errnoOf(error) ?? "");
}
