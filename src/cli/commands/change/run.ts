import { EXIT } from "../../../api/problems.ts";
import type { RunShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../../core/values/errors.ts";
import { ROLE_VARIABLE, WHO_CAN } from "../../../core/values/agents-role.ts";
import { isWithinAgents, withSession } from "../../support/agents-command.ts";
import type { CommandContext } from "../../support/context.ts";
import { placesOf } from "../../../process/places.ts";
import { OFF_RECORD_VARIABLE } from "../../../process/environment.ts";
import { readJsonList } from "../../../process/read-json-list.ts";
import { takenWords } from "../../render/words.ts";
import { runSummary } from "../../render/run-summary.ts";
import { reportError } from "../../support/report-error.ts";
import { writtenPath } from "../../support/written-path.ts";
import { runUnrecorded, startFailureCode } from "../../support/run-unrecorded.ts";
import { usageError } from "../../../process/usage-error.ts";
import { checkWritable, isThere, writeWholeFile } from "../../../process/user-files.ts";
import { printable } from "../../../process/printable.ts";
import { optional } from "../../../util/optional.ts";

interface Recorded {
  readonly result: RunShape;
  /** The result of the function `undoTakes`, if the command has changed nothing and the output is text. */
  readonly undoTakes: string | undefined;
  /**
   * The workspace's id, if the command has removed the current folder. The printed commands must then name the
   * workspace by this id.
   */
  readonly away: string | undefined;
}

/**
 * Returns the words for the operation that the next `undo` would undo (see `takenWords`). Returns `undefined` if there
 * is no such operation. Also returns `undefined`, and prints a message, if the history cannot be read.
 */
async function undoTakes(context: CommandContext, workspace: WorkspaceApi): Promise<string | undefined> {
  try {
    const { undoable } = await workspace.recent(0);
    if (undoable === null) return undefined;
    const next = (await workspace.operations()).find(({ id }) => id === undoable);
    return next === undefined ? undefined : takenWords(next);
  } catch (error) {
    context.say(
      `chronicle: the earlier history could not be read: ${printable(error instanceof Error ? error.message : "")}`,
    );
    return undefined;
  }
}

async function record(context: CommandContext, command: readonly string[]): Promise<Recorded> {
  const { input, io } = context;
  const networkFile = input.text("networkEvents");
  // The path of the current folder is determined before the command runs, because the command may remove this folder.
  const cwd = io.cwd();
  const workspace = await context.workspace({ create: true });
  const within = io.env["CHRONICLE_RUN"];
  const bytes = io.inherited.bytes(command);
  const result = await workspace.run({
    command,
    ...optional({ within }),
    // From now on, this process ignores interrupts, and only the command reacts to them. Therefore, this process
    // records and reports the changes even if Ctrl-C is typed again.
    onStart: () => void io.onInterrupt(() => undefined),
    cwd,
    env: io.env,
    descriptors: io.inherited.descriptors(),
    ...optional({ bytes }),
    rollbackOnFailure: input.flag("rollbackOnFailure"),
    ...(networkFile === undefined ? {} : { networkEvents: () => readJsonList(networkFile, cwd) }),
    notes: input.list("note"),
    ...optional({ runner: io.runner, ended: io.ended }),
  });
  const changedNothing = result.changes.length === 0 && result.undo_id === null && !context.json;
  return {
    result,
    undoTakes: changedNothing ? await undoTakes(context, workspace) : undefined,
    away: isThere(cwd) ? undefined : workspace.id,
  };
}

/**
 * Throws `USAGE` if the file for `--summary` cannot be written. Also throws the errors of `writtenPath`. Must be called
 * before the command runs, so that the error comes before the work is done.
 */
function checkSummary(context: CommandContext): void {
  const file = context.input.text("summary");
  if (file === undefined) return;
  try {
    checkWritable(writtenPath(context, "--summary", file));
  } catch (error) {
    if (error instanceof ChronicleError) throw error;
    throw usageError(
      `the summary cannot be written to ${file}: ${errnoOf(error) ?? String(error)}`,
      "name a file in a folder that exists and that you may write to",
    );
  }
}

/**
 * Writes the file for `--summary`, if one is given. A failure is only reported, because the exit code must be that of
 * the command.
 */
function writeSummary(context: CommandContext, cwd: string, result: RunShape): void {
  const file = context.input.text("summary");
  if (file === undefined) return;
  try {
    // The path is checked again, because the command may have replaced a folder in the path by a link.
    writeWholeFile(writtenPath(context, "--summary", file, cwd), `${JSON.stringify(result, null, 2)}\n`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    context.say(printable(`chronicle: the summary could not be written to ${file}: ${why}`));
  }
}

function tell(context: CommandContext, { result, undoTakes, away }: Recorded): void {
  const { io } = context;
  const worded = (text: string): string =>
    context.worded(away === undefined ? text : text.replace(/^chronicle (?!-w )/, `chronicle -w ${away} `));
  if (context.json) io.err.write(`${JSON.stringify(result)}\n`);
  else {
    // End the line on which the terminal has shown `^C`.
    if (result.signal === "SIGINT" && io.err.isTerminal) io.err.write("\n");
    const isNested = io.env["CHRONICLE_RUN"] !== undefined;
    const style = { paint: context.paintErr, forPeople: io.err.isTerminal, undoTakes, isNested, worded };
    for (const line of runSummary(result, style)) context.say(line);
    for (const note of result.session.notes)
      if (/^the (?:network events were not|end was recorded without) /.test(note))
        context.say(printable(`chronicle: ${note}`));
  }
}

export async function run(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const command = input.args;
  if ((command[0] ?? "") === "") throw usageError("no command to run", "chronicle run -- <command> [argument...]");
  if (input.flag("otr")) refuseRecordOptions(context);
  if (input.flag("otr")) return runOffRecord(context, command);
  let cwd: string;
  let recorded: Recorded;
  try {
    cwd = io.cwd();
    checkSummary(context);
    recorded = await record(context, command);
  } catch (error) {
    const style = { json: context.json, jsonOnStderr: true, paint: context.paintErr, worded: context.worded };
    const code = reportError(error, io, style);
    return startFailureCode(error) ?? (code === EXIT.usage ? code : EXIT.notStarted);
  }
  const { result } = recorded;
  writeSummary(context, cwd, result);
  tell(context, recorded);
  await context.closeQuietly();
  if (result.not_rolled_back !== null) return EXIT.notRolledBack;
  if (result.signal === "SIGINT") io.endBy(result.signal);
  const isTrouble = result.not_committed !== undefined || isSomethingLost(result);
  return result.exit_code === 0 && isTrouble ? EXIT.failed : result.exit_code;
}

/** Throws `USAGE` for options that need a record of the run, because a run off the record has none. */
function refuseRecordOptions({ input, json }: CommandContext): void {
  const asked = [
    ["--rollback-on-failure", input.flag("rollbackOnFailure")],
    ["--summary", input.text("summary") !== undefined],
    ["--json", json],
    ["--note", input.list("note").length > 0],
    ["--network-events", input.text("networkEvents") !== undefined],
  ] as const;
  const names = asked.flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (names.length === 0) return;
  throw usageError(
    `--otr and ${names.join(", ")} do not go together: a run off the record is not recorded, so nothing of it can be taken back, printed or kept`,
    `leave out --otr, or ${names.join(", ")}`,
  );
}

/**
 * Runs the command off the record. In a workspace, notes the paths that the command has changed, so that the next
 * capture does not record them. If the workspace cannot be opened, the command is not started. Resolves to the exit
 * code. Errors are reported, and not thrown.
 */
async function runOffRecord(context: CommandContext, command: readonly string[]): Promise<number> {
  const { io } = context;
  let code: number | undefined;
  try {
    await refuseAgents(context);
    const workspace = await workspaceHere(context);
    const quiet = { ...io, env: { ...io.env, [OFF_RECORD_VARIABLE]: "1", [ROLE_VARIABLE]: "agent" } };
    if (workspace === undefined) return await runUnrecorded(command, quiet);
    await workspace.offRecord(async () => {
      // From now on, this process ignores interrupts, and only the command reacts to them. Therefore, the changed paths
      // are noted even if Ctrl-C is typed again.
      io.onInterrupt(() => undefined);
      code = await runUnrecorded(command, quiet);
    });
    await context.close();
  } catch (error) {
    const style = { json: context.json, jsonOnStderr: true, paint: context.paintErr, worded: context.worded };
    const failed = reportError(await withSession(error, io, context.input), io, style);
    if (code === undefined) return failed === EXIT.usage ? failed : EXIT.notStarted;
    context.say(
      "chronicle: the command's changes could not be noted as off the record, so the next command records them",
    );
  }
  return code ?? EXIT.notStarted;
}

/**
 * Throws `FORBIDDEN` if an agent runs this command, because agents must not take their own work off the record. A
 * person's script may run it, even inside a run, because a run is no agent.
 */
async function refuseAgents({ io, input }: CommandContext): Promise<void> {
  if (!(await isWithinAgents(io, input, "agents"))) return;
  throw new ChronicleError("FORBIDDEN", "an agent may not do this: run --otr", { hint: WHO_CAN });
}

/**
 * Opens the workspace that `--workspace` names, or else the workspace of the current folder. Creates nothing. Without
 * `--workspace`, returns `undefined` if the store does not exist or the current folder has no workspace. Throws
 * `NOT_FOUND` if the named workspace does not exist.
 */
async function workspaceHere(context: CommandContext): Promise<WorkspaceApi | undefined> {
  const { input, io } = context;
  const isNamed = input.text("workspace") !== undefined;
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  if (!isThere(places.home)) {
    if (!isNamed) return undefined;
    throw new ChronicleError("NOT_FOUND", "the store has no workspace yet, so no workspace has this name", {
      hint: "leave out -w, or begin a history: chronicle init",
    });
  }
  try {
    return await context.workspace({});
  } catch (error) {
    const isNone = error instanceof ChronicleError && error.code === "NOT_FOUND";
    if (!isNone || isNamed) throw error;
    return undefined;
  }
}

/**
 * True if the earlier content of a changed file is lost. Also true if the new content of a file is not recorded,
 * because this content was erased before.
 */
function isSomethingLost({ session }: RunShape): boolean {
  return session.omitted_changes?.some(({ lost, reason }) => lost || reason === "erased") === true;
}
