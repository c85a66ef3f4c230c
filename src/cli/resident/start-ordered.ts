import { errnoOf } from "../../core/values/errors.ts";
import type { RunOrder, RunReport } from "../../daemon/command-call.ts";
import { INHERITED } from "../../process/inheritance.ts";
import { runCommand } from "../../util/run-command.ts";

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Starts the command of a run as a child of this process. Resolves to the way in which the command ended, or to the
 * error if it could not be started. From this call on, this process ignores interrupts, so that the end of the command
 * is recorded and reported.
 */
export async function startOrdered({ command, cwd, moreEnv }: RunOrder): Promise<RunReport["end"]> {
  for (const signal of SIGNALS) process.on(signal, () => undefined);
  try {
    const env = { ...process.env, ...moreEnv };
    return await runCommand(command, { cwd, env, descriptors: INHERITED.descriptors() });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { errno: errnoOf(error) ?? "EIO", message };
  }
}
