import type { UndoOptions } from "../../api/workspace-api.ts";
import type { LineRange } from "../../core/tree/pick-hunks.ts";
import { ChronicleError } from "../../core/values/errors.ts";

/** Returns the lines that the options of an undo name; `undefined` if they name none. Throws `USAGE` if they are invalid. */
export function linesOf({ file, fromLine, toLine }: Pick<UndoOptions, "file" | "fromLine" | "toLine">): LineRange | undefined {
  if (fromLine === undefined && toLine === undefined) return undefined;
  const from = fromLine ?? 1;
  const to = toLine ?? fromLine ?? 1;
  const isLine = (line: number): boolean => Number.isSafeInteger(line) && line >= 1;
  if (fromLine === undefined || !isLine(from) || !isLine(to) || to < from) {
    throw new ChronicleError("USAGE", "these are not lines of a file", {
      hint: "give the first line, and perhaps the last one, which comes after it; lines are counted from 1",
    });
  }
  if (file !== undefined) return { from, to };
  throw new ChronicleError("USAGE", "lines were given without their file", { hint: "give the file, too" });
}
