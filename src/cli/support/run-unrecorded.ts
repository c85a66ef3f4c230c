import { constants } from "node:os";
import { EXIT } from "../../api/problems.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { runCommand } from "../../util/run-command.ts";
import type { Io } from "../../process/io.ts";
import { printable, shownCommand } from "../../process/printable.ts";
import { startFailureCode } from "./start-failure.ts";
import { optional } from "../../util/optional.ts";

/** Runs a command with our stdin, stdout and terminal and records nothing. Resolves to its exit code, as a shell has it. */
export async function runUnrecorded(command: readonly string[], io: Io): Promise<number> {
  const [file = ""] = command;
  const bytes = io.inherited.bytes(command);
  try {
    const { exitCode, signal } = await runCommand(command, {
      cwd: io.cwd(),
      env: { ...io.env },
      descriptors: io.inherited.descriptors(),
      ...optional({ bytes }),
    });
    if (signal === "SIGINT") io.endBy(signal);
    return signal === null ? (exitCode ?? 1) : 128 + constants.signals[signal];
  } catch (error) {
    const why = errnoOf(error) ?? (error instanceof Error ? error.message : String(error));
    io.err.write(`chronicle: could not start ${shownCommand([file])}: ${printable(why)}\n`);
    return startFailureCode(error) ?? EXIT.notStarted;
  }
}
