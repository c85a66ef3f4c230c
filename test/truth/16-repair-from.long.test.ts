import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/open.ts";
import type { VerifyShape } from "../../src/api/shapes.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { PACK_HEADER_BYTES } from "../../src/storage/block.ts";
import { scanPack } from "../../src/storage/files/pack-scan.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { ended, Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { ReplicateProcess } from "../helpers/replicate-process.ts";
import { filesBelow, flipByte, noise, rot } from "../helpers/rot.ts";
import { ServedStore } from "../helpers/served-store.ts";
import { ServerProcess } from "../helpers/server-process.ts";

const OLD = noise("old", 40_000);
const NEW = noise("new", 40_000);

/** A history of two states of `a.bin`, and some other files. */
async function lived(box: Sandbox, old = OLD): Promise<void> {
  box.write("a.bin", old);
  box.write("src/b.txt", "b\n");
  symlinkSync("src/b.txt", join(box.project, "link"));
  await box.must(["init"]);
  box.write("a.bin", NEW);
  box.write("src/c.txt", "c\n");
  await box.must(["snapshot"]);
}

/** Makes a history that needs all kinds of contents, by runs with files kept aside, an undo and a compaction. */
async function livedThrough(box: Sandbox): Promise<void> {
  box.write(".gitignore", ".env\n");
  box.write(".env", "SECRET=1\n");
  await lived(box);
  await box.must(["run", "--", "sh", "-c", "rm .env; echo d > src/d.txt"]);
  await box.must(["compact"]);
  await box.must(["run", "--", "sh", "-c", "rm -rf src; echo 2 > .gitignore"]);
  await box.must(["undo"]);
  await box.must(["run", "--", "sh", "-c", "echo SECRET=2 > .env; echo e > src/e.txt"]);
}

/** The blocks of a pack, each with the byte in the middle of what it stores. */
function blocksOf(path: string): { readonly path: string; readonly middle: number }[] {
  const disk = new NodeDisk();
  const fd = disk.open(path, "read");
  try {
    return [...scanPack(disk, fd, PACK_HEADER_BYTES, disk.fstat(fd).size)].flatMap((part) =>
      part.kind === "garbage"
        ? []
        : [{ path, middle: part.offset + part.head.headBytes + (part.head.storedLength >> 1) }],
    );
  } finally {
    disk.close(fd);
  }
}

/** A copy of a store, or of a folder, beside it. */
function copied(box: Sandbox, what: string, name: string): string {
  const to = join(box.folder, name);
  cpSync(what, to, { recursive: true, preserveTimestamps: true });
  return to;
}

async function verified(box: Sandbox, ...places: readonly string[]): Promise<VerifyShape & { readonly code: number }> {
  const options = places.flatMap((place) => ["--repair-from", place]);
  const { code, value } = await box.json(["verify", ...options]);
  return { ...(value as VerifyShape), code: code ?? -1 };
}

