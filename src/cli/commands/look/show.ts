import { EXIT } from "../../../api/problems.ts";
import type { ChangesOptions } from "../../../api/action-api.ts";
import type { ChangesShape } from "../../../api/action-shapes.ts";
import type { SessionShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { ambiguousLines, changeLines, countsOf } from "../../render/changes.ts";
import { gitLines } from "../../render/git-changes.ts";
import { counted } from "../../render/words.ts";
import { harmlessLines, lossLines } from "../../render/omitted-changes.ts";
import { patchLines } from "../../render/patch.ts";
import { printable } from "../../../process/printable.ts";
import { sessionCommand, sessionEnd } from "../../render/sessions.ts";
import { soFar } from "./sessions.ts";

async function chosen(context: CommandContext, workspace: WorkspaceApi): Promise<SessionShape> {
  const [id] = context.input.args;
  if (id !== undefined && id !== "latest") return workspace.session(id);
  const all = (await workspace.sessions()).filter(({ kind }) => kind !== "replica");
  const last = all.toSorted((a, b) => a.from_seq - b.from_seq).at(-1);
  if (last !== undefined) return last;
  throw new ChronicleError("NOT_FOUND", "there are no sessions yet", { hint: "chronicle run -- <command>" });
}

function headLines(session: SessionShape, context: CommandContext): string[] {
  const ended = session.ended === null ? "" : ` to ${session.ended}`;
  const { paint } = context;
  return [
    `session   ${session.session_id}`,
    `command   ${sessionCommand(session)}`,
    `time      ${session.started}${ended}`,
    `${session.state === "running" ? "state " : "ended "}    ${sessionEnd(session, paint)}`,
    `snapshots ${session.snapshot_count}`,
    ...session.merkle_roots.slice(-1).map((root) => `root      ${root}`),
    ...(session.network_events.length === 0 ? [] : [`network   ${counted(session.network_events.length, "event")}`]),
    ...[...lossLines(session.omitted_changes), ...harmlessLines(session.omitted_changes)].map(
      (line) => `left out  ${line}`,
    ),
    ...session.notes.map((note) => `note      ${printable(note)}`),
  ];
}

/** Returns the changes of a session. If the changes were pruned, returns the message of the error instead. */
async function changesIfKept(
  workspace: WorkspaceApi,
  session: SessionShape,
  options: ChangesOptions,
): Promise<ChangesShape | string> {
  try {
    return await workspace.changes({ session: session.session_id }, options);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PRUNED") return error.message;
    throw error;
  }
}

export async function show(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const session = await chosen(context, workspace);
  if (context.json) {
    context.printJson(await soFar(workspace, session));
    return EXIT.done;
  }
  for (const line of headLines(session, context)) context.print(line);
  const patch = context.input.flag("patch");
  const found = await changesIfKept(workspace, session, { patch, renames: context.input.flag("renames") });
  if (typeof found === "string") {
    context.print(`changes   ${found}`);
    return EXIT.done;
  }
  const { changes, git, ambiguous, notes = [] } = found;
  for (const line of gitLines(git)) context.print(line.replace(/^git:? /, "git       "));
  context.print(`changes   ${countsOf(changes)}`);
  const { paint, io } = context;
  const paths = context.paths(workspace);
  const style = { paint, shown: (path: string) => paths.shown(path) };
  const lines = patch ? patchLines(changes, { paint, escape: io.out.isTerminal }) : changeLines(changes, style);
  for (const line of lines) context.print(line);
  for (const line of ambiguousLines(ambiguous, { ...style, worded: context.worded })) context.print(line);
  for (const note of notes) context.print(`note      ${printable(note)}`);
  return EXIT.done;
}
