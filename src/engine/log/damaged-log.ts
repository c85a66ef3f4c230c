import { ChronicleError } from "../../core/values/errors.ts";
import type { LogPosition } from "../../storage/event-log.ts";

/** The hints for a log with damaged lines. */

const WAYS =
  "run `chronicle verify` for the whole list, and restore the log from a copy; without one, `chronicle restore MOMENT --to DIR` takes out " +
  "what can be read, and `chronicle forget` and `chronicle init` begin anew";

/** The hint if a line of the log cannot be read. */
export const DAMAGED_LINE = WAYS;

/** The hint if nothing can be written any more. */
export const DAMAGED_LOG = `nothing is written any more; ${WAYS}`;

/** Returns the error for a line that does not continue the log. */
export function damagedAt({ seq, offset }: LogPosition, lineNumber: number, detail: string): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log is damaged at event ${seq}: ${detail}`, {
    hint: DAMAGED_LOG,
    data: { seq, offset, line: lineNumber },
  });
}
