import { ChronicleError } from "../../core/values/errors.ts";
import type { LogPosition } from "../../storage/event-log.ts";

/** The hints for a log with damaged lines. */

const WAYS =
  "run `chronicle verify` for the whole list, and restore the log from a copy; without a copy, `chronicle restore MOMENT --to DIR` saves " +
  "what can be read, and `chronicle forget` and `chronicle init` start a new history";

/** The hint if a line of the log cannot be read. */
export const DAMAGED_LINE = WAYS;

/** The hint if nothing can be written any more. */
export const DAMAGED_LOG = `nothing is written any more; ${WAYS}`;

/** The hint if the damage is so early that no state can be read. */
export const NOTHING_READABLE =
  "nothing is written any more, and no earlier state can be read; run `chronicle verify` for the whole list, and restore " +
  "the log from a copy; without a copy, `chronicle forget` and `chronicle init` start a new history (the recorded contents stay in the store until then)";

/** The hint if the workspace cannot be opened, because the first line of its log is damaged and its index is gone. */
export const NOT_OPENED =
  "the workspace cannot be opened: restore the log from a copy; without a copy, `chronicle forget` and `chronicle init` start a new history " +
  "(the recorded contents stay in the store until then)";

export function damagedAt(
  { seq, offset }: LogPosition,
  lineNumber: number,
  detail: string,
  hint: string = DAMAGED_LOG,
): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log is damaged at event ${seq}: ${detail}`, {
    hint,
    data: { seq, offset, line: lineNumber },
  });
}
