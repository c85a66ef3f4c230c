import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { SyncEventShape } from "../../src/api/sync-api.ts";
import { chronicleBin } from "./cli-package.ts";

/**
 * `chronicle replicate` in a process of its own, in the foreground. It has a home, a store and a folder of its own. A
 * test can kill it and start it again.
 */
export class ReplicateProcess implements AsyncDisposable {
  readonly base: string;
  /** The user's home, with the store in it. */
  readonly userHome: string;
  /** The store. */
  readonly home: string;
  readonly folder: string;
  /** The events that the process has reported since it was last started. */
  readonly told: SyncEventShape[] = [];
  #child: ChildProcess | undefined;
  #id = "";

  /** `folder`: the folder of the replica. Default: one beside its home. */
  constructor(folder?: string) {
    this.base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-box-")));
    this.userHome = join(this.base, "home");
    this.home = join(this.userHome, ".local", "state", "chronicle");
    this.folder = folder ?? join(this.base, "box");
    mkdirSync(this.userHome);
  }

  /** The environment of every process of this user. */
  get env(): NodeJS.ProcessEnv {
    return { CI: "true", PATH: process.env["PATH"], HOME: this.userHome, LC_ALL: "C.UTF-8" };
  }

  /** The id of the workspace that follows the origin. `""` before the first event. */
  get id(): string {
    return this.#id;
  }

  /** The address of the socket that controls the sync. */
  get socketUrl(): string {
    return `unix:${join(this.home, "run", `sync-${this.#id}.sock`)}`;
  }

  /** Starts the process. `options` name the origin. Resolves once the sync has started and can be controlled. */
  async start(options: readonly string[]): Promise<void> {
    this.told.length = 0;
    const child = spawn(process.execPath, [chronicleBin(), "replicate", this.folder, "--json", ...options], {
      cwd: this.base,
      env: this.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const first = Promise.withResolvers<void>();
    const said: string[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      // An event is on one line. An error has several lines.
      if (!line.startsWith('{"')) return void said.push(line);
      const event = JSON.parse(line) as SyncEventShape;
      this.#id ||= event.id;
      this.told.push(event);
      first.resolve();
    });
    const [code] = (await Promise.race([first.promise.then(() => []), once(child, "close")])) as [number?];
    if (code !== undefined) throw new Error(`replicate ended with ${code}: ${said.join("\n")}`);
  }

  /** Kills the process in the middle of whatever it does. Returns its exit code, `null` if a signal ended it. */
  async kill(signal: "SIGKILL" | "SIGINT" = "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.base, { recursive: true, force: true, maxRetries: 5 });
  }
}
