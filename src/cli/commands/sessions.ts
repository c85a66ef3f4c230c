import { EXIT } from "../../api/problems.ts";
import type { CommandContext } from "../context.ts";
import { columns } from "../render/columns.ts";
import { counted } from "../render/counted.ts";
import { shortened } from "../render/printable.ts";
import { sessionCommand, sessionEnd } from "../render/sessions.ts";
import { ago } from "../render/when.ts";

const LONGEST_COMMAND = 60;

export async function sessions(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const all = (await workspace.sessions()).toSorted((a, b) => b.from_seq - a.from_seq);
  const limit = context.input.number("limit") ?? 0;
  const some = limit === 0 ? all : all.slice(0, limit);
  if (context.json) context.printJson(some);
  else {
    const now = context.io.now();
    const rows = some.map((session) => [
      context.paint("dim", session.session_id),
      ago(session.started, now),
      sessionEnd(session, context.paint),
      counted(session.changed, "change"),
      shortened(sessionCommand(session), LONGEST_COMMAND),
    ]);
    for (const line of columns(rows, "<<<>")) context.print(line);
    if (rows.length === 0) context.say(context.worded("no sessions yet: chronicle run -- <command>"));
  }
  return EXIT.done;
}
