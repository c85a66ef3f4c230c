import { argumentOfShown } from "../../core/shell/quote-command.ts";
import type { RunShape } from "../../api/shapes.ts";
import { withoutRenamedFrom } from "../../api/renamed-changes.ts";
import { type Paint, printable, shortened } from "../../process/printable.ts";
import { changeLines, countsOf, leftOutText, missingFrom, skippedLines } from "./changes.ts";
import { gitLines } from "./git-changes.ts";
import { copyLines } from "./restored.ts";
import { counted } from "./words.ts";
import { harmlessLines, lossLines, takenBackLines } from "./omitted-changes.ts";
import type { WithGlobalOptions } from "../table/with-global-options.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";

const MOST_PATHS = 10;
const MOST_AMBIGUOUS = 3;
const MOST_NOTES = 3;
const LONGEST_COMMAND = 60;
const SHORT_ID = 8;

/**
 * The style of a summary. With `forPeople` (at a terminal), the summary lists the paths. Otherwise (for a log file),
 * the summary has one line, and one more line for each remark.
 */
export interface SummaryStyle {
  readonly paint: Paint;
  readonly forPeople: boolean;
  /**
   * The summary of the earlier operation that `chronicle undo` would undo. It is given only if this run changed
   * nothing.
   */
  readonly undoTakes?: string | undefined;
  /**
   * True if the run was within another run. The hints then name this run by its id, because a plain `undo` or `redo`
   * means the outer run once that run has ended.
   */
  readonly isNested?: boolean;
  readonly worded: WithGlobalOptions;
}

/** Returns the command that undoes or redoes the run. */
function stepOf(verb: "undo" | "redo", { session }: RunShape, { isNested = false, worded }: SummaryStyle): string {
  return worded(isNested ? `chronicle ${verb} ${session.session_id.slice(0, SHORT_ID)}` : `chronicle ${verb}`);
}

function firstLine(result: RunShape, style: SummaryStyle): string {
  const { undoTakes, worded } = style;
  const { changes, rolled_back, not_rolled_back: left, not_recorded: unrecorded, undo_id } = result;
  if (unrecorded !== null) {
    const why = printable(unrecorded.reason);
    return `NOT recorded: the command's changes could not be recorded (${why}). To restore the state before the run: ${worded(unrecorded.hint)}`;
  }
  if (changes.length === 0 && rolled_back)
    return `the command failed: what it changed was taken back. Bring back: ${stepOf("redo", result, style)}`;
  if (changes.length === 0 && (result.git?.length ?? 0) > 0 && undo_id !== null)
    return `git changed. Take back: ${stepOf("undo", result, style)}`;
  if (changes.length === 0) {
    const nothing = nothingOf(result);
    if (undoTakes === undefined) return nothing;
    return `${nothing} (undo would take back what was done before: ${shortened(printable(undoTakes), LONGEST_COMMAND)})`;
  }
  const what = `${counted(withoutRenamedFrom(changes).length, "change")} (${countsOfRun(result)})`;
  if (rolled_back) return `the command failed: ${what} taken back. Bring back: ${stepOf("redo", result, style)}`;
  if (undo_id === null) return left === null ? what : `${what}, partly taken back`;
  // The next two texts do not suggest `undo`, because the transaction of `--rollback-on-failure` may still be active.
  // `undo` would first roll back that transaction, and then also undo the operation before the run.
  if (left !== null) return `${what}, not taken back`;
  if (result.not_committed !== undefined) return what;
  return `${what}. Take back: ${stepOf("undo", result, style)}`;
}

/** Returns the numbers of changed paths. Created paths that may have existed before the run are counted separately. */
function countsOfRun({ changes, newly_recorded: newly = [] }: RunShape): string {
  if (newly.length === 0) return countsOf(changes);
  const own = changes.filter(({ path, change_type: type }) => type !== "created" || !newly.includes(path));
  return [...(own.length === 0 ? [] : [countsOf(own)]), `${groupedDigits(newly.length)} newly recorded`].join(", ");
}

function nothingOf(result: RunShape): string {
  if (result.ambiguous.length > 0) return "nothing changed that certainly belongs to this run";
  return unrecordedOf(result).length > 0 ? "nothing changed that could be recorded" : "nothing tracked changed";
}

/** Returns the paths that have an earlier recorded state, but whose state after the run could not be recorded. */
function unrecordedOf({ session }: RunShape): readonly string[] {
  return (session.omitted_changes ?? []).flatMap(({ path, recorded }) => (recorded === true ? [path] : []));
}

/**
 * Returns the paths that could not be recorded. Paths with an earlier recorded state are left out, because that state
 * can be restored.
 */
function lackingIn(result: RunShape): ReturnType<typeof missingFrom> {
  const unrecorded = new Set(unrecordedOf(result));
  return missingFrom(result.coverage).filter(({ path }) => !unrecorded.has(path));
}

/** Returns a line with the command that restores the paths of `unrecordedOf` to their earlier recorded state. */
function comebackLine(result: RunShape, { worded }: SummaryStyle): string[] {
  const left = result.not_rolled_back?.paths ?? [];
  const [first, ...more] = unrecordedOf(result).filter((path) => !left.includes(path));
  if (first === undefined) return [];
  const which = more.length === 0 ? argumentOfShown(first) : "PATH...";
  const before = worded(`chronicle restore seq:${result.session.from_seq} ${which}`);
  return [`to restore the state before the run, move ${more.length === 0 ? "it" : "them"} away, then: ${before}`];
}

