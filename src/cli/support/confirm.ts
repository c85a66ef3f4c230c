import type { RestoreShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { CommandContext } from "./context.ts";

/**
 * The environment variable that has the effect of `--ask`, if it is not empty: each command that changes files asks
 * first.
 */
const ASK_VARIABLE = "CHRONICLE_ASK";
/** The maximum number of paths that a change may have without the confirmation of a person. */
const MANY_PATHS = 1_000;
/**
 * If fewer files than this are removed, a person need not confirm the removal, even if more than half of the files are
 * removed.
 */
const FEW_REMOVALS = 10;

/**
 * Calls `preview`. `needsQuestion`: true if a person must confirm the change. Most changes can be inverted afterwards
 * by `undo` or `redo`, so only these changes are confirmed:
 *
 * - any change, if the person wants to confirm all changes (`--ask`, `CHRONICLE_ASK`)
 * - a change of omitted paths, or a change with a note: the history may lack something, or the person may have meant
 *   another moment
 * - a change that finishes an interrupted operation
 * - a change of more than `MANY_PATHS` paths
 * - the removal of more than half of the recorded files, if at least `FEW_REMOVALS` files are removed
 *
 * The notes that are printed during the preview count as notes of the change.
 */
export async function previewed<P extends RestoreShape>(
  context: CommandContext,
  workspace: WorkspaceApi,
  preview: () => Promise<P>,
): Promise<{ readonly preview: P; readonly needsQuestion: boolean }> {
  const told = context.notes;
  const shape = await preview();
  const isTold = context.notes > told;
  return { preview: shape, needsQuestion: isTold || (await isQuestionable(context, workspace, shape)) };
}

async function isQuestionable(
  context: CommandContext,
  workspace: WorkspaceApi,
  { changes, kept_aside: aside = [], notes = [], finished }: RestoreShape,
): Promise<boolean> {
  if (asksAlways(context)) return true;
  if (aside.length + notes.length + finished.length > 0 || changes.length > MANY_PATHS) return true;
  const removed = changes.filter(({ change_type: how }) => how === "deleted").length;
  return removed >= FEW_REMOVALS && removed * 2 > (await workspace.status()).entries;
}

/** True if the person wants to confirm every change of files. */
function asksAlways({ input, io }: CommandContext): boolean {
  return input.flag("ask") || (io.env[ASK_VARIABLE] ?? "") !== "";
}

/**
 * Asks a question on the terminal (stderr). Enter, Escape and Ctrl-C mean no. In the store's long-lived process, throws
 * `NeedsClient`.
 */
export async function confirm(context: CommandContext, question: string): Promise<boolean> {
  const { served } = context.io;
  if (served !== undefined) throw served.needsClient("a question is asked");
  const { confirm: ask, isCancel } = await import("@clack/prompts");
  const answer = await ask({ message: question, initialValue: false, output: process.stderr });
  if (!isCancel(answer) && answer) return true;
  context.say("nothing was changed");
  return false;
}

/**
 * Throws `REFUSED` unless a person can be asked at a terminal. No option replaces the person, because a program could
 * pass the option. `what`: the data that would be removed at once.
 */
export function refuseWithoutPerson(context: CommandContext, what: string): void {
  if (context.canAsk) return;
  throw new ChronicleError("REFUSED", `only a person at a terminal can give up ${what} at once`, {
    hint: "leave out --now: it is then kept for 24 hours, and a later `chronicle gc` frees it",
  });
}
