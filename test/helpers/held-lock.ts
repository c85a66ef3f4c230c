import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The program of the other process. It takes the lock, writes `held`, and holds the lock until its input ends. */
const HOLDER = `
  const { DatabaseSync } = require("node:sqlite");
  const held = new DatabaseSync(process.argv[1], { timeout: 60_000 });
  held.exec("BEGIN EXCLUSIVE");
  process.stdout.write("held");
  process.stdin.resume().on("end", () => held.close());
`;

/** The writer's lock of the only workspace of a store, held by another process until it is released. */
export class HeldLock implements AsyncDisposable {
  readonly #holder: ReturnType<typeof HeldLock.start>;

  private constructor(holder: ReturnType<typeof HeldLock.start>) {
    this.#holder = holder;
  }

  static async take(home: string): Promise<HeldLock> {
    const [id = ""] = readdirSync(join(home, "workspaces"));
    const holder = HeldLock.start(join(home, "workspaces", id, "lock.db"));
    await once(holder.stdout, "data");
    return new HeldLock(holder);
  }

  async release(): Promise<void> {
    if (this.#holder.exitCode !== null) return;
    const ended = once(this.#holder, "exit");
    this.#holder.stdin.end();
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  private static start(path: string) {
    return spawn(process.execPath, ["-e", HOLDER, path], { stdio: ["pipe", "pipe", "inherit"] });
  }
}
