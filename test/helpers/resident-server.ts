import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import packageJson from "../../package.json" with { type: "json" };
import { askProcess } from "../../src/cli/resident/ask-process.ts";
import { type CommandCall, viewFrom } from "../../src/daemon/command-call.ts";
import { programMark } from "../../src/daemon/hook-image.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";

const MAIN = join(dirname(dirname(import.meta.dirname)), "src", "cli", "main.ts");
const NO_TERMINAL = { isTerminal: false, colours: false, columns: 80 };
const disk = new NodeDisk();

/** The version of the process. */
export const VERSION = packageJson.version;

/** The maximum time until the process has opened a workspace, in milliseconds. */
const READY_MS = 20_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the call of a command, as a command started by this process would send it. */
export function commandCall(argv: readonly string[], cwd: string, env: Environment): CommandCall {
  const view = viewFrom(disk, cwd);
  if (view === undefined) throw new Error(`the folder ${cwd} does not exist`);
  return {
    ...{ program: programMark(disk), argv, env: JSON.parse(JSON.stringify(env)), cwd, view, pid: process.pid },
    ...{ stdinIsTerminal: false, out: NO_TERMINAL, err: NO_TERMINAL },
    request: `${Date.now()}-${Math.random()}`,
  };
}

/** The server of a store, as a command would start it. It runs from the sources. */
export class ResidentServer {
  readonly #env: Environment;
  readonly #home: string;
  #child: ChildProcess | undefined;

  /** `env`: the environment of the commands. */
  constructor(env: Environment, home: string) {
    this.#env = env;
    this.#home = home;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /**
   * Starts the server if necessary. Resolves to true once it carries out commands in the folder, or to false if it does
   * not in time.
   */
  async ready(cwd: string, withinMs = READY_MS): Promise<boolean> {
    if (!existsSync(join(this.#home, "workspaces"))) return false;
    if (this.#child === undefined || this.#child.exitCode !== null) this.#start();
    for (const until = Date.now() + withinMs; Date.now() < until; await sleep(10)) {
      if ("code" in (await this.ask(["status", "--json"], cwd))) return true;
    }
    return false;
  }

  /** Asks the process to carry out a command. */
  ask(argv: readonly string[], cwd: string, env: Environment = this.#env): ReturnType<typeof askProcess> {
    return askProcess(disk, this.#home, commandCall(argv, cwd, env));
  }

  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  [Symbol.dispose](): void {
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
  }

  #start(): void {
    const words = [MAIN, "serve", "--store", this.#home, "--idle", "900", "--quiet"];
    this.#child = spawn(process.execPath, words, { env: this.#env, stdio: "inherit" });
  }
}
