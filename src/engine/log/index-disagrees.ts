import { ChronicleError } from "../../core/values/errors.ts";
import { DAMAGED_LINE } from "./damaged-log.ts";

/**
 * The error for an index that contradicts the log. The error is thrown before anything is changed, so that the caller
 * may rebuild the index and repeat its work.
 */
export class IndexDisagrees extends ChronicleError {
  constructor(what: string, data: Readonly<Record<string, unknown>> = {}) {
    super("INTEGRITY_VIOLATION", `the index does not agree with the log: ${what}`, {
      hint: "run `chronicle rebuild`; if that does not help, `chronicle verify` says what is damaged",
      data,
    });
  }
}

/** Returns the error for an index that contradicts the log even after a rebuild, so that the log itself is damaged. */
export function stillDisagrees(cause: IndexDisagrees): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log contradicts itself even after a rebuild: ${cause.message}`, {
    hint: `nothing was written; ${DAMAGED_LINE}`,
    data: cause.data,
    cause,
  });
}

/** Runs a proof, and returns its result. If the proof throws `INTEGRITY_VIOLATION`, throws `IndexDisagrees` instead. */
export async function disagreeing<T>(proof: () => Promise<T>): Promise<T> {
  try {
    return await proof();
  } catch (error) {
    const isIndex = error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION";
    if (!isIndex || error instanceof IndexDisagrees) throw error;
    throw new IndexDisagrees(error.message, error.data);
  }
}
