import { EXIT } from "../../api/problems.ts";
import type { LogEventShape } from "../../api/shapes.ts";
import type { LogOptions, WorkspaceApi } from "../../api/workspace-api.ts";
import type { CommandContext } from "../context.ts";
import type { Input } from "../input.ts";
import { columns } from "../render/columns.ts";
import { printable } from "../render/printable.ts";

const SHOWN_TO_PEOPLE = 50;

function optionsOf(input: Input): LogOptions {
  const [from, to, prefix] = [input.number("from"), input.number("to"), input.text("prefix")];
  return {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(prefix === undefined ? {} : { prefix }),
    reverse: input.flag("reverse"),
  };
}

/** The newest events in the order of the log, and one more to know whether there are earlier ones. */
async function newest(workspace: WorkspaceApi, options: LogOptions): Promise<LogEventShape[]> {
  return (await workspace.log({ ...options, reverse: true, limit: SHOWN_TO_PEOPLE + 1 })).reverse();
}

function rowOf(event: LogEventShape, context: CommandContext): string[] {
  const what = event.op === "upsert" ? "" : `${event.op} `;
  const { record } = event;
  const gone = typeof record === "object" && record !== null && "kind" in record && record.kind === "absent";
  const id = printable(event.record_id);
  const { paint } = context;
  return [
    String(event.seq),
    paint("dim", event.ts),
    paint("dim", event.hash.slice(0, 12)),
    what + (gone ? paint("red", `${id} (deleted)`) : id) + paint("dim", elsewhere(record)),
  ];
}

/** Says of a file that it was changed at another copy of the workspace. */
function elsewhere(record: unknown): string {
  if (typeof record !== "object" || record === null || !("cause" in record) || record.cause !== "replica") return "";
  return "upstream" in record ? "  from the origin" : "  from a replica";
}

export async function log(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const { input } = context;
  const options = optionsOf(input);
  const limit = input.number("limit");
  const cut = limit === undefined && !context.json;
  const limited = limit === undefined || limit === 0 ? options : { ...options, limit };
  let events = cut && options.reverse !== true ? await newest(workspace, options) : await workspace.log(limited);
  if (context.json) context.printJson(events);
  else {
    if (cut && events.length > SHOWN_TO_PEOPLE) {
      events = options.reverse === true ? events.slice(0, SHOWN_TO_PEOPLE) : events.slice(-SHOWN_TO_PEOPLE);
      context.say(`the newest ${SHOWN_TO_PEOPLE} events; --limit 0 shows all`);
    }
    for (const line of columns(
      events.map((event) => rowOf(event, context)),
      ">",
    ))
      context.print(line);
  }
  return EXIT.done;
}
