import { resolve } from "node:path";
import { EXIT } from "../../api/problems.ts";
import type { RunShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { CommandContext } from "../context.ts";
import { readJsonList } from "../read-json-list.ts";
import { runSummary } from "../render/run-summary.ts";
import { reportError } from "../report-error.ts";
import { runUnrecorded } from "../run-unrecorded.ts";
import { startFailureCode } from "../start-failure.ts";
import { usageError } from "../usage-error.ts";
import { writeWholeFile } from "../user-files.ts";

/** The child's exit code, where an error came after its end. */
function childCode(error: unknown): number | undefined {
  const code = error instanceof ChronicleError ? error.data["exit_code"] : undefined;
  return typeof code === "number" ? code : undefined;
}

interface Recorded {
  readonly result: RunShape;
  readonly undoTakes: string | undefined;
}

/** What `undo` would take back after a run that changed nothing. Where that cannot be read, the summary is said without. */
async function undoTakes(context: CommandContext, workspace: WorkspaceApi): Promise<string | undefined> {
  try {
    const operations = await workspace.operations();
    return operations.findLast(({ kind, undone }) => (kind === "run" || kind === "restore") && !undone)?.summary;
  } catch (error) {
    context.say(`chronicle: what was done before could not be read: ${error instanceof Error ? error.message : ""}`);
    return undefined;
  }
}

async function record(context: CommandContext, command: readonly string[]): Promise<Recorded> {
  const { input, io } = context;
  const networkFile = input.text("networkEvents");
  const networkEvents = networkFile === undefined ? [] : readJsonList(networkFile, io.cwd());
  const workspace = await context.workspace({ create: true });
  const result = await workspace.run({
    command,
    // From here to the end of this process an interrupt is the command's alone: what it leaves is recorded and told
    // even if Ctrl-C is typed again.
    onStart: () => void io.onInterrupt(() => undefined),
    cwd: io.cwd(),
    env: io.env,
    rollbackOnFailure: input.flag("rollbackOnFailure"),
    networkEvents,
    notes: input.list("note"),
  });
  const changedNothing = result.changes.length === 0 && !context.json;
  return { result, undoTakes: changedNothing ? await undoTakes(context, workspace) : undefined };
}

/** A summary that cannot be written is said; the exit code stays the command's. */
function writeSummary(context: CommandContext, file: string, result: RunShape): void {
  try {
    writeWholeFile(resolve(context.io.cwd(), file), `${JSON.stringify(result, null, 2)}\n`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    context.say(`chronicle: the summary could not be written to ${file}: ${why}`);
  }
}

function tell(context: CommandContext, { result, undoTakes }: Recorded): void {
  const { io } = context;
  if (context.json) io.err.write(`${JSON.stringify(result)}\n`);
  else {
    const style = { paint: context.paintErr, forPeople: io.err.isTerminal, undoTakes, worded: context.worded };
    for (const line of runSummary(result, style)) context.say(line);
  }
}

export async function run(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const command = input.args;
  if ((command[0] ?? "") === "") throw usageError("no command to run", "chronicle run -- <command> [argument...]");
  if (input.flag("otr")) return runUnrecorded(command, io);
  let recorded: Recorded;
  try {
    recorded = await record(context, command);
  } catch (error) {
    const style = { json: context.json, jsonOnStderr: true, paint: context.paintErr, worded: context.worded };
    const code = reportError(error, io, style);
    return childCode(error) ?? startFailureCode(error) ?? (code === EXIT.usage ? code : EXIT.notStarted);
  }
  const { result } = recorded;
  const summary = input.text("summary");
  if (summary !== undefined) writeSummary(context, summary, result);
  tell(context, recorded);
  return result.exit_code;
}
