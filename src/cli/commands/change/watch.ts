import { EXIT } from "../../../api/problems.ts";
import type { SessionShape } from "../../../api/shapes.ts";
import type { Recording } from "../../../api/workspace-api.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";

/**
 * Resolves to the session once the recording has ended. The first interrupt stops the recording. A second interrupt
 * ends the process at once, with exit code 130.
 */
async function untilStopped(context: CommandContext, recording: Recording): Promise<SessionShape> {
  let stopping: Promise<SessionShape> | undefined;
  const endInterrupt = context.io.onInterrupt(() => {
    if (stopping !== undefined) process.exit(130);
    stopping = recording.stop();
  });
  try {
    const session = await recording.done;
    return (await stopping) ?? session;
  } finally {
    endInterrupt();
  }
}

export async function watch(context: CommandContext): Promise<number> {
  const workspace = await context.workspace({ create: true });
  const recording = await workspace.watch({
    ...context.progress(),
    onSettings: () => context.say("the settings of what is tracked have changed, and apply here from now on"),
    onCapture: (changes) => {
      if (changes > 0 && !context.json)
        context.say(`${new Date(context.io.now()).toISOString()}  ${counted(changes, "change")}`);
    },
  });
  if (!context.json) context.say(`watching ${printable(workspace.path)}; Ctrl-C stops`);
  const session = await untilStopped(context, recording);
  if (context.json) context.printJson(session);
  else context.print(context.worded(lastLine(session)));
  return EXIT.done;
}

function lastLine({ session_id: id, changed }: SessionShape): string {
  const back = changed === 0 ? "" : `; take back: chronicle undo --session ${id.slice(0, 8)}`;
  return `recorded ${counted(changed, "change")}; see: chronicle show ${id}${back}`;
}
