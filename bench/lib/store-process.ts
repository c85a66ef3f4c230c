import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import type { BenchContext } from "./bench.ts";
import { clientCommand, LIMITS_OFF, PACKAGE } from "./chronicle-tool.ts";
import { runCommand, type Command } from "./command.ts";
import { copyOfCorpus } from "./rounds.ts";

/** The time in which the process must have opened the workspace. */
const READY_MS = 120_000;
/** The time in which it must have ended. */
const ENDED_MS = 30_000;
const POLL_MS = 50;
/** What the process does in the background after its first answers is over by then. */
const QUIET_MS = 1_000;
/** A server of any version answers this one. */
const ANY_VERSION = "0.0.0";

type MakeCommand = (...args: string[]) => Command;

/** The long-lived process of a store, which has a workspace open, and commands that are given to it. Ended when disposed of. */
export class StoreProcess implements AsyncDisposable {
  readonly tree: string;
  /**
   * Commands that only the process carries out. One that it leaves to the command line fails, so that nothing else can be
   * measured in its place.
   */
  readonly asked: MakeCommand;
  /** Commands as users give them, of which the command line does what the process does not do. */
  readonly given: MakeCommand;
  readonly #address: string;

  private constructor(tree: string, folder: string, packageFolder: string) {
    this.tree = tree;
    this.given = clientCommand(tree, folder, packageFolder);
    this.asked = clientCommand(tree, folder, clientAlone(folder, packageFolder));
    this.#address = join(folder, "home", "run", "serve.sock");
  }

  /** Records a copy of the corpus and has the process open it. */
  static ofCorpus(context: BenchContext, name: string): Promise<StoreProcess> {
    context.say("preparing chronicle and its process");
    return StoreProcess.start(copyOfCorpus(context, `${name}-tree`), context.scratch.fresh(`${name}-store`));
  }

  /**
   * Records a tree in a new store within `folder`, starts the process as users do, by a command that misses it, and
   * resolves once it has carried out a command. Rejects if it does not. `packageFolder`: that of the program.
   */
  static async start(tree: string, folder: string, packageFolder: string = PACKAGE): Promise<StoreProcess> {
    await using starting = new AsyncDisposableStack();
    const started = starting.use(new StoreProcess(tree, folder, packageFolder));
    runCommand(started.given("init", ...LIMITS_OFF));
    runCommand(started.given("status"));
    await started.#warmUp();
    starting.move();
    return started;
  }

  /** The same commands without the process, by the same client. */
  direct(...args: string[]): Command {
    const { argv, cwd, env } = this.given(...args);
    return { argv, cwd, env: { ...env, CHRONICLE_DIRECT: "1" } };
  }

  /** The id of the process; `undefined` if it does not answer. */
  async pid(): Promise<number | undefined> {
    return (await whoAnswers(this.#address, ANY_VERSION))?.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pid = await this.pid();
    if (pid === undefined) return;
    process.kill(pid, "SIGTERM");
    for (const until = Date.now() + ENDED_MS; isRunning(pid); await sleep(POLL_MS)) {
      if (Date.now() > until) throw new Error(`the store's process ${pid} has not ended within ${ENDED_MS / 1000} s`);
    }
  }

  /** The first command that is asked has the process open the workspace, and is not carried out by it. */
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

/** Makes a package of the client alone: without the launcher of the program it can only ask. Returns its folder. */
function clientAlone(folder: string, packageFolder: string): string {
  const alone = join(folder, "client-alone");
  mkdirSync(join(alone, "bin"), { recursive: true });
  copyFileSync(join(packageFolder, "bin", "chronicle.cjs"), join(alone, "bin", "chronicle.cjs"));
  symlinkSync(join(packageFolder, "dist"), join(alone, "dist"));
  return alone;
}

/** False also for a process that has ended and that nobody has waited for. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
