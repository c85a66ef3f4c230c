import { basename } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { Selection } from "../../../api/action-api.ts";
import type { UndoShape } from "../../../api/shapes.ts";
import type { UndoOptions, UndoPart, WorkspaceApi } from "../../../api/workspace-api.ts";
import { confirm, previewed } from "../../support/confirm.ts";
import type { CommandContext } from "../../support/context.ts";
import { patchLines } from "../../render/patch.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";
import { usageError } from "../../../process/usage-error.ts";
import { withCandidates, withEditedShown } from "../../support/find-file.ts";
import type { ChangesStyle } from "../../render/changes.ts";
import { conflictLines, SETTLE } from "../../render/conflicts.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { choosePartsOf, refuseWithoutTerminal } from "../../support/choose-parts.ts";
import { printable } from "../../../process/printable.ts";
import { mostLines, restoredLines, restoredSentence } from "../../render/restored.ts";
import { ago } from "../../render/words.ts";
import { selectionOf } from "../../support/selection.ts";
import { optional } from "../../../util/optional.ts";

export function undo(context: CommandContext): Promise<number> {
  return stepBack(context, { verb: "undo", step: (workspace, options) => workspace.undo(options) });
}

export function redo(context: CommandContext): Promise<number> {
  return stepBack(context, { verb: "redo", step: (workspace, options) => workspace.redo(options) });
}

/** Takes back the selected work, and merges the result with later work of others. */
export function undoSelected(context: CommandContext, selection: Selection): Promise<number> {
  return stepBack(context, { verb: "undo", step: (workspace, options) => workspace.undo(options), selection });
}

interface Direction {
  readonly verb: "undo" | "redo";
  readonly step: (workspace: WorkspaceApi, options: UndoOptions) => Promise<UndoShape>;
  /** The work to undo or redo. Default: the work that the arguments and the options of the command name. */
  readonly selection?: Selection;
}

const PREVIEW_LINES = 40;

function summaryOf(context: CommandContext, result: UndoShape): string {
  const { operation, selection } = result;
  const isOperation = operation !== null && (selection === undefined || selection === `operation ${operation.id}`);
  // The redo of an undo is shown with the name of the work that was undone.
  if (operation?.kind === "undo" && selection?.startsWith("operation ") === true)
    return printable(operation.summary.replace(/^undo of /, ""));
  if (operation !== null && selection?.startsWith(`operation ${operation.id} in `) === true) {
    const where = printable(selection.slice(`operation ${operation.id}`.length));
    return `${operation.kind}: ${printable(operation.summary)}${where}  (${ago(operation.started, context.io.now())})`;
  }
  if (!isOperation) return `${printable(selection ?? "")}${piecesOf(result)}`;
  return `${operation.kind}: ${printable(operation.summary)}  (${ago(operation.started, context.io.now())})`;
}

function piecesOf({ pieces }: UndoShape): string {
  return pieces === undefined ? "" : `: ${pieces} ${pieces === 1 ? "piece" : "pieces"} of work`;
}

/**
 * The direction of a step (undo or redo), and whether the user was asked for confirmation (`asked`). If so, the
 * question has already shown the first changes.
 */
interface Telling extends Direction {
  readonly asked: boolean;
}

const DONE = { undo: "taken back", redo: "done again" } as const;

