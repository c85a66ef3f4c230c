import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { problemsOf, putAll, someBytes } from "../../testing/blob-store-suite.ts";
import { sqliteBlobIndex } from "../sqlite/sqlite-blob-index.ts";
import { SqliteLock } from "../sqlite/sqlite-lock.ts";
import { FileBlobStore } from "./file-blob-store.ts";
import { storeLayout } from "../layout.ts";
import type { SinkResult } from "../blob-intake.ts";

const disk = new NodeDisk();
const opened: FileBlobStore[] = [];
const children: ChildProcess[] = [];
let folder = "";
let count = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-blobs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const store of opened.splice(0)) await store.close();
});

function freshHome(): string {
  const home = join(folder, String((count += 1)));
  mkdirSync(home);
  return home;
}

async function open(home: string): Promise<FileBlobStore> {
  const layout = storeLayout(home).blobs;
  const store = await FileBlobStore.open({
    disk,
    layout,
    openIndex: sqliteBlobIndex(disk, layout.index),
    lock: (path) => new SqliteLock(disk, path),
    newPackId: () => String((count += 1)).padStart(26, "0"),
    lockWaitMs: 150,
  });
  opened.push(store);
  return store;
}

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

/** Runs code with an open `store` in a process of its own. Resolves once the process has printed something. */
async function child(home: string, code: string): Promise<ChildProcess> {
  const head = `
    import { NodeDisk } from ${url("../../disk/node-disk.ts")};
    import { sqliteBlobIndex } from ${url("../sqlite/sqlite-blob-index.ts")};
    import { SqliteLock } from ${url("../sqlite/sqlite-lock.ts")};
    import { FileBlobStore } from ${url("file-blob-store.ts")};
    import { storeLayout } from ${url("../layout.ts")};
    const disk = new NodeDisk();
    const layout = storeLayout(${JSON.stringify(home)}).blobs;
    let count = 0;
    const store = await FileBlobStore.open({ disk, layout, openIndex: sqliteBlobIndex(disk, layout.index),
      lock: (path) => new SqliteLock(disk, path),
      newPackId: () => (process.pid + "-" + (count += 1)).padStart(26, "0") });
    const say = (text) => process.stdout.write(text);
  `;
  const started = spawn(process.execPath, ["--input-type=module-typescript", "-e", head + code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(started);
  await once(started.stdout, "data");
  return started;
}

async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
}

describe("several processes", () => {
  test("write at the same time, and all that they commit is stored", async () => {
    const home = freshHome();
    const code = (seed: number): string => `
      say("ready");
      for (let i = 0; i < 30; i++) {
        const batch = await store.batch();
        await batch.put(Buffer.from("common " + i));
        await batch.put(Buffer.from("own ${seed} " + i));
        await batch.commit();
      }
      await store.close();`;
    const running = await Promise.all([1, 2, 3].map((seed) => child(home, code(seed))));
    await Promise.all(running.map(ended));
    const store = await open(home);
    const wanted = Array.from({ length: 30 }, (_, i) => [
      `common ${i}`,
      ...[1, 2, 3].map((seed) => `own ${seed} ${i}`),
    ]).flat();
    for (const text of wanted) expect((await store.get(sha256(text)))?.toString()).toBe(text);
    expect(await problemsOf(store)).toEqual([]);
  });

  test("one is killed in the middle of a batch: what it committed is there, and its lane is used again", async () => {
    const home = freshHome();
    const killed = await child(
      home,
      `const done = await store.batch();
       await done.put(Buffer.from("committed"));
       await done.commit();
       const half = await store.batch();
       for (let i = 0; i < 50; i++) await half.put(Buffer.alloc(100_000, i));
       say("ready");
       setInterval(() => {}, 1000);`,
    );
    killed.kill("SIGKILL");
    await ended(killed);
    const store = await open(home);
    expect((await store.get(sha256("committed")))?.toString()).toBe("committed");
    expect(await problemsOf(store)).toEqual([]);
    await putAll(store, [Buffer.from("after")]);
    expect(readdirSync(storeLayout(home).blobs.active).filter((name) => name.endsWith(".pack"))).toEqual(["0.pack"]);
    await store.collect(() => true);
  });

  test("one is stopped in the middle of a batch: a collector is refused, and frees nothing that the batch has put", async () => {
    const home = freshHome();
    const store = await open(home);
    const [seen] = (await putAll(store, [Buffer.from("seen by the other")])) as [Hash];
    const stopped = await child(
      home,
      `const batch = await store.batch();
       await batch.put(Buffer.from("seen by the other"));
       await batch.put(Buffer.from("new"));
       say("ready");
       setTimeout(async () => { await batch.commit(); say("done"); }, 300);`,
    );
    stopped.kill("SIGSTOP");
    await expect(store.collect(() => false)).rejects.toMatchObject({ code: "LOCKED" });
    const done = once(stopped.stdout as NonNullable<typeof stopped.stdout>, "data");
    stopped.kill("SIGCONT");
    await done;
    expect(await store.has([seen, sha256("new")])).toHaveProperty("size", 2);
    expect(await store.collect(() => false)).toMatchObject({ freedBlobs: 2 });
  });

  test("a worker thread fills a sink, and the main thread publishes it", async () => {
    const home = freshHome();
    const store = await open(home);
    const [lane] = await store.takeLanes(1);
    const code = `
      import { parentPort, workerData } from "node:worker_threads";
      import { NodeDisk } from ${url("../../disk/node-disk.ts")};
      import { storeLayout } from ${url("../layout.ts")};
      import { openPackSink } from ${url("pack-sink.ts")};
      let count = 0;
      const sink = openPackSink(new NodeDisk(), storeLayout(workerData.home).blobs,
        { grant: workerData.grant, newPackId: () => ("W" + (count += 1)).padStart(26, "0") });
      for (let i = 0; i < 100; i++) sink.put(Buffer.from("content " + i));
      parentPort.postMessage(sink.finish());`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
      workerData: { home, grant: lane?.grant },
    });
    const [result] = (await once(worker, "message")) as [SinkResult];
    await store.publish([result]);
    lane?.release();
    await worker.terminate();
    for (let i = 0; i < 100; i++) expect((await store.get(sha256(`content ${i}`)))?.toString()).toBe(`content ${i}`);
    expect(await problemsOf(store)).toEqual([]);
  });
});

