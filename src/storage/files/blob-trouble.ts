import { ChronicleError } from "../../core/errors.ts";
import type { Hash } from "../../core/hash.ts";

/** The stored bytes of a content are not that content. */
export function corrupt(hash: Hash, where: string, why: string): ChronicleError {
  return new ChronicleError("BLOB_CORRUPT", `content ${hash} is damaged in ${where}: ${why}`, {
    hint: "Run verify to see all that is damaged; recording the same content again mends it.",
    data: { hash, where },
  });
}

/** The store can take no more writes before it is opened again. */
export function poisoned(what: string): ChronicleError {
  return new ChronicleError("POISONED", `${what} takes no writes: an earlier sync failed`, {
    hint: "Check the disk, then open the store again: a process that stays (`chronicle serve`, a sync) has to be ended and started again. What was acknowledged is safe.",
  });
}