function print(context: CommandContext, workspace: WorkspaceApi, result: UndoShape, telling: Telling): void {
  const done = DONE[result.direction];
  const paths = context.paths(workspace);
  const most = mostLines(result, telling.asked);
  const style = { paint: context.paint, shown: (path: string) => paths.shown(path), most };
  if (result.finished.length > 0) return printFinished(context, result, style);
  for (const note of result.notes) context.print(context.paint("yellow", `note: ${context.worded(printable(note))}`));
  if (!telling.asked) context.print(summaryOf(context, result));
  const hunks = hunkLines(result, { paint: context.paint, escape: context.io.out.isTerminal });
  for (const line of [...restoredLines(result, style), ...hunks]) context.print(line);
  for (const line of unmergedLines(result, style)) context.print(line);
  // If nothing was changed, the sentence of `restoredSentence` is left out in two cases:
  // - Something conflicts. The sentence would wrongly say that there is nothing to change, so another text is printed.
  // - A selection has nothing to undo, and nothing was skipped. A note already gives the reason.
  const isDone = isChanged(result);
  if (isDone || (result.unmerged.length === 0 && (result.selection === undefined || result.skipped.length > 0)))
    context.print(restoredSentence(result, result.dry_run ? `would be ${done}` : done));
  else if (result.unmerged.length > 0) context.print(`nothing ${result.dry_run ? "would be" : "was"} ${done}`);
  if (result.unmerged.length > 0 && !result.dry_run) context.print(context.paint("dim", context.worded(SETTLE)));
  // A step that changed nothing cannot be taken back, so no command for this is printed.
  if (result.dry_run || !isDone) return;
  const other = result.direction === "undo" ? "chronicle redo brings it back" : "chronicle undo takes it back";
  context.print(context.paint("dim", context.worded(other)));
}

/** True if the step changed anything (or would change anything). Changes of omitted paths and of git count as well. */
function isChanged({ changes, kept_aside: aside = [], git = [] }: UndoShape): boolean {
  return changes.length + aside.length + git.length > 0;
}

function unmergedLines({ changes, unmerged, dry_run: dryRun }: UndoShape, style: ChangesStyle): string[] {
  if (unmerged.length === 0) return [];
  // If a path is both changed and in conflict, some parts of the file have merged and others have not.
  const changed = new Set(changes.map(({ path }) => path));
  const isPart = unmerged.some(({ path }) => changed.has(path));
  const what = isPart
    ? "in each file, the lines that conflict stay as they are, and the others change"
    : "the file stays as it is";
  const head = `${dryRun ? "would be" : "these are"} conflicts (${what}, both contents are kept):`;
  return [style.paint("yellow", head), ...conflictLines(unmerged, style)];
}

/** Returns the hunks that a dry run for some lines of a file would take back, as a patch. */
function hunkLines({ changes, dry_run: dryRun }: UndoShape, style: Parameters<typeof patchLines>[1]): string[] {
  if (!dryRun) return [];
  const patched = changes.filter(({ patch, protected: isSecret }) => patch !== undefined || isSecret === true);
  return patchLines(patched, style);
}

function printFinished(context: CommandContext, result: UndoShape, style: ChangesStyle): void {
  for (const note of result.finished) context.print(printable(note));
  for (const line of restoredLines(result, style)) context.print(line);
  context.print(restoredSentence(result, result.dry_run ? "would be changed" : "changed"));
  const next = "only the interrupted step was finished; for another step, give the command again";
  context.print(context.paint("dim", next));
}

/** The options of the step that will be done. `asked`: see `Telling`. */
interface Agreed {
  readonly options: UndoOptions;
  readonly asked: boolean;
}

/**
 * Decides by a dry run whether the step (the undo or redo) needs a question. If so, shows the step, and asks the user
 * whether the step should be done. Returns options for exactly the step of the dry run; `undefined` if the user
 * declines. If other work has changed the step while the question was open, asks again.
 */
async function agreed(
  context: CommandContext,
  workspace: WorkspaceApi,
  options: UndoOptions,
  direction: Direction,
): Promise<Agreed | undefined> {
  const look = (how: UndoOptions): Promise<UndoShape> => direction.step(workspace, { ...how, dryRun: true });
  let meant = options;
  const first = await previewed(context, workspace, () => look(meant));
  const { needsQuestion } = first;
  let { preview } = first;
  for (;;) {
    const resumes = preview.finished.length > 0;
    // There is nothing to do. No question is asked, because the step itself reports the reason.
    if (!resumes && isNothingToDo(preview)) return { options: meant, asked: false };
    if (needsQuestion && !(await isWanted(context, workspace, preview))) return undefined;
    meant = shownStep(meant, preview);
    // A named operation cannot change while the question is open. In all other cases (a selection, lines of a file, an
    // interrupted step), the options may mean something else afterwards, so the step is previewed again.
    const isNamed = preview.operation !== null && meant.parts === undefined;
    if (!needsQuestion || (!resumes && isNamed)) return { options: meant, asked: needsQuestion };
    const now = await look(meant);
    if (isSameStep(preview, now)) return { options: meant, asked: true };
    context.say("something else was done meanwhile, so the question is asked again:");
    preview = now;
  }
}

