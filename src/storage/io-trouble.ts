import { ChronicleError, errnoOf, NO_PERMISSION } from "../core/errors.ts";

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: "Free some space; nothing was lost, and the store goes on working then.",
  EDQUOT: "Free some space or raise the disk quota; nothing was lost, and the store goes on working then.",
  EROFS: "The file system is mounted read-only.",
  EACCES: NO_PERMISSION,
  EMFILE: "Too many files are open; raise the limit (ulimit -n).",
};

/** The same trouble as an `IO` error that says what was tried; anything but a system error comes back as it is. */
export function ioTrouble(error: unknown, doing: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof ChronicleError) return error;
  const hint = HINTS[errno];
  return new ChronicleError("IO", `${doing}: ${errno}`, {
    cause: error,
    data: { errno },
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
