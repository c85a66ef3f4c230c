import { EXIT } from "../../../api/problems.ts";
import type { RecordPut, RecordStoreApi, RecordVerifyShape } from "../../../api/record-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { RecordBody } from "../../../core/values/event.ts";
import { plainValue, readPythonJson } from "../../../core/log/python-json.ts";
import type { CommandContext } from "../../support/context.ts";
import { writtenPath } from "../../support/written-path.ts";
import { withRecords } from "../../support/record-target.ts";
import { columns } from "../../render/columns.ts";
import { counted } from "../../render/words.ts";
import { printable, shortened } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";

interface Verb {
  /** True if the records are opened for reading only. */
  readonly readOnly: boolean;
  /** The exact number of arguments after the subcommand. */
  readonly takes: number;
  readonly usage: string;
  readonly run: (context: CommandContext, records: RecordStoreApi) => Promise<number>;
}

const VERBS: Readonly<Record<string, Verb>> = {
  put: { readOnly: false, takes: 2, usage: "put <id> <json|->", run: put },
  get: { readOnly: true, takes: 1, usage: "get <id>", run: get },
  delete: { readOnly: false, takes: 1, usage: "delete <id>", run: remove },
  list: { readOnly: true, takes: 0, usage: "list", run: list },
  replay: { readOnly: true, takes: 0, usage: "replay [--from <seq>]", run: replay },
  export: { readOnly: true, takes: 0, usage: "export", run: exportAll },
  verify: { readOnly: true, takes: 0, usage: "verify", run: verify },
  compact: { readOnly: false, takes: 0, usage: "compact", run: compact },
  backup: { readOnly: true, takes: 1, usage: "backup <folder>", run: backup },
};

export async function record(context: CommandContext): Promise<number> {
  const [what = "", ...given] = context.input.args;
  const verb = Object.hasOwn(VERBS, what) ? VERBS[what] : undefined;
  if (verb === undefined) {
    throw usageError(`chronicle record does not know '${printable(what)}'`, `one of: ${Object.keys(VERBS).join(", ")}`);
  }
  if (given.length !== verb.takes) {
    const wanted = verb.takes === 0 ? "no argument" : counted(verb.takes, "argument");
    throw usageError(`record ${what} takes ${wanted}`, `usage: chronicle record ${verb.usage}`);
  }
  return withRecords(context, { readOnly: verb.readOnly }, (records) => verb.run(context, records));
}

function idOf(context: CommandContext): string {
  return context.input.args[1] ?? "";
}

function depthOf(context: CommandContext): RecordPut {
  const recursionDepth = context.input.number("depth");
  return recursionDepth === undefined ? {} : { recursionDepth };
}

async function put(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const typed = context.input.args[2] ?? "";
  const body = parseRecord(typed === "-" ? await context.io.readStdin() : typed);
  const event = await records.upsert(idOf(context), body, depthOf(context));
  if (context.json) context.printJson(event);
  else context.print(`event ${event.seq}: ${printable(event.record_id)}  ${event.hash.slice(0, 12)}`);
  return EXIT.done;
}

/**
 * Parses a record. Throws `USAGE` if the text is not a JSON object, or if it contains an integer that a double cannot
 * represent exactly.
 */
function parseRecord(text: string): RecordBody {
  const hint = `a record is a JSON object: '{"text": "the sky is blue"}'`;
  try {
    const { value, rounded } = plainValue(readPythonJson(text));
    if (rounded > 0)
      throw usageError("the record holds an integer that a double cannot hold exactly", "write it as text");
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as RecordBody;
    throw usageError("the record is not a JSON object", hint);
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code === "USAGE") throw error;
    throw usageError(`the record is not JSON: ${error.message}`, hint);
  }
}

async function get(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const found = await records.get(idOf(context));
  if (found === undefined) throw noRecord(idOf(context));
  context.printJson(found);
  return EXIT.done;
}

async function remove(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const event = await records.delete(idOf(context), depthOf(context));
  if (event === undefined) throw noRecord(idOf(context));
  if (context.json) context.printJson(event);
  else context.print(`event ${event.seq}: ${printable(event.record_id)} deleted`);
  return EXIT.done;
}

function noRecord(id: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", `there is no record ${JSON.stringify(id)}`, {
    hint: "`chronicle record list` shows all records",
  });
}

async function list(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const all = await records.all();
  if (context.json) {
    context.printJson(all.map(([id, one]) => ({ id, record: one })));
    return EXIT.done;
  }
  const { paint, io } = context;
  const rows = all.map(([id, one]) => [printable(id), paint("dim", shortened(printable(JSON.stringify(one)), 60))]);
  for (const line of columns(rows)) context.print(line);
  if (io.out.isTerminal || all.length === 0) context.say(counted(all.length, "record"));
  return EXIT.done;
}

async function replay(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const events = [];
  for await (const event of records.replay(context.input.number("from") ?? 1)) events.push(event);
  if (context.json) {
    context.printJson(events);
    return EXIT.done;
  }
  const { paint } = context;
  const rows = events.map((event) => [
    String(event.seq),
    paint("dim", event.ts),
    event.op,
    printable(event.record_id),
    paint("dim", event.op === "delete" ? "" : shortened(printable(JSON.stringify(event.record)), 60)),
  ]);
  for (const line of columns(rows, ">")) context.print(line);
  return EXIT.done;
}

async function exportAll(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const lines: unknown[] = [];
  for await (const line of records.export()) {
    if (context.io.out.broken) break;
    if (context.json) lines.push(JSON.parse(line));
    else await context.io.out.writeBytes(Buffer.from(`${line}\n`));
  }
  if (context.json) context.printJson(lines);
  return EXIT.done;
}

async function verify(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const result = await records.verify();
  if (context.json) context.printJson(result);
  else printVerify(context, result);
  return result.ok ? EXIT.done : EXIT.damaged;
}

function printVerify(context: CommandContext, { ok, events, head, problems, notes }: RecordVerifyShape): void {
  for (const { kind, where, detail } of problems) context.print(printable(`${kind}: ${where}: ${detail}`));
  // With `--folder`, the notes are not printed again, because they were printed when the record store was opened.
  if (context.input.text("folder") === undefined) for (const note of notes) context.say(`note: ${printable(note)}`);
  const what = `${counted(events, "event")}, head ${head.seq} ${head.hash.slice(0, 12)}`;
  if (ok) context.print(`${context.paint("green", "ok")}: ${what}`);
  else context.print(`${context.paint("red", counted(problems.length, "problem"))}: ${what}`);
}

async function compact(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const archived = await records.compact();
  if (context.json) context.printJson({ events_archived: archived });
  else if (archived === 0) context.print("there was nothing to move into the archive");
  else context.print(`${counted(archived, "event")} moved into the archive`);
  return EXIT.done;
}

async function backup(context: CommandContext, records: RecordStoreApi): Promise<number> {
  const path = await records.backup(writtenPath(context, "the folder", idOf(context)));
  if (context.json) context.printJson({ path });
  else context.print(printable(path));
  return EXIT.done;
}
