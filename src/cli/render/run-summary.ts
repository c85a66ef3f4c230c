import type { RunShape } from "../../api/shapes.ts";
import type { Paint } from "../paint.ts";
import { changeLines, countsOf, leftOutText, missingFrom, skippedLines } from "./changes.ts";
import { counted } from "./counted.ts";
import { printable, shortened } from "./printable.ts";
import type { Worded } from "../worded.ts";

const MOST_PATHS = 10;
const MOST_AMBIGUOUS = 3;
const LONGEST_COMMAND = 60;

/** For whom: people at a terminal get the paths; a log file gets at most three lines. */
export interface SummaryStyle {
  readonly paint: Paint;
  readonly forPeople: boolean;
  /** What `chronicle undo` would take back though this run changed nothing: the work before it, if there is any. */
  readonly undoTakes?: string | undefined;
  readonly worded: Worded;
}

function firstLine(result: RunShape, { undoTakes, worded }: SummaryStyle): string {
  const { changes, rolled_back, undo_id } = result;
  if (changes.length === 0) {
    const nothing =
      result.ambiguous.length === 0 ? "nothing tracked changed" : "nothing changed that is only this run's";
    if (undoTakes === undefined) return nothing;
    return `${nothing} (undo would take back what was done before: ${shortened(printable(undoTakes), LONGEST_COMMAND)})`;
  }
  const what = `${counted(changes.length, "change")} (${countsOf(changes)})`;
  if (rolled_back) return `the command failed: ${what} taken back. Bring back: ${worded("chronicle redo")}`;
  return undo_id === null ? what : `${what}. Take back: ${worded("chronicle undo")}`;
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

function skippedLine(result: RunShape, { worded }: SummaryStyle): string[] {
  const count = result.skipped.length;
  return count === 0
    ? []
    : [`WARNING: ${counted(count, "path")} could not be taken back; see ${worded("chronicle status")}`];
}

function ambiguousLine({ ambiguous, session }: RunShape, { worded }: SummaryStyle): string[] {
  if (ambiguous.length === 0) return [];
  const names = ambiguous.slice(0, MOST_AMBIGUOUS).map(printable);
  const rest = ambiguous.length - names.length;
  const some = `${names.join(", ")}${rest > 0 ? ` and ${rest.toLocaleString("en-US")} more` : ""}`;
  const what = `${counted(ambiguous.length, "path")} changed while another run was going on in this folder too`;
  return [
    `${what}, so that either may have done it: ${some}. undo leaves that alone; ${worded(`chronicle restore seq:${session.from_seq} PATH`)} takes it back`,
  ];
}

function briefLines(result: RunShape, style: SummaryStyle): string[] {
  const [first, ...more] = [
    firstLine(result, style),
    ...missingLine(result),
    ...ambiguousLine(result, style),
    ...skippedLine(result, style),
  ];
  return [`chronicle: ${first}`, ...more.map((line) => `chronicle: ${line}`)];
}

function notCoveredLine(result: RunShape, paint: Paint): string[] {
  const left = leftOutText(result.coverage, { shown: printable });
  return left === "" ? [] : [paint("dim", `not covered (excluded), and not taken back: ${left}`)];
}

function fullLines(result: RunShape, summary: SummaryStyle): string[] {
  const { paint } = summary;
  const style = { paint, shown: printable, most: MOST_PATHS };
  const missing = missingFrom(result.coverage);
  return [
    `${paint("bold", "chronicle:")} ${firstLine(result, summary)}`,
    ...changeLines(result.changes, style),
    ...(missing.length === 0 ? [] : [paint("yellow", "not recorded, cannot be taken back:")]),
    ...skippedLines(missing, style),
    ...ambiguousLine(result, summary),
    ...(result.skipped.length === 0 ? [] : [paint("yellow", "not taken back:")]),
    ...skippedLines(result.skipped, style),
    ...notCoveredLine(result, paint),
    ...(result.changes.length === 0
      ? []
      : [paint("dim", `everything: ${summary.worded(`chronicle show ${result.session.session_id} -p`)}`)]),
  ];
}

/** What is said at the end of a run, line by line. */
export function runSummary(result: RunShape, style: SummaryStyle): string[] {
  return style.forPeople ? fullLines(result, style) : briefLines(result, style);
}
