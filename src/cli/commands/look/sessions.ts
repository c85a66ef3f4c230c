import { EXIT } from "../../../api/problems.ts";
import type { SessionShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { counted } from "../../render/counted.ts";
import { printable, shortened } from "../../../process/printable.ts";
import { sessionCommand, sessionEnd } from "../../render/sessions.ts";
import { ago } from "../../render/when.ts";

const LONGEST_COMMAND = 60;

export async function sessions(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const all = (await workspace.sessions()).toSorted((a, b) => orderOf(b) - orderOf(a));
  const limit = context.input.number("limit") || Infinity;
  if (context.json) {
    context.printJson(all.slice(0, limit));
    return EXIT.done;
  }
  const shown = await Promise.all(all.slice(0, limit).map((one) => soFar(workspace, one)));
  const rows = shown.map((one) => (one.kind === "replica" ? replicaRow(one, context) : ownRow(one, context)));
  for (const line of columns(rows, "<<<>")) context.print(line);
  if (all.length === 0) context.say(context.worded("no sessions yet: chronicle run -- <command>"));
  return EXIT.done;
}

/** The changes of a running session are counted when it ends; until then, counts those recorded so far. */
async function soFar(workspace: WorkspaceApi, session: SessionShape): Promise<SessionShape> {
  if (session.state !== "running") return session;
  try {
    const { changes } = await workspace.changes({ session: session.session_id });
    return { ...session, changed: changes.length };
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PRUNED") return session;
    throw error;
  }
}

/** A replica's session is sorted by its last change. */
function orderOf({ kind, from_seq: from, to_seq: to }: SessionShape): number {
  return kind === "replica" ? (to ?? from) : from;
}

function ownRow(session: SessionShape, { paint, io }: CommandContext): string[] {
  return [
    paint("dim", session.session_id),
    ago(session.started, io.now()),
    sessionEnd(session, paint),
    counted(session.changed, "change"),
    shortened(sessionCommand(session), LONGEST_COMMAND),
  ];
}

/** The row of a replica's session. Only the replica knows the command. */
function replicaRow(session: SessionShape, { paint, io }: CommandContext): string[] {
  return [
    paint("dim", printable(session.session_id)),
    ago(session.ended ?? session.started, io.now()),
    sessionEnd(session, paint),
    counted(session.changed, "change"),
    `(${printable(session.actor)})`,
  ];
}
