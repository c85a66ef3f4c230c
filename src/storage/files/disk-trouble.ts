import { ChronicleError, errnoOf, NO_PERMISSION } from "../../core/errors.ts";

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full: free some space and try again",
  EDQUOT: "the disk quota is used up: free some space and try again",
  EROFS: "the file system is read-only",
  EACCES: NO_PERMISSION,
  EMFILE: "too many files are open in this process",
  ENFILE: "too many files are open on this machine",
};

/** A disk's error as `IO` that says what was being done; anything else as it is. */
export function diskTrouble(error: unknown, doing: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || !(error instanceof Error)) return error;
  const hint = HINTS[errno];
  return new ChronicleError("IO", `${doing}: ${error.message}`, {
    cause: error,
    data: { errno },
    ...(hint === undefined ? {} : { hint }),
  });
}
