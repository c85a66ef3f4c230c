import { type ChildProcess, spawn } from "node:child_process";
import { SignalForwarder } from "./signal-forwarder.ts";
import { type ByteWords, throughShell } from "./byte-words.ts";
import { greatestOf } from "./long-lists.ts";

/** The options of a command besides its words. */
export interface CommandOptions {
  /** Default: this process's own. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Open descriptors of this process that the command gets under the same numbers. It gets all those below 3 anyway.
   */
  readonly descriptors?: readonly number[];
  /** The exact words and variables that are not UTF-8. */
  readonly bytes?: ByteWords;
}

/** The end of a command: by itself, or by a signal. */
export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs a command with this process's stdin, stdout, stderr and terminal. Signals reach it as if it were this process.
 * Throws the system's error if it cannot be started.
 */
export async function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandEnd> {
  using signals = await SignalForwarder.start();
  const child = start(command, options);
  // A child that could not be started has no pid; its error comes later.
  if (child.pid !== undefined) signals.to(child);
  const { promise, resolve, reject } = Promise.withResolvers<CommandEnd>();
  child.on("error", reject);
  child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
  return await promise;
}

function start(command: readonly string[], options: CommandOptions): ChildProcess {
  const { cwd, env, bytes } = options;
  const stdio = stdioOf(options.descriptors ?? []);
  if (bytes === undefined) {
    const [program = "", ...args] = command;
    return spawn(program, args, { cwd, env, stdio });
  }
  const [shell, ...args] = throughShell(command, env, bytes);
  return spawn(shell, args, { cwd, env: {}, stdio });
}

/** Maps each descriptor to its own number; "ignore" leaves one closed from 3 up. */
function stdioOf(descriptors: readonly number[]): (number | "ignore")[] {
  const stdio = Array.from<number | "ignore">({ length: Math.max(2, greatestOf(descriptors)) + 1 }).fill("ignore");
  for (const fd of [0, 1, 2, ...descriptors]) stdio[fd] = fd;
  return stdio;
}
