import { hintOfErrno } from "../../core/values/errno.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { optional } from "../../util/optional.ts";

export function corrupt(hash: Hash, where: string, why: string): ChronicleError {
  return new ChronicleError("BLOB_CORRUPT", `content ${hash} is damaged in ${where}: ${why}`, {
    hint: "`chronicle verify` lists everything that is damaged. Recording the same content again repairs this content.",
    data: { hash, where },
  });
}

/** The reason why a store or log that was poisoned by a failed sync still takes no writes. */
export interface StillPoisoned {
  readonly why: string;
  /** The errno with which the disk refuses a write now, or the errno of the failed sync if no write was tried. */
  readonly errno?: string | undefined;
  readonly cause?: unknown;
  readonly path?: string;
  /** True if the store or log stays poisoned until it is reopened. */
  readonly stays?: boolean;
}

export function poisoned(what: string, { why, errno, cause, path, stays }: StillPoisoned): ChronicleError {
  const next = errno === undefined ? "try again" : (hintOfErrno(errno) ?? "check the disk");
  const hint =
    stays === true
      ? "check the disk, then open the workspace again: a long-running process (`chronicle serve`, a sync) must be restarted. What was acknowledged is safe."
      : `${next}. What was acknowledged is safe; writing continues as soon as the disk takes a write, without a restart.`;
  return new ChronicleError("POISONED", `${what} takes no writes: an earlier sync failed, and ${why}`, {
    hint,
    data: {
      ...optional({ errno, path }),
      ...(stays === true ? { stays } : {}),
    },
    ...optional({ cause }),
  });
}

export function stillSays(errno: string): StillPoisoned {
  return { why: `the disk still refuses writes (${errno})`, errno };
}