/**
 * Returns options that name exactly the operation that was shown, or the moments that were shown for `--since`, `--to`
 * and `--until`. With the given options, `undo` could act on an operation that ended after the preview, and a relative time such as
 * `10m` would mean a later moment. For any other step, returns the given options.
 */
function shownStep(options: UndoOptions, { finished, operation, selection = "" }: UndoShape): UndoOptions {
  if (finished.length > 0) return options;
  if (operation !== null) return { ...options, operation: operation.id };
  const [, moment, until] = /^(?:since|to|from|work from) (seq:\d+)(?: until (seq:\d+))?/.exec(selection) ?? [];
  const by = options.since === undefined ? "to" : "since";
  if (moment === undefined || options[by] === undefined) return options;
  // The shown moment may be inside a commit. Without an end, it would be moved to the end of the commit.
  return { ...options, [by]: moment, until: until ?? "now" };
}

function isSameStep(one: UndoShape, other: UndoShape): boolean {
  const told = ({ operation, selection, finished, changes, unmerged }: UndoShape): string =>
    JSON.stringify([operation?.id, selection, finished, changes, unmerged]);
  return told(one) === told(other);
}

async function isWanted(context: CommandContext, workspace: WorkspaceApi, preview: UndoShape): Promise<boolean> {
  const resumes = preview.finished.length > 0;
  const paths = context.paths(workspace);
  const style = { paint: context.paintErr, shown: (path: string) => paths.shown(path), most: PREVIEW_LINES };
  for (const note of resumes ? preview.finished : [summaryOf(context, preview)]) context.say(note);
  for (const note of preview.notes) context.say(context.paintErr("yellow", `note: ${context.worded(printable(note))}`));
  const hunks = hunkLines(preview, { paint: context.paintErr, escape: context.io.err.isTerminal });
  for (const line of [...restoredLines(preview, style), ...hunks, ...unmergedLines(preview, style)]) context.say(line);
  if (resumes) return confirm(context, "Finish it?");
  return confirm(context, `${preview.direction === "undo" ? "Take this back" : "Do this again"}?`);
}

function isNothingToDo(preview: UndoShape): boolean {
  if (preview.selection !== undefined) return !isChanged(preview) && preview.unmerged.length === 0;
  return preview.operation === null;
}

function isNothing(result: UndoShape): boolean {
  return result.operation === null && result.selection === undefined && result.finished.length === 0;
}

/**
 * Returns what the arguments and the options of the command mean: an operation, lines of a file (`FILE:10-20`), several
 * files, or a selection of work.
 */
async function meantBy(
  context: CommandContext,
  workspace: WorkspaceApi,
  verb: Direction["verb"],
): Promise<UndoOptions> {
  const { args } = context.input;
  const [argument] = args;
  const selection = await selectionOf(context, workspace);
  const isAlone = args.length === 1 && (verb === "redo" || linesIn(argument ?? "") === undefined);
  if (argument === undefined || isAlone) return { ...optional({ operation: argument }), ...selection };
  const parts: UndoPart[] = [];
  for (const one of args) parts.push(await partIn(context, workspace, one));
  if (selection.file !== undefined)
    throw usageError("--file and files as arguments cannot be given together", "give the files with their lines only");
  return { ...selection, parts };
}

/** Returns the part that an argument means: `FILE:10-20` or `FILE`. */
async function partIn(context: CommandContext, workspace: WorkspaceApi, argument: string): Promise<UndoPart> {
  const paths = context.paths(workspace);
  const whole = await paths.toWorkspace(argument);
  const lines = linesIn(argument);
  if (lines === undefined) return { file: whole };
  const { file, ...range } = lines;
  if (!(await workspace.find(basename(whole))).includes(whole))
    return { file: await paths.toWorkspace(file), ...range };
  const named = quotePath(argument);
  throw usageError(
    `${argument} is the name of a recorded file`,
    `\`chronicle undo --file ${named}\` takes back the work on this file, and \`chronicle undo ${named}:1-9\` only the work at these lines`,
  );
}

