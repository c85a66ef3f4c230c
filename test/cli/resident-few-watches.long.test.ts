import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { errnoOf } from "../../src/core/values/errors.ts";
import { VERSION } from "../helpers/resident-server.ts";
import { Sandbox } from "./sandbox.ts";

/** Words for `unshare`: a process in its own user namespace can have fewer watches than the machine has. */
const inNamespace = (watches: number): string[] => [
  "-Ur",
  "sh",
  "-c",
  `echo ${watches} > /proc/sys/user/max_inotify_watches && exec "$@"`,
  "sh",
];
const canLimit = spawnSync("unshare", [...inNamespace(100), "true"]).status === 0;

/** The launcher, which asks the store's process. */
const askingBin = (): string => chronicleBin().replace(/\.js$/, ".cjs");

/** The text of a file. Empty if the file is gone, for example because the descriptor was closed meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return "";
    throw error;
  }
}

const FOLDERS = 40;
const WATCHES = 120;

/** A shell with few watches. Its commands start the store's process. */
class Shell implements Disposable {
  readonly #box: Sandbox;
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;

  constructor(box: Sandbox) {
    this.#box = box;
    const script = 'while read -r folder; do cd "$folder" && "$1" status > /dev/null && echo done; done';
    const words = [...inNamespace(WATCHES), "sh", "-c", script, "sh", askingBin()];
    const env = { ...box.env(), CHRONICLE_DIRECT: undefined, CI: undefined };
    this.#shell = spawn("unshare", words, { env, stdio: ["pipe", "pipe", "inherit"] });
  }

  async status(folder: string): Promise<void> {
    const said = once(this.#shell.stdout, "data");
    this.#shell.stdin.write(`${join(this.#box.folder, folder)}\n`);
    if (String(await said) !== "done\n") throw new Error(`the status of ${folder} failed`);
  }

  /** The inode numbers of the folders that the store's process watches. Empty if the process does not answer. */
  async watched(): Promise<readonly number[]> {
    const pid = (await whoAnswers(join(this.#box.store, "run", "serve.sock"), VERSION))?.pid;
    if (pid === undefined) return [];
    return readdirSync(`/proc/${pid}/fdinfo`).flatMap((fd) => {
      const text = textOf(`/proc/${pid}/fdinfo/${fd}`);
      return [...text.matchAll(/^inotify wd:\S+ ino:(\S+)/gm)].map(([, ino = ""]) => Number.parseInt(ino, 16));
    });
  }

  /** True if the store's process watches a folder of the workspace. */
  async isWatched(folder: string): Promise<boolean> {
    const { ino } = statSync(join(this.#box.folder, folder, "d0"));
    return (await this.watched()).includes(ino);
  }

  [Symbol.dispose](): void {
    this.#shell.kill();
  }
}

describe.skipIf(!canLimit)("the store's process with few watches", () => {
  it("stops watching the workspace that was used longest ago, so that half of the watches stay free", async () => {
    using box = new Sandbox();
    for (const folder of ["one", "two"]) {
      for (let i = 0; i < FOLDERS; i += 1) mkdirSync(join(box.folder, folder, `d${i}`), { recursive: true });
      writeFileSync(join(box.folder, folder, "file"), "x\n");
      await box.must(["init"], { cwd: folder });
    }
    using shell = new Shell(box);
    const isWatched = async (folder: string): Promise<void> => {
      await vi.waitFor(
        async () => {
          await shell.status(folder);
          expect(await shell.isWatched(folder)).toBe(true);
        },
        { timeout: 60_000, interval: 200 },
      );
    };
    await isWatched("one");
    expect((await shell.watched()).length).toBeLessThan(2 * FOLDERS);
    await isWatched("two");
    await vi.waitFor(async () => expect((await shell.watched()).length).toBeLessThanOrEqual(WATCHES / 2), {
      timeout: 60_000,
    });
    expect([await shell.isWatched("one"), await shell.isWatched("two")]).toEqual([false, true]);
    await isWatched("two");
    expect((await shell.watched()).length).toBeLessThanOrEqual(WATCHES / 2);
  });
});
