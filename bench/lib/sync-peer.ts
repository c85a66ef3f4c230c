import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { baseEnv } from "./command.ts";

/** Two folders on one machine, and a folder (`home`) for the other files of a tool. */
export interface SyncPair {
  readonly from: string;
  readonly to: string;
  readonly home: string;
}

/** Makes the three empty folders of a pair within `folder`. */
export function pairIn(folder: string): SyncPair {
  const pair = { from: join(folder, "from"), to: join(folder, "to"), home: join(folder, "home") };
  for (const path of Object.values(pair)) mkdirSync(path);
  return pair;
}

/** A tool that keeps a folder equal to another one. */
export interface SyncPeer {
  readonly name: string;
  /** Returns the name of the program that must be installed for the tool; `undefined` if nothing is missing. */
  missing(): string | undefined;
  /** Starts the tool. Does not wait until the two folders are equal. Disposal ends all processes of the tool. */
  start(pair: SyncPair): Promise<AsyncDisposable>;
}

/** Returns true if `PATH` has a program of this name. */
export function isInstalled(program: string): boolean {
  return spawnSync("which", [program]).status === 0;
}

/**
 * A program in the background. Its output goes to the file `log` in `home`. Disposal sends SIGTERM to the program and
 * its children, and SIGKILL if the program has not ended after 5 s.
 */
export class Background implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor(
    argv: readonly string[],
    home: string,
    { env = {}, log = "output.log" }: { env?: Readonly<Record<string, string>>; log?: string } = {},
  ) {
    const [program = "", ...args] = argv;
    const out = openSync(join(home, log), "a");
    // A process group of its own, because some of these programs have children that would outlive them.
    this.#child = spawn(program, args, {
      cwd: home,
      env: { ...baseEnv(home), ...env },
      stdio: ["ignore", out, out],
      detached: true,
    });
    closeSync(out);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    process.kill(-this.#child.pid, "SIGTERM");
    const timer = setTimeout(() => process.kill(-this.pid, "SIGKILL"), 5_000);
    await ended;
    clearTimeout(timer);
  }
}
