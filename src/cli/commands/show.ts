import { EXIT } from "../../api/problems.ts";
import type { DiffShape, SessionShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { CommandContext } from "../context.ts";
import { changeLines, countsOf } from "../render/changes.ts";
import { counted } from "../render/counted.ts";
import { harmlessLines, lossLines } from "../render/omitted-changes.ts";
import { patchLines } from "../render/patch.ts";
import { printable } from "../render/printable.ts";
import { sessionCommand, sessionEnd } from "../render/sessions.ts";

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
    `ended     ${sessionEnd(session, paint)}`,
    `snapshots ${session.snapshot_count}`,
    `root      ${session.merkle_roots.at(-1) ?? ""}`,
    ...(session.network_events.length === 0 ? [] : [`network   ${counted(session.network_events.length, "event")}`]),
    ...[...lossLines(session.omitted_changes), ...harmlessLines(session.omitted_changes)].map(
      (line) => `left out  ${line}`,
    ),
    ...session.notes.map((note) => `note      ${printable(note)}`),
  ];
}

/** What the session changed; `undefined` where the disk holds its end and nothing was recorded of it yet. */
async function changesOf(
  workspace: WorkspaceApi,
  session: SessionShape,
  patch: boolean,
): Promise<Pick<DiffShape, "changes">> {
  // Others work in between: what they did is not the session's.
  if (session.kind === "replica" || session.kind === "agent")
    return workspace.changes({ session: session.session_id }, { patch });
  const to = session.to_seq === null ? "now" : `seq:${session.to_seq}`;
  return workspace.diff(`seq:${session.from_seq}`, to, { patch });
}

/** The changes, or why they are not known any more: the history before them was compacted away. */
async function changesIfKept(
  workspace: WorkspaceApi,
  session: SessionShape,
  patch: boolean,
): Promise<DiffShape["changes"] | string> {
  try {
    return (await changesOf(workspace, session, patch)).changes;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PRUNED") return error.message;
    throw error;
  }
}

export async function show(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const session = await chosen(context, workspace);
  if (context.json) {
    context.printJson(session);
    return EXIT.done;
  }
  for (const line of headLines(session, context)) context.print(line);
  const patch = context.input.flag("patch");
  const changes = await changesIfKept(workspace, session, patch);
  if (typeof changes === "string") {
    context.print(`changes   ${changes}`);
    return EXIT.done;
  }
  context.print(`changes   ${countsOf(changes)}`);
  const { paint, io } = context;
  const paths = context.paths(workspace);
  const lines = patch
    ? patchLines(changes, { paint, escape: io.out.isTerminal })
    : changeLines(changes, { paint, shown: (path) => paths.shown(path) });
  for (const line of lines) context.print(line);
  return EXIT.done;
}
