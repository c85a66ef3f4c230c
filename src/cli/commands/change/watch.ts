import { EXIT } from "../../../api/problems.ts";
import type { SessionShape } from "../../../api/shapes.ts";
import type { Recording } from "../../../api/workspace-api.ts";
import { codeMark } from "../../../daemon/code-mark.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import type { CommandContext } from "../../support/context.ts";
import { counted } from "../../render/words.ts";
import { printable } from "../../../process/printable.ts";
import { besideNote } from "../../render/recording.ts";
import { recordingHere } from "../../watching/recording-here.ts";
import { SERVICE_VARIABLE, START_AGAIN } from "../../watching/watch-service.ts";
import { isAboutServices, watchServices } from "./watch-services.ts";

/** The interval, in milliseconds, at which a watch that runs as a service checks whether the program was replaced. */
const CODE_MS = 1_000;

interface Stopped {
  readonly session: SessionShape;
  /** True if the watch has ended because the program was replaced, and must be started again. */
  readonly isReplaced: boolean;
}

/**
 * Resolves once the recording has ended. The first interrupt stops the recording. A second interrupt ends the process
 * at once, with exit code 130. A watch that runs as a service also stops when the program was replaced.
 */
async function untilStopped(context: CommandContext, recording: Recording): Promise<Stopped> {
  let stopping: Promise<SessionShape> | undefined;
  let isReplaced = false;
  const endInterrupt = context.io.onInterrupt(() => {
    if (stopping !== undefined) process.exit(130);
    stopping = recording.stop();
  });
  const timer = onReplaced(context, () => {
    isReplaced = stopping === undefined;
    stopping ??= recording.stop();
  });
  try {
    const session = await recording.done;
    return { session: (await stopping) ?? session, isReplaced };
  } finally {
    clearInterval(timer);
    endInterrupt();
  }
}

/**
 * Calls `callback` once the files of the program were replaced. Does nothing if no service manager has started this
 * process.
 */
function onReplaced({ io }: CommandContext, callback: () => void): NodeJS.Timeout | undefined {
  if ((io.env[SERVICE_VARIABLE] ?? "") === "") return undefined;
  const disk = new NodeDisk();
  const mark = codeMark(disk);
  return setInterval(() => {
    if (codeMark(disk) !== mark) callback();
  }, CODE_MS);
}

export async function watch(context: CommandContext): Promise<number> {
  if (isAboutServices(context)) return watchServices(context);
  const workspace = await context.workspace({ create: true });
  const beside = besideNote(await recordingHere(context, workspace), context.io.now());
  if (beside !== undefined && !context.json) context.note(beside);
  const recording = await workspace.watch({
    ...context.progress(),
    onSettings: () => context.say("the settings of what is tracked have changed, and apply here from now on"),
    onCapture: (changes) => {
      if (changes > 0 && !context.json)
        context.say(`${new Date(context.io.now()).toISOString()}  ${counted(changes, "change")}`);
    },
  });
  if (!context.json) context.say(`watching ${printable(workspace.path)}; Ctrl-C stops`);
  const { session, isReplaced } = await untilStopped(context, recording);
  if (context.json) context.printJson(session);
  else context.print(context.worded(lastLine(session)));
  if (isReplaced) context.say("the program was replaced; the service starts again");
  return isReplaced ? START_AGAIN : EXIT.done;
}

function lastLine({ session_id: id, changed }: SessionShape): string {
  const back = changed === 0 ? "" : `; take back: chronicle undo --session ${id.slice(0, 8)}`;
  return `recorded ${counted(changed, "change")}; see: chronicle show ${id}${back}`;
}
