import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { EXIT } from "../api/problems.ts";
import { errnoOf } from "../core/errors.ts";
import type { Io } from "./io.ts";
import { printable, shownCommand } from "./render/printable.ts";
import { startFailureCode } from "./start-failure.ts";

/** Runs a command with our stdin, stdout and terminal and records nothing. Resolves to its exit code, as a shell has it. */
export async function runUnrecorded(command: readonly string[], io: Io): Promise<number> {
  const [file = "", ...args] = command;
  let child: ChildProcess | undefined;
  const endInterrupt = io.onInterrupt((signal) => {
    // A terminal sends Ctrl-C to the command as well as to us: it must not come twice.
    if (!(signal === "SIGINT" && io.stdinIsTerminal)) child?.kill(signal);
  });
  try {
    child = spawn(file, args, { stdio: "inherit", cwd: io.cwd(), env: { ...io.env } });
    return await endOf(child);
  } catch (error) {
    const why = errnoOf(error) ?? (error instanceof Error ? error.message : String(error));
    io.err.write(`chronicle: could not start ${shownCommand([file])}: ${printable(why)}\n`);
    return startFailureCode(error) ?? EXIT.notStarted;
  } finally {
    endInterrupt();
  }
}

function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
}
