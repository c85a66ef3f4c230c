import { dirname, join, resolve } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { ImportOptions, RecordImportShape } from "../../../api/record-api.ts";
import { errnoOf } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { withRecords } from "../../support/record-target.ts";
import { importHistory } from "./archive.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { readWholeFile } from "../../../process/user-files.ts";

function readLog(file: string, cwd: string): Buffer {
  try {
    return readWholeFile(resolve(cwd, file));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw usageError(`cannot read ${file}: ${errno}`, "name a file that can be read");
  }
}

/** Imports an archive. With `--from`, imports the records in another program's log instead. */
export async function importFile(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const from = input.text("from");
  if (from === undefined) return importHistory(context);
  if (from !== "chronomemory")
    throw usageError(`the logs of '${from}' are not known`, "chronicle import --from chronomemory <file>");
  const file = input.args[0] ?? "";
  const log = readLog(file, io.cwd());
  const options: ImportOptions = {
    roundNumbers: input.flag("roundNumbers"),
    upToTear: input.flag("upToTear"),
    ...(input.flag("acceptCheckpoint") ? { checkpoint: readLog(join(dirname(file), CHECKPOINT), io.cwd()) } : {}),
  };
  return withRecords(context, { readOnly: false }, async (records) => {
    const result = await records.importChronomemory(log, options);
    if (context.json) context.printJson(result);
    else show(context, result);
    return EXIT.done;
  });
}

/** The name of the checkpoint file, which chronomemory keeps in the same folder as its log. */
const CHECKPOINT = "snapshot.json";

function show(
  context: CommandContext,
  { events, records, rounded, seqs, head, unverified = {} }: RecordImportShape,
): void {
  const what = `${counted(events, "event")} verified and imported as ${seqs.join("..")}, ${counted(records, "record")} live`;
  context.print(`${what}; the original ends at event ${head.seq} ${head.hash.slice(0, 12)}`);
  if (rounded > 0) context.say(`note: ${counted(rounded, "number")} rounded`);
  const { checkpoint, tear } = unverified;
  if (checkpoint !== undefined) {
    const { records: taken, seq } = checkpoint;
    context.say(`not verified: ${counted(taken, "record")} of ${CHECKPOINT}, as of event ${seq}: no hash covers them`);
  }
  if (tear === undefined) return;
  const left = `${counted(tear.lines, "line")} (${counted(tear.bytes, "byte")}) from byte ${tear.byte} on`;
  context.say(`not imported: ${left}; ${printable(tear.reason)}`);
}
