import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { baseEnv } from "./command.ts";

/** Two folders of one machine, and a place for a tool's other files. */
export interface SyncPair {
  readonly from: string;
  readonly to: string;
  readonly home: string;
}

/** Two empty folders, and a home, in a folder. */
export function pairIn(folder: string): SyncPair {
  const pair = { from: join(folder, "from"), to: join(folder, "to"), home: join(folder, "home") };
  for (const path of Object.values(pair)) mkdirSync(path);
  return pair;
}

/** A tool that keeps a folder equal to another one. */
export interface SyncPeer {
  readonly name: string;
  /** The package to install, if the tool is missing. */
  missing(): string | undefined;
  /** Begins; it may take a while until the two are equal. Disposed, nothing of it runs any more. */
  start(pair: SyncPair): Promise<AsyncDisposable>;
}

/** True if a program of this name is on the path. */
export function isInstalled(program: string): boolean {
  return spawnSync("which", [program]).status === 0;
}

/** A program that runs until it is disposed of. Its output goes to a file in `home`. */
export class Background implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor(
    argv: readonly string[],
    home: string,
    { env = {}, log = "output.log" }: { env?: Readonly<Record<string, string>>; log?: string } = {},
  ) {
    const [program = "", ...args] = argv;
    const out = openSync(join(home, log), "a");
    // A group of its own: some of these programs have children that outlive them.
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
