import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChronicleClient, createClient } from "../../src/client/node.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { clientCommand, LIMITS_OFF, PACKAGE } from "./chronicle-tool.ts";
import { runCommand, type Command } from "./command.ts";

/** The time in which the process must carry out its first command, in milliseconds. */
const READY_MS = 120_000;
/** The time in which the process must end after SIGTERM, in milliseconds. */
const ENDED_MS = 30_000;
const POLL_MS = 50;
/** A pause after the first command, in milliseconds, in which the process finishes its work in the background. */
const QUIET_MS = 1_000;
/**
 * The version that the bench gives in a health check. It is older than every release, because a process ends if a newer
 * program asks.
 */
const OLDEST_VERSION = "0.0.0";

type MakeCommand = (...args: string[]) => Command;

/**
 * The long-lived process of a store that has one workspace, and commands for this process. Disposal ends the process,
 * and rejects if the process does not end.
 */
export class StoreProcess implements AsyncDisposable {
  readonly tree: string;
  /**
   * Makes a command that only the process can carry out. The command fails if the process leaves it to the command
   * line. A bench can therefore never measure the command line instead of the process.
   */
  readonly asked: MakeCommand;
  /** Makes a command as users give it. The command line carries it out if the process does not. */
  readonly given: MakeCommand;
  readonly #address: string;

  private constructor(tree: string, folder: string, packageFolder: string) {
    this.tree = tree;
    this.given = clientCommand(tree, folder, packageFolder);
    this.asked = clientCommand(tree, folder, clientAlone(folder, packageFolder));
    this.#address = join(folder, "home", "run", "serve.sock");
  }

  /**
   * Records `tree` in a new store within `folder`, and starts the process. As for users, a command that finds no
   * process starts it. Resolves once the process has carried out a command; rejects if it does not within two minutes.
   * `packageFolder`: the package whose program is run.
   */
  static async start(tree: string, folder: string, packageFolder: string = PACKAGE): Promise<StoreProcess> {
    await using starting = new AsyncDisposableStack();
    const started = starting.use(new StoreProcess(tree, folder, packageFolder));
    runCommand(started.given("init", ...LIMITS_OFF));
    await started.#begin();
    starting.move();
    return started;
  }

  /** Like `start`, for a store in `folder` that has a history of `tree` already. */
  static async of(tree: string, folder: string): Promise<StoreProcess> {
    await using starting = new AsyncDisposableStack();
    const started = starting.use(new StoreProcess(tree, folder, PACKAGE));
    await started.#begin();
    starting.move();
    return started;
  }

  /** Makes a command as users give it, which the command line carries out without the process. */
  direct(...args: string[]): Command {
    const { argv, cwd, env } = this.given(...args);
    return { argv, cwd, env: { ...env, CHRONICLE_DIRECT: "1" } };
  }

  /** Returns a client of the process's socket. */
  client(): ChronicleClient {
    return createClient({ url: `unix:${this.#address}` });
  }

  /** Resolves to the process id; `undefined` if the process does not answer. */
  async pid(): Promise<number | undefined> {
    return (await whoAnswers(this.#address, OLDEST_VERSION))?.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.pid();
    if (pid === undefined) return;
    process.kill(pid, "SIGTERM");
    for (const until = Date.now() + ENDED_MS; isRunning(pid); await sleep(POLL_MS)) {
      if (Date.now() > until) throw new Error(`the store's process ${pid} has not ended within ${ENDED_MS / 1000} s`);
    }
  }

  async #begin(): Promise<void> {
    runCommand(this.given("status"));
    await this.#warmUp();
  }

  /**
   * Asks until the process carries out a command. The process opens the workspace at the first command, and leaves that
   * command to the command line.
   */
  async #warmUp(): Promise<void> {
    for (const until = Date.now() + READY_MS; ; await sleep(POLL_MS)) {
      try {
        runCommand(this.asked("status"));
        break;
      } catch (cause) {
        if (Date.now() > until) throw new Error("the store's process does not carry out commands", { cause });
      }
    }
    if ((await this.pid()) === undefined) throw new Error("the store's process does not answer");
    await sleep(QUIET_MS);
  }
}

/** Returns the seq of the last event of a process's workspace. */
export function eventOf(ours: StoreProcess): number {
  const { seq } = JSON.parse(runCommand(ours.asked("status", "--json"))) as { seq: number };
  return seq;
}

/**
 * Makes a copy of the package that has the client, but not the launcher of the program. This client can only ask the
 * process. Returns the folder of the copy.
 */
function clientAlone(folder: string, packageFolder: string): string {
  const alone = join(folder, "client-alone");
  mkdirSync(join(alone, "bin"), { recursive: true });
  copyFileSync(join(packageFolder, "bin", "chronicle.cjs"), join(alone, "bin", "chronicle.cjs"));
  symlinkSync(join(packageFolder, "dist"), join(alone, "dist"));
  return alone;
}

/**
 * Returns true if the process exists. A zombie (a process that has ended, but was not waited for by its parent) counts
 * as ended on Linux, and as running on other systems.
 */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
