import { ChronicleError, errnoOf } from "../core/values/errors.ts";

/** Whatever went wrong, as the reason for which a channel is closed. The peer learns no more of a failure here than its kind. */
export function asFatal(error: unknown): ChronicleError {
  if (error instanceof ChronicleError) return error;
  const errno = errnoOf(error);
  return new ChronicleError("IO", `this side has failed${errno === undefined ? "" : ` (${errno})`}`, { cause: error });
}