function harmlessOf({ session, rolled_back, not_rolled_back: left, undo_id }: RunShape): string[] {
  const isTakenBack = rolled_back || (left !== null && undo_id === null);
  return isTakenBack ? takenBackLines(session.omitted_changes, left?.paths) : harmlessLines(session.omitted_changes);
}

function missingLine(result: RunShape): string[] {
  const missing = lackingIn(result);
  const [first] = missing;
  if (result.coverage.complete || first === undefined) return [];
  const example = `${printable(first.path)} (${printable(first.reason)})`;
  return [
    `WARNING: ${counted(missing.length, "path")} could not be recorded and cannot be taken back, such as ${example}`,
  ];
}

function leftLine({ not_rolled_back: left, exit_code: code }: RunShape, { worded }: SummaryStyle): string[] {
  if (left === null) return [];
  const why = `${printable(left.reason)}; the command failed with exit code ${code}`;
  const what = left.paths.length === 0 ? "what it changed" : somePaths(left.paths);
  return [`NOT rolled back: ${what} (${why}). Next: ${worded(left.hint)}`];
}

function uncommittedLine({ not_committed: open }: RunShape, { worded }: SummaryStyle): string[] {
  if (open === undefined) return [];
  const why = `the command succeeded, but ${printable(open.reason)}`;
  return [`NOT committed: ${why}. To keep what it changed: ${worded(open.hint)}`];
}

function noteLines({ notes = [] }: RunShape): string[] {
  const more = notes.length - MOST_NOTES;
  return [
    ...notes.slice(0, MOST_NOTES).map((note) => `note: ${printable(note)}`),
    ...(more > 0 ? [`note: the earlier state of ${groupedDigits(more)} more paths is not known`] : []),
  ];
}

/**
 * Returns a line about copies that were kept beside files, because others wrote to the files during the rollback.
 * Leaves out the copies that `leftLine` names.
 */
function copiesLine({ conflicts, not_rolled_back: left }: RunShape): string[] {
  const copies = conflicts.map(({ kept_at: at }) => at).filter((at) => left?.paths.includes(at) !== true);
  if (copies.length === 0) return [];
  return [
    `files were written to while they were taken back, and copies of what was written are kept beside them: ${somePaths(copies)}`,
  ];
}

function somePaths(paths: readonly string[]): string {
  const names = paths.slice(0, MOST_AMBIGUOUS).map(printable);
  const rest = paths.length - names.length;
  return `${names.join(", ")}${rest > 0 ? ` and ${groupedDigits(rest)} more` : ""}`;
}

function ambiguousLine({ ambiguous, session, not_rolled_back: left }: RunShape, { worded }: SummaryStyle): string[] {
  if (ambiguous.length === 0 || left !== null) return [];
  const what = `${counted(ambiguous.length, "path")} changed while another run was going on in this folder too`;
  return [
    `${what}, and either run may have changed them: ${somePaths(ambiguous)}. undo leaves them alone; ${worded(`chronicle restore seq:${session.from_seq} PATH`)} restores a path`,
  ];
}

/**
 * Returns a line about the paths that are off the record because of this command or an earlier one. An undo does not
 * restore them.
 */
function offRecordLine({ coverage }: RunShape): string[] {
  const paths = coverage.omitted.filter(({ reason }) => reason === "off-record").map(({ path }) => path);
  if (paths.length === 0) return [];
  const are = paths.length === 1 ? "1 path is" : `${groupedDigits(paths.length)} paths are`;
  return [`${are} off the record, and not taken back: ${somePaths(paths)}`];
}

function briefLines(result: RunShape, style: SummaryStyle): string[] {
  const [first, ...more] = [
    firstLine(result, style),
    ...gitLines(result.git),
    ...lossLines(result.session.omitted_changes).map((line) => `WARNING: ${line}`),
    ...harmlessOf(result),
    ...comebackLine(result, style),
    ...noteLines(result),
    ...offRecordLine(result),
    ...missingLine(result),
    ...ambiguousLine(result, style),
    ...leftLine(result, style),
    ...uncommittedLine(result, style),
    ...copiesLine(result),
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
  const missing = lackingIn(result);
  return [
    `${paint("bold", "chronicle:")} ${firstLine(result, summary)}`,
    ...changeLines(result.changes, style),
    ...gitLines(result.git),
    ...lossLines(result.session.omitted_changes).map((line) => paint("red", line)),
    ...harmlessOf(result),
    ...comebackLine(result, summary),
    ...noteLines(result).map((line) => paint("yellow", line)),
    ...offRecordLine(result),
    ...(missing.length === 0 ? [] : [paint("yellow", "not recorded, cannot be taken back:")]),
    ...skippedLines(missing, style),
    ...ambiguousLine(result, summary),
    ...leftLine(result, summary).map((line) => paint("yellow", line)),
    ...uncommittedLine(result, summary).map((line) => paint("yellow", line)),
    ...(result.skipped.length === 0 ? [] : [paint("yellow", "not taken back:")]),
    ...skippedLines(result.skipped, style),
    ...copyLines(result.conflicts, style),
    ...notCoveredLine(result, paint),
    ...(result.changes.length === 0
      ? []
      : [paint("dim", `everything: ${summary.worded(`chronicle show ${result.session.session_id} -p`)}`)]),
  ];
}

export function runSummary(result: RunShape, style: SummaryStyle): string[] {
  return style.forPeople ? fullLines(result, style) : briefLines(result, style);
}
