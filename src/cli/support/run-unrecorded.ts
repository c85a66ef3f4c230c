import { errnoOf } from "../../core/values/errors.ts";
import { EXIT } from "../../api/problems.ts";
import { runCommand } from "../../util/run-command.ts";
import type { Io } from "../../process/io.ts";
import { printable, shownCommand } from "../../process/printable.ts";
import { optional } from "../../util/optional.ts";

/**
 * Runs a command with the stdin, stdout, stderr and terminal of this process, and records nothing. Resolves to the exit
 * code that a shell would report. If the command cannot be started, prints the reason. If SIGINT has ended the command,
 * the present process will also end by SIGINT.
 */
export async function runUnrecorded(command: readonly string[], io: Io): Promise<number> {
  const [file = ""] = command;
  const bytes = io.inherited.bytes(command);
  try {
    const { signal, code } = await runCommand(command, {
      cwd: io.cwd(),
      env: { ...io.env },
      descriptors: io.inherited.descriptors(),
      ...optional({ bytes }),
    });
    if (signal === "SIGINT") io.endBy(signal);
    return code;
  } catch (error) {
    const why = errnoOf(error) ?? (error instanceof Error ? error.message : String(error));
    io.err.write(`chronicle: could not start ${shownCommand([file])}: ${printable(why)}\n`);
    return startFailureCode(error) ?? EXIT.notStarted;
  }
}

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

function isSpawnError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && String(error.syscall).startsWith("spawn");
}

/**
 * Returns the exit code that a shell reports for a command that could not be started: 127 if the command was not found,
 * and otherwise 126. Returns `undefined` if neither the error nor one of its causes is a failed start.
 */
export function startFailureCode(error: unknown): number | undefined {
  if (isSpawnError(error)) return errnoOf(error) === "ENOENT" ? NOT_FOUND : NOT_EXECUTABLE;
  return error instanceof Error && error.cause !== undefined ? startFailureCode(error.cause) : undefined;
}
