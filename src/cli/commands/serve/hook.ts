import { hookScriptPath, writeHookScript } from "../../agents/hook-script.ts";
import type { CommandContext } from "../../support/context.ts";
import { failedHook, hookCommand } from "../../../daemon/hook-command.ts";
import { codedError } from "../../../core/values/errors.ts";
import type { Io } from "../../../process/io.ts";
import { printable } from "../../../process/printable.ts";
import { placesOf } from "../../../process/places.ts";
import { readTextIfThere } from "../../../process/user-files.ts";

/**
 * Answers one hook call of an agent. A plugin calls this command as long as the hook's script is missing. After the
 * answer, the command installs the script, which answers later calls faster.
 */
export async function hook({ io, input }: CommandContext): Promise<number> {
  const [store, strict] = [input.text("store"), input.flag("strict")];
  try {
    const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store });
    const agent = input.args[0] ?? "";
    const code = await hookCommand(io, { agent, strict, direct: input.flag("direct"), store });
    installForNextTime(io, places);
    return code;
  } catch (error) {
    return failedHook(error, { strict, write: (text) => io.err.write(text) });
  }
}

/**
 * Installs the hook's script if there is none. A failure is only reported on stderr. The exit code does not change,
 * because agents ignore an answer if the exit code is not 0, and the answer was already printed.
 */
function installForNextTime(io: Io, places: ReturnType<typeof placesOf>): void {
  try {
    if (readTextIfThere(hookScriptPath(places)) === undefined) writeHookScript(io, places);
  } catch (error) {
    const known = codedError(error);
    const why = known instanceof Error ? known.message : String(known);
    io.err.write(`chronicle: the fast hook could not be installed: ${printable(why)}\n`);
  }
}
