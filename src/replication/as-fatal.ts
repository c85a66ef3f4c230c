import { ChronicleError, errnoOf } from "../core/values/errors.ts";

/**
 * Returns any failure as the reason for which a channel is closed. Of a failure here, the peer learns only its kind.
 */
export function asFatal(error: unknown): ChronicleError {
  if (error instanceof ChronicleError) return error;
  const errno = errnoOf(error);
  return new ChronicleError("IO", `this side has failed${errno === undefined ? "" : ` (${errno})`}`, { cause: error });
}
