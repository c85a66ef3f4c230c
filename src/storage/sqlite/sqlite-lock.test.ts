import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { lockSuite } from "../../testing/lock-suite.ts";
import { SqliteLock } from "./sqlite-lock.ts";
import { OwnTime } from "../../../test/helpers/own-time.ts";

let folder = "";
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-lock-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const disk = new NodeDisk();
const freshPath = (): string => join(folder, `${(count += 1)}.db`);

lockSuite("SqliteLock", () => {
  const path = freshPath();
  return () => new SqliteLock(disk, path);
});

describe("SqliteLock between processes", () => {
  const children: ChildProcess[] = [];
  const locks: SqliteLock[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    for (const lock of locks.splice(0)) lock.close();
  });

  function lockOf(path: string): SqliteLock {
    const lock = new SqliteLock(disk, path);
    locks.push(lock);
    return lock;
  }

  /** Runs code in a child process that has `lock`, a lock on the path. Resolves once the child prints something. */
  async function child(path: string, code: string): Promise<ChildProcess> {
    const head = `
      import { NodeDisk } from ${JSON.stringify(new URL("../../disk/node-disk.ts", import.meta.url).href)};
      import { SqliteLock } from ${JSON.stringify(new URL("sqlite-lock.ts", import.meta.url).href)};
      const lock = new SqliteLock(new NodeDisk(), ${JSON.stringify(path)});`;
    const started = spawn(process.execPath, ["--input-type=module-typescript", "-e", head + code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(started);
    await once(started.stdout, "data");
    return started;
  }

  const HOLD = `await lock.exclusive(1000); process.stdout.write("ready"); setInterval(() => {}, 1000);`;

  test("the file is private, empty and stays", async () => {
    const path = freshPath();
    const lock = lockOf(path);
    (await lock.exclusive(0)).release();
    lock.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(path).size).toBe(0);
  });

  test("kill -9 of the holder frees the lock, and until then a refusal names the holder", async () => {
    const path = freshPath();
    const holder = await child(path, HOLD);
    const lock = lockOf(path);
    const refused = await lock.exclusive(20).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "LOCKED", data: { pid: holder.pid } });
    expect(String(refused)).toContain(`process ${holder.pid}`);
    const waiting = lock.exclusive(5_000);
    holder.kill("SIGKILL");
    (await waiting).release();
  });

  test("a stopped holder causes LOCKED, with a hint how to continue the holder", async () => {
    const path = freshPath();
    const holder = await child(path, HOLD);
    holder.kill("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(lockOf(path).shared(20)).rejects.toMatchObject({
      code: "LOCKED",
      hint: expect.stringContaining(`kill -CONT ${holder.pid}`),
    });
  });

  test("four processes add to one counter under the lock; no addition is lost", async () => {
    const path = freshPath();
    const counter = join(folder, "counter");
    writeFileSync(counter, "0");
    const code = `
      import { readFileSync, writeFileSync } from "node:fs";
      process.stdout.write("ready");
      for (let i = 0; i < 100; i += 1) {
        using held = await lock.exclusive(30000);
        const before = Number(readFileSync(${JSON.stringify(counter)}, "utf8"));
        if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        writeFileSync(${JSON.stringify(counter)}, String(before + 1));
      }`;
    const running = await Promise.all([1, 2, 3, 4].map(() => child(path, code)));
    await Promise.all(running.filter((one) => one.exitCode === null).map((one) => once(one, "exit")));
    expect(readFileSync(counter, "utf8")).toBe("400");
  });

  test("acquiring and releasing costs less than 200 µs", async () => {
    const lock = lockOf(freshPath());
    (await lock.exclusive(0)).release();
    using own = new OwnTime();
    for (let i = 0; i < 1_000; i += 1) (await lock.exclusive(0)).release();
    const micros = own.ms;
    expect(micros).toBeLessThan(200);
  });
});
