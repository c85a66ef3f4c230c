import { hookScriptPath, writeHookScript } from "../../agents/hook-script.ts";
import type { CommandContext } from "../../support/context.ts";
import { hookCommand } from "../../../daemon/hook-command.ts";
import { placesOf } from "../../../process/places.ts";
import { readTextIfThere } from "../../../process/user-files.ts";

/** Answers a hook. A plugin calls this if there is no fast hook yet; it installs one for the next time. */
export async function hook({ io, input }: CommandContext): Promise<number> {
  const store = input.text("store");
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store });
  const code = await hookCommand(io, {
    agent: input.args[0] ?? "",
    strict: input.flag("strict"),
    direct: input.flag("direct"),
    store,
  });
  if (readTextIfThere(hookScriptPath(places)) === undefined) writeHookScript(io, places);
  return code;
}
