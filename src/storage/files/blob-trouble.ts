import { hintOfErrno } from "../../core/values/errno.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { optional } from "../../util/optional.ts";

/** The stored bytes of a content are not that content. */
export function corrupt(hash: Hash, where: string, why: string): ChronicleError {
  return new ChronicleError("BLOB_CORRUPT", `content ${hash} is damaged in ${where}: ${why}`, {
    hint: "Run verify to see all that is damaged; recording the same content again mends it.",
    data: { hash, where },
  });
}

/** Why what was poisoned by a failed sync stays so. */
export interface StillPoisoned {
  readonly why: string;
  /** What the disk says to a write now; of what stays so, what it said then. */
  readonly errno?: string | undefined;
  readonly cause?: unknown;
  /** The file that it is about, where it is one. */
  readonly path?: string;
  /** It stays so for as long as it is open. */
  readonly stays?: boolean;
}

/** No writes are taken: a sync has failed, and the disk, or something that is under way, does not let it be opened anew yet. */
export function poisoned(what: string, { why, errno, cause, path, stays }: StillPoisoned): ChronicleError {
  const next = errno === undefined ? "try again" : (hintOfErrno(errno) ?? "check the disk");
  const hint =
    stays === true
      ? "check the disk, then open the workspace again: a process that stays (`chronicle serve`, a sync) has to be ended and started again. What was acknowledged is safe."
      : `${next}. What was acknowledged is safe; writes are taken again as soon as the disk takes one, without a restart.`;
  return new ChronicleError("POISONED", `${what} takes no writes: an earlier sync failed, and ${why}`, {
    hint,
    data: {
      ...optional({ errno, path }),
      ...(stays === true ? { stays } : {}),
    },
    ...optional({ cause }),
  });
}

/** The same of a disk that says why. */
export function stillSays(errno: string): StillPoisoned {
  return { why: `the disk still says ${errno} to a write there`, errno };
}
