import { EXIT } from "../../../api/problems.ts";
import type { LogEventShape } from "../../../api/shapes.ts";
import type { LogOptions, WorkspaceApi } from "../../../api/workspace-api.ts";
import type { CommandContext } from "../../support/context.ts";
import type { Input } from "../../../process/input.ts";
import { originCells } from "../../render/origins.ts";
import { usageError } from "../../../process/usage-error.ts";
import { withCandidates } from "../../support/find-file.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import { optional } from "../../../util/optional.ts";

const SHOWN_TO_PEOPLE = 50;

function optionsOf(input: Input): LogOptions {
  const [from, to, prefix] = [input.number("from"), input.number("to"), input.text("prefix")];
  return {
    ...optional({ from, to, prefix }),
    reverse: input.flag("reverse"),
  };
}

/**
 * Returns up to `limit` events (0: all) of the requested range, in the requested order. If the range has more than
 * `limit` events, returns the newest events of the range. With `--from` and without `--reverse`, returns the first
 * events of the range instead, so that a program can read page by page.
 */
async function events(workspace: WorkspaceApi, options: LogOptions, limit: number): Promise<LogEventShape[]> {
  if (limit === 0) return workspace.log(options);
  if (options.reverse === true || options.from !== undefined) return workspace.log({ ...options, limit });
  return (await workspace.log({ ...options, reverse: true, limit })).reverse();
}

const NEWEST = `the newest ${SHOWN_TO_PEOPLE} events`;

/** The number of events that are read and printed at once. */
const PAGE = 1_000;

/** Prints all events of the requested range, page by page. Stops once nobody reads the output any more. */
async function all(context: CommandContext, workspace: WorkspaceApi, options: LogOptions): Promise<number> {
  let rest = options;
  // Each seq is padded to the width of the greatest seq, so that the columns of all pages agree.
  const width = String((await workspace.head()).seq).length;
  for (;;) {
    const page = await workspace.log({ ...rest, limit: PAGE });
    const rows = page
      .map((event) => rowOf(event, context))
      .map(([seq = "", ...cells]) => [seq.padStart(width), ...cells]);
    for (const line of columns(rows, ">")) context.print(line);
    const last = page.at(-1)?.seq ?? 0;
    const isLast = page.length < PAGE || (options.reverse === true && last <= (options.from ?? 1));
    if (isLast || !(await context.goesOn())) return EXIT.done;
    rest = options.reverse === true ? { ...rest, to: last - 1 } : { ...rest, from: last + 1 };
  }
}

function isFirst({ from, reverse }: LogOptions): boolean {
  return from !== undefined && reverse !== true;
}

/** Returns the events without the one event that was read beyond the limit. */
function cut(found: readonly LogEventShape[], options: LogOptions): readonly LogEventShape[] {
  if (options.reverse === true || isFirst(options)) return found.slice(0, SHOWN_TO_PEOPLE);
  return found.slice(-SHOWN_TO_PEOPLE);
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

function elsewhere(record: unknown): string {
  if (typeof record !== "object" || record === null || !("cause" in record) || record.cause !== "replica") return "";
  return "upstream" in record ? "  from the origin" : "  from a replica";
}

/** Prints the changes that made a text occur more or less often in a file, newest first. */
async function searched(context: CommandContext, workspace: WorkspaceApi, text: string): Promise<number> {
  const { input, paint, io } = context;
  const paths = context.paths(workspace);
  const [typed] = input.args;
  const limit = input.number("limit") ?? SHOWN_TO_PEOPLE;
  const options = {
    ...(typed === undefined ? {} : { path: await paths.toWorkspace(typed) }),
    limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit,
  };
  const found = await workspace.textHistory(text, options).catch(async (error: unknown) => {
    throw await withCandidates(workspace, error, paths);
  });
  if (context.json) context.printJson(found);
  else {
    const rows = found.changes.map((change) => {
      const [id, who, turn, when] = originCells(change, io.now());
      const count = `${change.before} → ${change.after}`;
      const colour = change.after > change.before ? "green" : "red";
      const where = `${paths.shown(change.path)}@${change.iteration}`;
      return [
        paint("dim", when),
        paint("yellow", id),
        paint("cyan", printable(who)),
        paint("dim", turn),
        paint(colour, count),
        where,
      ];
    });
    for (const line of columns(rows)) context.print(line);
    const more = found.total_changes - found.changes.length;
    if (more > 0) context.say(`… and ${more} older: --limit 0`);
    if (found.total_changes === 0) context.say("no recorded content has this text");
    for (const note of found.notes) context.say(printable(note));
  }
  return EXIT.done;
}

export async function log(context: CommandContext): Promise<number> {
  const { input } = context;
  const text = input.text("search");
  if (text === undefined && input.args.length > 0)
    throw usageError(
      "a path is only taken with -S",
      "the states of a file: chronicle history FILE; events by name: log --prefix file:PATH",
    );
  if (text !== undefined && ["from", "to", "prefix", "reverse"].some((name) => input.has(name)))
    throw usageError(
      "-S cannot be combined with --from, --to, --prefix or --reverse",
      "give -S TEXT, a path and --limit",
    );
  const workspace = await context.reading();
  if (text !== undefined) return searched(context, workspace, text);
  const options = optionsOf(input);
  const limit = input.number("limit");
  if (context.json) {
    context.printJson(await events(workspace, options, limit ?? 0));
    return EXIT.done;
  }
  if (limit === 0) return all(context, workspace, options);
  // Without `--limit`, one more event is read than is shown, to detect whether there are more events.
  const found = await events(workspace, options, limit ?? SHOWN_TO_PEOPLE + 1);
  const shown = limit === undefined ? cut(found, options) : found;
  if (shown.length < found.length) {
    const which = isFirst(options) ? `the first ${SHOWN_TO_PEOPLE} events from ${options.from}` : NEWEST;
    context.say(`${which}; --limit 0 shows all`);
  }
  for (const line of columns(
    shown.map((event) => rowOf(event, context)),
    ">",
  ))
    context.print(line);
  return EXIT.done;
}