/** Returns the names, times, sizes and hashes of everything in a folder. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const { mtimeMs, ctimeMs, size } = lstatSync(path);
      const content = lstatSync(path).isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
      return [name, mtimeMs, ctimeMs, size, content].join(" ");
    });
}

async function restored(box: Sandbox, moment: string, content: Buffer): Promise<void> {
  const to = join(box.folder, `restored-${moment}`);
  await box.must(["restore", moment, "--to", to]);
  expect(readFileSync(join(to, "a.bin")).equals(content)).toBe(true);
}

const SIZES = [
  ["small", OLD],
  ["large, in a file of its own", noise("large", 9 * 1024 * 1024)],
  ["large and compressed", Buffer.from("0123456789".repeat(1024 * 1024))],
] as const;

describe("Truth 16: verify --repair-from heals what can be healed", () => {
  test.each(SIZES)("from a folder (%s), and names the healed content with what needs it", async (_, old) => {
    using box = new Sandbox();
    await lived(box, old);
    mkdirSync(join(box.folder, "elsewhere/deep"), { recursive: true });
    writeFileSync(join(box.folder, "elsewhere/deep/saved"), old);
    if (old[0] === 48) for (const path of filesBelow(join(box.store, "blobs/large"))) flipByte(path, 100);
    else rot(box.store, old);
    expect(await verified(box)).toMatchObject({ code: 4, ok: false });
    const { code, ok, problems, repair } = await verified(box, "../elsewhere");
    expect([code, ok, problems]).toEqual([0, true, []]);
    const from = join(box.folder, "elsewhere/deep/saved");
    expect(repair).toMatchObject({ missing: [], failed: [], healed: [{ hash: sha256(old), from }] });
    expect(repair?.healed[0]?.needed_by).toEqual(["base of event 3: a.bin@1"]);
    expect(await verified(box)).toMatchObject({ code: 0, problems: [] });
    await restored(box, "0", old);
    await restored(box, "1", NEW);
  });

  test("from the workspace's own folder, with files and link targets", async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, NEW);
    for (const path of filesBelow(join(box.store, "blobs/packs"))) if (path.endsWith(".pack")) cut(path, NEW);
    const { code, repair } = await verified(box, ".");
    expect([code, repair?.missing]).toEqual([0, []]);
    expect(repair?.healed.find(({ hash }) => hash === sha256(NEW))?.needed_by).toEqual([
      expect.stringMatching(/\(event \d+, file:a\.bin\)$/),
    ]);
    await restored(box, "1", NEW);
  });

  test("a content that is found nowhere is named with exit code 4, and the other contents are healed", async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, OLD);
    rot(box.store, NEW);
    const ran = await box.call(["verify", "--repair-from", "."]);
    expect(ran.code).toBe(4);
    expect(ran.stdout).toContain(`healed  ${sha256(NEW)}  from ${join(box.project, "a.bin")}`);
    expect(ran.stdout).toContain(`not found  ${sha256(OLD)}`);
    expect(ran.stdout).toContain("needed by base of event 3: a.bin@1");
    expect(ran.stdout).toContain("1 content healed, 1 content still missing or damaged");
    const { repair, problems } = await verified(box);
    expect(repair).toBeUndefined();
    expect(problems.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["blob-corrupt", "blob-missing"]));
    await restored(box, "1", NEW);
    writeFileSync(join(box.folder, "found"), OLD);
    expect(await verified(box, "..")).toMatchObject({ code: 0, problems: [] });
    await restored(box, "0", OLD);
  });

  test("the answer names what needs a missing content even if nothing could be healed", async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, OLD);
    const ran = await box.call(["verify", "--repair-from", "."]);
    expect(ran.code).toBe(4);
    expect(ran.stdout).toContain("needed by base of event 3: a.bin@1");
    expect(ran.stdout).not.toContain("needed by nothing");
  });

  test("from another store, which is damaged itself and is only read", async () => {
    using box = new Sandbox();
    await lived(box);
    const other = copied(box, box.store, "other");
    rot(other, NEW);
    rot(box.store, OLD);
    const before = stateOf(other);
    const { code, repair } = await verified(box, other);
    expect([code, repair?.healed.map(({ hash }) => hash), repair?.failed]).toEqual([0, [sha256(OLD)], []]);
    expect(stateOf(other)).toEqual(before);
    await restored(box, "0", OLD);
  });

  test("a damaged byte of a pack, at each of 40 sampled places", { timeout: 600_000 }, async () => {
    using box = new Sandbox();
    await lived(box);
    const sound = copied(box, box.store, "sound");
    const [pack = ""] = filesBelow(join(sound, "blobs")).filter((path) => path.endsWith(".pack"));
    const { size } = lstatSync(pack);
    const steps = 40;
    for (let step = 0; step < steps; step += 1) {
      // The first bytes are heads of the pack and of its first block; the rest is sampled.
      const at = step < steps / 2 ? step * 5 : Math.floor(((step + 0.5) / steps) * size);
      rmSync(box.store, { recursive: true });
      cpSync(sound, box.store, { recursive: true, preserveTimestamps: true });
      flipByte(join(box.store, "blobs", pack.slice(join(sound, "blobs").length)), at);
      const { code, problems, repair } = await verified(box, sound);
      expect([at, code, problems, repair?.missing]).toEqual([at, 0, [], []]);
      expect([at, await verified(box)]).toMatchObject([at, { code: 0, problems: [] }]);
    }
    await restored(box, "0", OLD);
  });

  test("every block of a history with all kinds of contents", { timeout: 600_000 }, async () => {
    using box = new Sandbox();
    await livedThrough(box);
    const sound = copied(box, box.store, "sound");
    const blocks = filesBelow(join(sound, "blobs")).flatMap((path) => (path.endsWith(".pack") ? blocksOf(path) : []));
    expect(blocks.length).toBeGreaterThan(10);
    for (const { path, middle } of blocks) {
      rmSync(box.store, { recursive: true });
      cpSync(sound, box.store, { recursive: true, preserveTimestamps: true });
      const file = join(box.store, "blobs", path.slice(join(sound, "blobs").length));
      flipByte(file, middle);
      expect([middle, await verified(box)]).toMatchObject([middle, { code: 4, ok: false }]);
      const { code, problems, repair } = await verified(box, sound);
      expect([middle, code, problems, repair?.missing]).toEqual([middle, 0, [], []]);
    }
    expect((await box.call(["undo"])).code).toBe(0);
  });

  test.each(["the packs are gone", "the packs are cut", "all of blobs is gone"])(
    "from another store: %s",
    async (what) => {
      using box = new Sandbox();
      await lived(box, SIZES[1][1]);
      const other = copied(box, box.store, "other");
      if (what.startsWith("all")) rmSync(join(box.store, "blobs"), { recursive: true });
      for (const path of what.startsWith("all") ? [] : filesBelow(join(box.store, "blobs"))) {
        if (!path.endsWith(".pack") && !path.includes("/large/")) continue;
        if (what.endsWith("gone")) rmSync(path);
        else truncateSync(path, Math.floor(lstatSync(path).size / 2));
      }
      const { code, problems } = await verified(box, other);
      expect([code, problems]).toEqual([0, []]);
      await restored(box, "0", SIZES[1][1]);
      await restored(box, "1", NEW);
    },
  );

  test("damaged files are put aside until the next gc", async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, OLD);
    writeFileSync(join(box.folder, "found"), OLD);
    const { repair } = await verified(box, "..");
    expect(repair?.set_aside).toHaveLength(1);
    const [name = ""] = readdirSync(join(box.store, "blobs/quarantine"));
    expect(name).toBe(`${repair?.set_aside[0]}.pack`);
    await box.must(["gc"]);
    expect(readdirSync(join(box.store, "blobs/quarantine"))).toEqual([]);
    expect(await verified(box)).toMatchObject({ code: 0 });
    await restored(box, "0", OLD);
  });

  test("several repairs at once, beside a process that records", { timeout: 300_000 }, async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, OLD);
    mkdirSync(join(box.folder, "good"));
    writeFileSync(join(box.folder, "good/found"), OLD);
    const words = ["--wait", "120", "verify", "--repair-from", "../good"];
    const repairs = [1, 2, 3].map(() => box.start(words)).map(ended);
    for (let i = 0; i < 5; i += 1) {
      box.write("a.bin", noise(`meanwhile ${i}`, 20_000));
      await box.must(["snapshot"]);
    }
    // A repair beside another one may still see a damaged file that the other one is about to set aside.
    for (const code of await Promise.all(repairs)) expect([0, 4]).toContain(code);
    expect(await verified(box, "../good")).toMatchObject({ code: 0, problems: [] });
    await restored(box, "0", OLD);
    await restored(box, "6", noise("meanwhile 4", 20_000));
  });

  test("a content that another workspace of the store needs is healed, too", async () => {
    using box = new Sandbox();
    await lived(box);
    const others = noise("others", 30_000);
    mkdirSync(join(box.folder, "second"));
    writeFileSync(join(box.folder, "second/x.bin"), others);
    await box.must(["init"], { cwd: "second" });
    rot(box.store, others);
    const { code, repair } = await verified(box, "../second");
    expect([code, repair?.healed]).toEqual([
      0,
      [{ hash: sha256(others), needed_by: [], from: join(box.folder, "second/x.bin") }],
    ]);
    expect((await box.call(["verify"], { cwd: "second" })).code).toBe(0);
  });

  test("a damaged content that no workspace needs does not make the repair fail", async () => {
    using box = new Sandbox();
    await lived(box);
    const gone = noise("gone", 30_000);
    mkdirSync(join(box.folder, "second"));
    writeFileSync(join(box.folder, "second/x.bin"), gone);
    const ids = readdirSync(join(box.store, "workspaces"));
    await box.must(["init"], { cwd: "second" });
    const second = readdirSync(join(box.store, "workspaces")).find((id) => !ids.includes(id));
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config/chronicle") });
    await store.forget(second ?? "", { now: true });
    await store.close();
    rot(box.store, gone);
    expect(await verified(box, ".")).toMatchObject({ code: 0, problems: [] });
  });
});

describe("Truth 16: a hostile place does no harm", () => {
  test("a folder with links, pipes, huge files and files that change", { timeout: 600_000 }, async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, OLD);
    const hostile = join(box.folder, "hostile");
    mkdirSync(join(hostile, "deep"), { recursive: true });
    execFileSync("mkfifo", [join(hostile, "pipe")]);
    symlinkSync("/", join(hostile, "root"));
    symlinkSync(".", join(hostile, "deep/self"));
    writeFileSync(join(box.folder, "outside"), OLD);
    symlinkSync(join(box.folder, "outside"), join(hostile, "leads-outside"));
    const huge = openSync(join(hostile, "huge"), "w");
    closeSync(huge);
    truncateSync(join(hostile, "huge"), 10 * 1024 ** 3);
    writeFileSync(join(hostile, "same-size"), Buffer.alloc(OLD.length));
    const growing = join(hostile, "growing");
    writeFileSync(growing, "");
    const grow = setInterval(() => appendFileSync(growing, Buffer.alloc(20_000)), 1);
    const before = process.memoryUsage().rss;
    try {
      const { code, repair } = await verified(box, hostile);
      expect([code, repair?.healed, repair?.missing.map(({ hash }) => hash)]).toEqual([4, [], [sha256(OLD)]]);
    } finally {
      clearInterval(grow);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(500 * 1024 ** 2);
    expect(await verified(box, "..")).toMatchObject({ code: 0 });
  });

  test("a huge file, if it is not known how long the missing content was", { timeout: 600_000 }, async () => {
    using box = new Sandbox();
    await lived(box);
    const elsewhere = join(box.folder, "elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "big"), "");
    truncateSync(join(elsewhere, "big"), 256 * 1024 ** 2);
    const [base = ""] = basesOf(box);
    expect(base).not.toBe("");
    removePacks(box);
    const { code, problems } = await verified(box, elsewhere, ".");
    expect(code).toBe(4);
    expect(problems.map(({ kind }) => kind)).toContain("blob-missing");
  });

  test("a server that gives wrong bytes", async () => {
    using box = new Sandbox();
    await lived(box);
    rot(box.store, OLD);
    const lies = createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      if (request.url?.includes("/blobs/") === true) response.end(Buffer.alloc(OLD.length, 7));
      else response.end(JSON.stringify({ hash: sha256(OLD), size: OLD.length, id: "x", name: "x", path: "" }));
    });
    await new Promise<void>((resolve) => lies.listen(0, "127.0.0.1", resolve));
    const address = lies.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    try {
      const { code, repair } = await verified(box, `http://127.0.0.1:${port}#x`);
      expect([code, repair?.healed]).toEqual([4, []]);
    } finally {
      await new Promise((resolve) => lies.close(resolve));
    }
  });
});

describe("Truth 16: an origin heals a store", () => {
  test("over HTTP, with a token, including bases and filters", async () => {
    using box = new Sandbox();
    await lived(box);
    const home = copied(box, box.store, "other");
    const configFolder = copied(box, join(box.folder, "config/chronicle"), "other-config");
    removePacks(box);
    await using served = await ServedStore.start({ places: { home, configFolder } });
    const how = { env: { CHRONICLE_TOKEN: served.token } };
    const words = ["verify", "--repair-from", served.url];
    expect((await box.call(words)).code).not.toBe(0);
    const { code, stdout, stderr } = await box.call(words, how);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`healed  ${sha256(OLD)}  from ${served.url}`);
    await restored(box, "0", OLD);
    await restored(box, "1", NEW);
  });

  test.each(["--connect", "--ws-connect"])(
    "its replica's store, as the place `origin` (%s)",
    { timeout: 300_000 },
    async (way) => {
      await using server = new ServerProcess(["--replication"]);
      writeFileSync(join(server.project, "a.bin"), OLD);
      await server.start();
      await using box = new ReplicateProcess();
      const file = join(box.base, "box.token");
      if (way === "--ws-connect") writeFileSync(file, server.makeToken("agent"), { mode: 0o600 });
      const [socket, wire] = [server.socketUrl.slice("unix:".length), server.url.replace("http", "ws")];
      await box.start(way === "--connect" ? [way, socket] : [way, wire, "--token-file", file]);
      const here = createClient({ url: box.socketUrl });
      await here.syncs.flush(box.id, { timeoutMs: 120_000 });
      await here.close();
      expect(await box.kill("SIGINT")).toBe(0);
      rot(box.home, OLD);
      // `replicate` keeps no token.
      const token = way === "--connect" ? [] : ["--token-file", file];
      const words = [chronicleBin(), "--json", ...token, "verify", "--repair-from", "origin"];
      const ran = spawnSync(process.execPath, words, { cwd: box.folder, env: box.env, encoding: "utf8" });
      expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, expect.any(String), ""]);
      const { problems, repair } = JSON.parse(ran.stdout) as VerifyShape;
      expect([problems, repair?.healed]).toMatchObject([[], [{ hash: sha256(OLD), from: "origin" }]]);
      expect(repair?.healed[0]?.needed_by.some((place) => place.startsWith("upstream/"))).toBe(true);
    },
  );

  test("a repair is refused from a missing place, with --quick, with --remote, and to an agent", async () => {
    using box = new Sandbox();
    await lived(box);
    const cases = [
      [["--repair-from", "nowhere"], 3],
      [["--repair-from", "origin"], 2],
      [["--quick", "--repair-from", "."], 2],
      [["--remote", "http://127.0.0.1:1", "--repair-from", "."], 2],
    ] as const;
    for (const [words, code] of cases)
      expect([words, (await box.call(["verify", ...words])).code]).toEqual([words, code]);
    expect((await box.call(["verify", "--repair-from", "."], { env: { CHRONICLE_ROLE: "agent" } })).code).not.toBe(0);
    expect(existsSync(join(box.store, "blobs/quarantine"))).toBe(false);
  });
});

/** Damages a pack right before a content, so that the block of the content is not readable any more. */
function cut(path: string, content: Buffer): void {
  const at = readFileSync(path).indexOf(content.subarray(0, 64));
  if (at >= 0) flipByte(path, at - 10);
}

function basesOf(box: Sandbox): string[] {
  const [id = ""] = readdirSync(join(box.store, "workspaces")).filter((name) => !name.includes("."));
  const log = readFileSync(join(box.store, "workspaces", id, "events.wal"), "utf8");
  return [...log.matchAll(/"base":"([0-9a-f]{64})"/g)].map(([, hash = ""]) => hash);
}

function removePacks(box: Sandbox): void {
  for (const path of filesBelow(join(box.store, "blobs"))) if (path.endsWith(".pack")) rmSync(path);
}
