import { resolve } from "node:path";
import { EXIT } from "../../api/problems.ts";
import { errnoOf } from "../../core/errors.ts";
import type { CommandContext } from "../context.ts";
import { withRecords } from "../record-target.ts";
import { counted } from "../render/counted.ts";
import { usageError } from "../usage-error.ts";
import { readWholeFile } from "../user-files.ts";

function readLog(file: string, cwd: string): Buffer {
  try {
    return readWholeFile(resolve(cwd, file));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw usageError(`cannot read ${file}: ${errno}`, "name a file that can be read");
  }
}

export async function importRecords(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const from = input.text("from");
  if (from !== "chronomemory") {
    const what = from === undefined ? "it is not said whose log it is" : `the logs of '${from}' are not known`;
    throw usageError(what, "chronicle import --from chronomemory <file>");
  }
  const log = readLog(input.args[0] ?? "", io.cwd());
  const roundNumbers = input.flag("roundNumbers");
  return withRecords(context, { readOnly: false }, async (records) => {
    const result = await records.importChronomemory(log, { roundNumbers });
    if (context.json) context.printJson(result);
    else {
      const { events, records: live, rounded, seqs, head } = result;
      const what = `${counted(events, "event")} verified and imported as ${seqs.join("..")}, ${counted(live, "record")} live`;
      context.print(`${what}; the original ends at event ${head.seq} ${head.hash.slice(0, 12)}`);
      if (rounded > 0) context.say(`note: ${counted(rounded, "number")} rounded`);
    }
    return EXIT.done;
  });
}
