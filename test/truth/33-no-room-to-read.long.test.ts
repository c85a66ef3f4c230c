import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ServerProcess } from "../helpers/server-process.ts";
import { canMount } from "../helpers/trouble.ts";

/**
 * A store on a disk with little room left (a small tmpfs). Its indexes are behind its log and its contents, as after
 * a crash. Reading does not need the room that up-to-date indexes would take.
 */

const KIB = 1024;
const FILES = 250;

function mountSmall(folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=12m,mode=700", "none", folder]).status).toBe(0);
}

/** Fills the disk of this file until `leftKib` KiB remain. */
function fill(filler: string, leftKib: number): void {
  rmSync(filler, { force: true });
  spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"], { stdio: "ignore" });
  truncateSync(filler, statSync(filler).size - leftKib * KIB);
}

/** The folders of a store that hold an index. */
function indexed(store: string): string[] {
  const ids = readdirSync(join(store, "workspaces")).filter((name) => /^[0-9a-f-]{36}$/.test(name));
  return [join(store, "blobs"), ...ids.map((id) => join(store, "workspaces", id))];
}

function removeIndex(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith("index.db")) rmSync(join(folder, name));
}

/** Copies the files of an index, after removing those in `to`. */
function copyIndex(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  removeIndex(to);
  for (const name of readdirSync(from)) if (name.startsWith("index.db")) cpSync(join(from, name), join(to, name));
}

describe.skipIf(!canMount)("Truth 33: a disk without room for the indexes (needs a mount)", () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-no-room-")));
  const [store, project, old] = [join(base, "store"), join(base, "project"), join(base, "old")];
  const filler = join(store, "filler");

  function chronicle(...args: readonly string[]): { readonly code: number | null; out: string; err: string } {
    const own = { HOME: base, XDG_CONFIG_HOME: join(base, "config"), XDG_RUNTIME_DIR: join(base, "run") };
    const words = [chronicleBin(), "--store", store, ...args];
    const ran = spawnSync(process.execPath, words, { cwd: project, env: { ...process.env, ...own }, encoding: "utf8" });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  function prepare(command: string): void {
    const { code, err } = chronicle(command);
    if (code !== 0) throw new Error(err);
  }

  beforeAll(() => {
    mountSmall(store);
    mkdirSync(project);
    writeFileSync(join(project, "a.txt"), "one\n");
    prepare("init");
    for (const folder of indexed(store)) copyIndex(folder, join(old, folder));
    for (const round of [1, 2, 3]) {
      for (let n = 0; n < FILES; n += 1) writeFileSync(join(project, `f${n}.txt`), `${round} ${n}\n`);
      prepare("snapshot");
    }
  }, 60_000);
  afterAll(() => {
    spawnSync("umount", ["-l", store]);
    rmSync(base, { recursive: true, force: true });
  });

  function setBack(isLost = false): void {
    rmSync(filler, { force: true });
    for (const folder of indexed(store)) {
      if (isLost) removeIndex(folder);
      else copyIndex(join(old, folder), folder);
    }
  }

  it.each([
    { left: 0, index: "behind" },
    { left: 40, index: "behind" },
    { left: 160, index: "behind" },
    { left: 160, index: "lost" },
  ])(
    "reads, verifies and restores, and says once that the index is temporary: $left KiB left, the indexes are $index",
    ({ left, index }) => {
      const elsewhere = join(base, `restored-${left}-${index}`);
      const commands = ["verify", "files", "cat f1.txt", "log", "status", "history f1.txt", "restore --to"];
      for (const command of commands) {
        setBack(index === "lost");
        fill(filler, left);
        const more = command === "restore --to" ? [elsewhere, "seq:700"] : [];
        const { code, out, err } = chronicle(...command.split(" "), ...more);
        const told = err.split("\n").filter((line) => line.includes("temporary index"));
        expect.soft({ command, code, told }).toEqual({ command, code: 0, told: [expect.stringContaining("ENOSPC")] });
        if (command === "cat f1.txt") expect.soft(out).toBe("3 1\n");
      }
      expect(readFileSync(join(elsewhere, "f1.txt"), "utf8")).toBe("3 1\n");
      expect(readdirSync(elsewhere)).toHaveLength(FILES + 1);
    },
    120_000,
  );

  it("records again once there is room, without a temporary index", () => {
    setBack();
    fill(filler, 40);
    expect(chronicle("files").code).toBe(0);
    rmSync(filler);
    writeFileSync(join(project, "late.txt"), "late\n");
    expect(chronicle("snapshot")).toMatchObject({ code: 0, err: expect.not.stringContaining("temporary") });
    expect(chronicle("cat", "late.txt")).toMatchObject({ code: 0, out: "late\n" });
    expect(chronicle("verify").code).toBe(0);
  }, 60_000);
});

describe.skipIf(!canMount)("Truth 33: a server on a disk without room for the indexes (needs a mount)", () => {
  it("reads over HTTP, and takes changes again once there is room", async () => {
    await using server = new ServerProcess();
    mountSmall(server.home);
    const [filler, old] = [join(server.home, "filler"), join(server.base, "old")];
    const headers = { authorization: `Bearer ${server.token}` };
    try {
      await server.start();
      const made = await fetch(`${server.url}/v1/workspaces`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ name: "one" }),
      });
      const { workspace: id } = (await made.json()) as { readonly workspace: string };
      const file = (n: number): string => `${server.url}/v1/workspaces/${id}/files/f${n}.txt`;
      const put = (n: number) => fetch(file(n), { method: "PUT", headers, body: `content ${n}` });
      await server.kill("SIGTERM");
      const folders = [join(server.home, "blobs"), join(server.home, "workspaces", id)];
      for (const folder of folders) copyIndex(folder, join(old, folder));
      await server.start();
      for (let n = 0; n < 600; n += 20) await Promise.all(Array.from({ length: 20 }, (_, at) => put(n + at)));
      await server.kill("SIGTERM");
      for (const folder of folders) copyIndex(join(old, folder), folder);
      fill(filler, 100);
      await server.start();
      for (const n of [1, 599]) {
        const read = await fetch(file(n), { headers });
        expect.soft([read.status, await read.text()]).toEqual([200, `content ${n}`]);
      }
      const verified = await fetch(`${server.url}/v1/workspaces/${id}/verify`, { headers });
      expect.soft(await verified.json()).toMatchObject({ ok: true });
      rmSync(filler);
      expect((await put(700)).status).toBe(200);
      expect(await (await fetch(file(700), { headers })).text()).toBe("content 700");
    } finally {
      await server.kill();
      spawnSync("umount", ["-l", server.home]);
    }
  }, 120_000);
});
