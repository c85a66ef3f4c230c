import { spawn } from "node:child_process";
import { constants } from "node:os";
import { errnoOf } from "../core/errors.ts";
import type { Io } from "./io.ts";
import { shownCommand } from "./render/printable.ts";
import { startFailureCode } from "./start-failure.ts";

/** Runs a command with our stdin, stdout and terminal and records nothing. Resolves to its exit code, as a shell has it. */
export function runUnrecorded(command: readonly string[], io: Io): Promise<number> {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { stdio: "inherit", cwd: io.cwd(), env: { ...io.env } });
  const endInterrupt = io.onInterrupt((signal) => {
    // A terminal sends Ctrl-C to the command as well as to us: it must not come twice.
    if (!(signal === "SIGINT" && io.stdinIsTerminal)) child.kill(signal);
  });
  const ended = new Promise<number>((resolve) => {
    child.on("error", (error) => {
      io.err.write(`chronicle: could not start ${shownCommand([file])}: ${errnoOf(error) ?? error.message}\n`);
      resolve(startFailureCode(error) ?? 126);
    });
    child.on("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
  return ended.finally(endInterrupt);
}
