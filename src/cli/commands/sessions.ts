import { EXIT } from "../../api/problems.ts";
import type { SessionShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { CommandContext } from "../context.ts";
import { columns } from "../render/columns.ts";
import { counted } from "../render/counted.ts";
import { printable, shortened } from "../render/printable.ts";
import { replicaSessions, type ReplicaSession } from "../render/replica-sessions.ts";
import { sessionCommand, sessionEnd } from "../render/sessions.ts";
import { ago } from "../render/when.ts";

const LONGEST_COMMAND = 60;
/** Of a replica's id, as everywhere. In characters. */
const SHORT = 8;
/** Nothing but its changes tells of a session that ran elsewhere: of so many, the newest. */
const LOOKED_AT = 5_000;

export async function sessions(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const all = (await workspace.sessions()).toSorted((a, b) => b.from_seq - a.from_seq);
  const limit = context.input.number("limit") || Infinity;
  if (context.json) {
    context.printJson(all.slice(0, limit));
    return EXIT.done;
  }
  const there = await elsewhere(context, workspace);
  const rows = [...all.map((one) => ownRow(one, context)), ...there.map((one) => replicaRow(one, context))];
  const shown = rows.toSorted((a, b) => b.seq - a.seq).slice(0, limit);
  for (const line of columns(
    shown.map(({ cells }) => cells),
    "<<<>",
  ))
    context.print(line);
  if (rows.length === 0) context.say(context.worded("no sessions yet: chronicle run -- <command>"));
  return EXIT.done;
}

interface Row {
  /** By which it is sorted. */
  readonly seq: number;
  readonly cells: readonly string[];
}

function ownRow(session: SessionShape, { paint, io }: CommandContext): Row {
  const cells = [
    paint("dim", session.session_id),
    ago(session.started, io.now()),
    sessionEnd(session, paint),
    counted(session.changed, "change"),
    shortened(sessionCommand(session), LONGEST_COMMAND),
  ];
  return { seq: session.from_seq, cells };
}

/** What it ran is known at the replica alone. */
function replicaRow({ id, replica, actor, last, seq, changed }: ReplicaSession, { paint, io }: CommandContext): Row {
  const cells = [
    paint("dim", printable(id)),
    ago(last, io.now()),
    paint("cyan", `at replica ${printable(replica).slice(0, SHORT)}`),
    counted(changed, "change"),
    `(${printable(actor)})`,
  ];
  return { seq, cells };
}

/** Of an origin: the sessions that ran at its replicas, as far as its newest events speak of them. */
async function elsewhere(context: CommandContext, workspace: WorkspaceApi): Promise<ReplicaSession[]> {
  if ((await workspace.log({ prefix: "writeback:", limit: 1 })).length === 0) return [];
  const events = await workspace.log({ prefix: "file", reverse: true, limit: LOOKED_AT });
  const found = replicaSessions(events);
  if (events.length === LOOKED_AT && context.io.err.isTerminal)
    context.say(`of replicas, only sessions in the newest ${LOOKED_AT.toLocaleString("en-US")} changes are listed`);
  return found;
}