describe("the index file", () => {
  const contents = Array.from({ length: 20 }, (_, i) => someBytes(1_000 + i, i));
  const damages: readonly (readonly [string, (path: string) => void])[] = [
    ["deleted", (path) => rmSync(path)],
    ["empty", (path) => truncateSync(path, 0)],
    ["cut off", (path) => truncateSync(path, 5_000)],
    ["garbage", (path) => writeFileSync(path, someBytes(20_000, 1))],
    ["of another version", (path) => writeFileSync(path, readFileSync(path).fill(9, 60, 64))],
  ];

  test.each(damages)("%s: the index is made anew, and no answer changes", async (_, damage) => {
    const home = freshHome();
    const { index } = storeLayout(home).blobs;
    const store = await open(home);
    const hashes = await putAll(store, contents);
    await store.close();
    for (const suffix of ["-wal", "-shm"]) rmSync(index + suffix, { force: true });
    damage(index);
    const again = await open(home);
    expect(await again.has(hashes)).toEqual(new Set(hashes));
    for (const [i, hash] of hashes.entries()) expect(await again.get(hash)).toEqual(contents[i]);
    expect(await problemsOf(again)).toEqual([]);
  });

  test("with damage that shows only later: the damage is reported once, and the index is made anew", async () => {
    const home = freshHome();
    const { index } = storeLayout(home).blobs;
    const store = await open(home);
    const hashes = await putAll(store, contents.concat(Array.from({ length: 800 }, (_, i) => Buffer.from(`${i}`))));
    await store.close();
    const bytes = readFileSync(index);
    for (let page = 10; page < bytes.length / 4096; page++) bytes.fill(0xee, page * 4096, page * 4096 + 4000);
    writeFileSync(index, bytes);
    const damaged = await open(home);
    const refused = await damaged.has(hashes).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "INTEGRITY_VIOLATION", hint: expect.stringContaining("again") });
    expect(await damaged.has(hashes)).toEqual(new Set(hashes));
    await damaged.close();
    const again = await open(home);
    expect(await again.has(hashes)).toEqual(new Set(hashes));
  });

  test("deleted while a store is open: that store and a new one see each other's contents", async () => {
    const home = freshHome();
    const { index } = storeLayout(home).blobs;
    const running = await open(home);
    const hashes = await putAll(running, contents);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(index + suffix, { force: true });
    const other = await open(home);
    expect(await other.has(hashes)).toEqual(new Set(hashes));
    const [theirs] = (await putAll(other, [Buffer.from("theirs")])) as [Hash];
    const [mine] = (await putAll(running, [Buffer.from("mine")])) as [Hash];
    for (const store of [running, other, await open(home)]) {
      expect((await store.get(theirs))?.toString()).toBe("theirs");
      expect((await store.get(mine))?.toString()).toBe("mine");
      expect(await store.has(hashes)).toEqual(new Set(hashes));
      expect(await problemsOf(store)).toEqual([]);
    }
  });

  test("deleted in the middle of a batch: the committed content is found later", async () => {
    const home = freshHome();
    const { index } = storeLayout(home).blobs;
    const store = await open(home);
    const batch = await store.batch();
    const hash = await batch.put(Buffer.from("begun before"));
    for (const suffix of ["", "-wal", "-shm"]) rmSync(index + suffix, { force: true });
    await batch.commit();
    expect((await store.get(hash))?.toString()).toBe("begun before");
    expect(await store.has([hash])).toEqual(new Set([hash]));
    await store.close();
    expect((await (await open(home)).get(hash))?.toString()).toBe("begun before");
  });

  test("folders are private, and so is every file", async () => {
    const home = freshHome();
    const before = process.umask(0);
    try {
      await putAll(await open(home), [someBytes(10, 1), someBytes(9 << 20, 2)]);
    } finally {
      process.umask(before);
    }
    const modes = readdirSync(join(home, "blobs"), { recursive: true, encoding: "utf8" }).map((name) => {
      const stat = statSync(join(home, "blobs", name));
      return [name, stat.mode & 0o777, stat.isDirectory() ? 0o700 : 0o600] as const;
    });
    expect(modes.length).toBeGreaterThan(8);
    expect(modes.filter(([, mode, wanted]) => mode !== wanted)).toEqual([]);
    chmodSync(home, 0o700);
  });
});
