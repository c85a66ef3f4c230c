import { spawn } from "node:child_process";
import { constants } from "node:os";
import { errnoOf } from "../core/errors.ts";
import type { Io } from "./io.ts";
import { shownCommand } from "./render/printable.ts";

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** Signals that a terminal sends to the child as well as to us: they are the child's to answer. */
const FROM_TERMINAL: ReadonlySet<NodeJS.Signals> = new Set(["SIGINT"]);

/** Runs a command with our stdin, stdout and terminal and records nothing. Resolves to its exit code, as a shell has it. */
export function runUnrecorded(command: readonly string[], io: Io): Promise<number> {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { stdio: "inherit", cwd: io.cwd(), env: { ...io.env } });
  const endInterrupt = io.onInterrupt((signal) => {
    if (!(FROM_TERMINAL.has(signal) && io.stdinIsTerminal)) child.kill(signal);
  });
  const ended = new Promise<number>((resolve) => {
    child.on("error", (error) => {
      io.err.write(`chronicle: could not start ${shownCommand([file])}: ${errnoOf(error) ?? error.message}\n`);
      resolve(errnoOf(error) === "ENOENT" ? NOT_FOUND : NOT_EXECUTABLE);
    });
    child.on("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
  return ended.finally(endInterrupt);
}