/** Parses `FILE:12` and `FILE:10-20`. Returns `undefined` for another text, such as an id. */
function linesIn(
  argument: string,
): { readonly file: string; readonly fromLine: number; readonly toLine: number } | undefined {
  const match = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s.exec(argument);
  if (match === null) return undefined;
  const [, file = "", first = "", last = first] = match;
  const [fromLine, toLine] = [Number(first), Number(last)];
  if (fromLine >= 1 && toLine >= fromLine) return { file, fromLine, toLine };
  throw usageError(
    `not lines of a file: ${argument}`,
    "give them as FILE:12 or FILE:10-20; lines are counted from 1, and the last one comes after the first",
  );
}

/**
 * Lets a person choose files and hunks of the step. Returns the options of the chosen step; `undefined` if the person
 * chooses nothing. The chosen step needs no further question, unless it brings back kept-aside files, which the list
 * does not show. If the list would be empty (for example because the work changed only the state of git), continues as
 * without `-i`.
 */
async function interactive(
  context: CommandContext,
  workspace: WorkspaceApi,
  options: UndoOptions,
  { direction, goOn }: { readonly direction: Direction; readonly goOn: GoOn },
): Promise<Agreed | undefined> {
  const look = (how: UndoOptions): Promise<UndoShape> =>
    direction.step(workspace, { ...how, dryRun: true, hunks: true });
  const preview = await look(options);
  if (preview.finished.length > 0 || (preview.hunks ?? []).length === 0) return goOn(options);
  for (const note of preview.notes) context.say(context.paintErr("yellow", `note: ${context.worded(printable(note))}`));
  context.say(summaryOf(context, preview));
  const chosen = await choosePartsOf(context, workspace, { preview, given: options.parts });
  if (chosen === undefined) return undefined;
  const meant = shownStep(options, preview);
  if (isSameStep(preview, await look(meant))) {
    if (!chosen.isAll) return { options: { ...meant, parts: chosen.parts }, asked: false };
    return preview.kept_aside === undefined ? { options: meant, asked: false } : goOn(meant);
  }
  throw new ChronicleError("REFUSED", "the files or the work have changed meanwhile, so nothing was done", {
    hint: "give the command again, and choose from what is there now",
  });
}

/**
 * Continues with a step as without `-i`: asks the user if the step needs a question and the options allow questions.
 */
type GoOn = (options: UndoOptions) => Promise<Agreed | undefined>;

async function stepBack(context: CommandContext, given: Direction): Promise<number> {
  const { input } = context;
  const chooses = given.verb === "undo" && input.flag("interactive");
  if (chooses) refuseWithoutTerminal(context);
  const direction: Direction = {
    ...given,
    step: (of, how) =>
      given.step(of, how).catch(async (error: unknown) => {
        throw withEditedShown(await withCandidates(of, error, context.paths(of)), context.paths(of));
      }),
  };
  const { selection } = given;
  const dryRun = input.flag("dryRun");
  const workspace = await context.workspace({ readOnly: dryRun });
  const options: UndoOptions = {
    ...(selection ?? (await meantBy(context, workspace, given.verb))),
    force: input.flag("force"),
    exact: input.flag("exact"),
    ...context.progress(),
  };
  const mayAsk = !dryRun && context.canAsk && !input.flag("yes");
  const goOn: GoOn = async (of) => (mayAsk ? agreed(context, workspace, of, direction) : { options: of, asked: false });
  const meant = chooses ? await interactive(context, workspace, options, { direction, goOn }) : await goOn(options);
  if (meant === undefined) return EXIT.failed;
  const result = await direction.step(workspace, { ...meant.options, dryRun });
  if (context.json) context.printJson(result);
  else if (isNothing(result)) context.say(`there is nothing to ${direction.verb}`);
  else print(context, workspace, result, { ...direction, asked: meant.asked });
  if (isNothing(result)) return EXIT.notFound;
  return result.skipped.length + result.unmerged.length + result.conflicts.length > 0 ? EXIT.failed : EXIT.done;
}
