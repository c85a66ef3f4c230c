import type { RunShape } from "../../api/shapes.ts";
import type { Paint } from "../paint.ts";
import { changeLines, countsOf, missingFrom, skippedLines } from "./changes.ts";
import { counted } from "./counted.ts";
import { printable } from "./printable.ts";

const MOST_PATHS = 10;

/** For whom: people at a terminal get the paths; a log file gets at most three lines. */
export interface SummaryStyle {
  readonly paint: Paint;
  readonly forPeople: boolean;
}

function firstLine(result: RunShape): string {
  const { changes, rolled_back, undo_id } = result;
  if (changes.length === 0) return "nothing changed";
  const what = `${counted(changes.length, "change")} (${countsOf(changes)})`;
  if (rolled_back) return `the command failed: ${what} taken back. Bring back: chronicle redo`;
  return undo_id === null ? what : `${what}. Take back: chronicle undo`;
}

function missingLine(result: RunShape): string[] {
  const missing = missingFrom(result.coverage);
  const [first] = missing;
  if (result.coverage.complete || first === undefined) return [];
  const example = `${printable(first.path)} (${printable(first.reason)})`;
  return [
    `WARNING: ${counted(missing.length, "path")} could not be recorded and cannot be taken back, such as ${example}`,
  ];
}

function skippedLine(result: RunShape): string[] {
  const count = result.skipped.length;
  return count === 0 ? [] : [`WARNING: ${counted(count, "path")} could not be taken back; see chronicle status`];
}

function ambiguousLine({ ambiguous }: RunShape): string[] {
  if (ambiguous.length === 0) return [];
  const more = `${counted(ambiguous.length, "path")} changed while another run was going on: nobody's, not taken back`;
  return [`${more} by undo, such as ${printable(ambiguous[0] ?? "")}`];
}

function briefLines(result: RunShape): string[] {
  const [first, ...more] = [
    firstLine(result),
    ...missingLine(result),
    ...ambiguousLine(result),
    ...skippedLine(result),
  ];
  return [`chronicle: ${first}`, ...more.map((line) => `chronicle: ${line}`)];
}

function fullLines(result: RunShape, paint: Paint): string[] {
  const style = { paint, shown: printable, most: MOST_PATHS };
  const missing = missingFrom(result.coverage);
  return [
    `${paint("bold", "chronicle:")} ${firstLine(result)}`,
    ...changeLines(result.changes, style),
    ...(missing.length === 0 ? [] : [paint("yellow", "not recorded, cannot be taken back:")]),
    ...skippedLines(missing, style),
    ...ambiguousLine(result),
    ...(result.skipped.length === 0 ? [] : [paint("yellow", "not taken back:")]),
    ...skippedLines(result.skipped, style),
    ...(result.changes.length === 0
      ? []
      : [paint("dim", `everything: chronicle show ${result.session.session_id} -p`)]),
  ];
}

/** What is said at the end of a run, line by line. */
export function runSummary(result: RunShape, style: SummaryStyle): string[] {
  return style.forPeople ? fullLines(result, style.paint) : briefLines(result);
}
