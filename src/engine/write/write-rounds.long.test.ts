import { describe, expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import type { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { openIntents, settle } from "../capture/operate.ts";
import { readRange } from "../log/read-events.ts";
import { verify } from "../upkeep/verify.ts";

/** Writes of one file each that share a commit are put into the folder with one apply. */

const BEFORE: Readonly<Record<string, string>> = { a: "a1", b: "b1", "d/c": "c1", gone: "g1" };
/** The first write makes a folder, and is applied by itself. */
const WRITES = [
  ["made/first", "m2"],
  ["made/second", "s2"],
  ["b", "b2"],
  ["new", "n2"],
  ["a", "a2"],
  ["gone", undefined],
  ["d/c", "c2"],
] as const;

function contentOf(disk: SimDisk, path: string): string | undefined {
  return disk.content(`/proj/${path}`)?.toString();
}

async function recordedOf({ context }: WriteBackRig, path: string): Promise<string | undefined> {
  const { seq } = await context.index.head();
  return (await context.index.iterationAt(parsePath(path), seq))?.entry?.hash;
}

function hashOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : sha256(text);
}

async function expectDone(rig: WriteBackRig): Promise<void> {
  for (const [path, text] of WRITES) {
    expect([path, contentOf(rig.disk, path)]).toEqual([path, text]);
    expect([path, await recordedOf(rig, path)]).toEqual([path, hashOf(text)]);
  }
  expect(await openIntents(rig.context)).toEqual([]);
  expect((await verify(rig.context)).problems).toEqual([]);
}

/** Replaces this number of files with one round. Returns how often the disk and the log were asked meanwhile. */
async function costOf(files: number): Promise<{ lstats: number; opens: number; reads: number }> {
  const names = Array.from({ length: files }, (_, i) => `f${i}`);
  await using rig = await WriteBackRig.create(Object.fromEntries(names.map((name) => [name, "1"])));
  await rig.writeAll(names.map((name) => [name, "2"]));
  const cost = { lstats: 0, opens: 0, reads: 0 };
  const { seen, context } = rig;
  const [lstat, open, read] = [seen.lstat.bind(seen), seen.open.bind(seen), context.log.read.bind(context.log)];
  seen.lstat = (path) => {
    cost.lstats += 1;
    return lstat(path);
  };
  seen.open = (path, how, mode) => {
    if (how === "read" || how === "folder") cost.opens += 1;
    return open(path, how, mode);
  };
  context.log.read = (from) => {
    cost.reads += 1;
    return read(from);
  };
  await rig.writeAll(names.map((name) => [name, "3"]));
  return cost;
}

describe("writes that share a commit", () => {
  it("are one operation each, opened with one append and closed with another", async () => {
    await using rig = await WriteBackRig.create(BEFORE);
    const { seq } = await rig.context.index.head();
    const outcomes = await rig.writeAll(WRITES.slice(2));
    expect(outcomes.map((one) => "answer" in one)).toEqual([true, true, true, true, true]);
    const events: string[] = [];
    const intents = new Set<string>();
    for await (const { recordId, record } of readRange(rig.context, seq + 1, (await rig.context.index.head()).seq)) {
      if (recordId.startsWith("intent:")) intents.add(recordId);
      events.push(recordId.startsWith("intent:") ? JSON.stringify(record["state"]) : recordId);
    }
    expect(intents.size).toBe(5);
    const files = ["file:b", "file:new", "file:a", "file:gone", "file:d/c"];
    expect(events).toEqual([...files.map(() => '"open"'), ...files.flatMap((file) => [file, '"done"'])]);
    await new Promise((done) => setImmediate(done));
    const staging = `workspaces/${rig.workspaceId}/staging/`;
    expect(Object.keys(rig.disk.dump("/store")).filter((path) => path.startsWith(staging))).toEqual([]);
  });

  it("may be in a folder that one of them makes", async () => {
    await using rig = await WriteBackRig.create(BEFORE);
    const outcomes = await rig.writeAll(WRITES);
    expect(outcomes.map((one) => "answer" in one)).toEqual(WRITES.map(() => true));
    await expectDone(rig);
  });

  it("are closed in the order of their calls", async () => {
    await using rig = await WriteBackRig.create(BEFORE);
    const calls = [
      ["a", "a2"],
      ["made/deep", "m2"],
      ["b", "b2"],
      ["new", "n2"],
    ] as const;
    await rig.writeAll(calls);
    const closed: string[] = [];
    for await (const { recordId, record } of readRange(rig.context, 1, (await rig.context.index.head()).seq)) {
      const { state, summary } = record as { readonly state?: string; readonly summary?: string };
      if (recordId.startsWith("intent:") && state === "done") closed.push(summary ?? "");
    }
    expect(closed).toEqual(calls.map(([path]) => `write ${path}`));
  });

  it("look at each file a few times, open no folder for each, and read no line of the log again", async () => {
    const few = await costOf(5);
    const many = await costOf(25);
    expect(many.reads).toBe(few.reads);
    expect(many.opens).toBe(few.opens);
    expect((many.lstats - few.lstats) / 20).toBeLessThanOrEqual(9);
  });

  it("are done, and the one whose path somebody edits at that moment is tried again after the edit", async () => {
    await using rig = await WriteBackRig.create(BEFORE);
    let isEdited = false;
    rig.disk.plan = ({ name, path }) => {
      if (!isEdited && name === "rename" && path.endsWith("/a")) {
        isEdited = true;
        const fd = rig.disk.open("/proj/d/c", "update", 0o644);
        rig.disk.write(fd, Buffer.from("edited"), 0);
        rig.disk.close(fd);
      }
      return "go";
    };
    const outcomes = await rig.writeAll(WRITES.slice(2));
    rig.disk.plan = undefined;
    expect(outcomes.map((one) => "answer" in one)).toEqual([true, true, true, true, true]);
    expect(isEdited).toBe(true);
    const texts: (string | undefined)[] = [];
    for (let at = 1; at <= (await rig.context.index.head()).seq; at += 1) {
      const hash = (await rig.context.index.iterationAt(parsePath("d/c"), at))?.entry?.hash;
      texts.push(hash === undefined ? undefined : (await rig.context.blobs.get(hash))?.toString());
    }
    expect([...new Set(texts)].filter((one) => one !== undefined)).toEqual(["c1", "edited", "c2"]);
    expect((await verify(rig.context)).problems).toEqual([]);
  });

  it("are done one by one if they cannot be staged together", async () => {
    await using rig = await WriteBackRig.create(BEFORE);
    let tried = 0;
    rig.disk.plan = ({ name, path }) => {
      const isThird = name === "open" && /^\/proc\/.*\/2$/.test(path);
      return isThird && (tried += 1) === 1 ? { errno: "ENOSPC" } : "go";
    };
    const outcomes = await rig.writeAll(WRITES.slice(2));
    rig.disk.plan = undefined;
    expect(tried).toBe(1);
    expect(outcomes.map((one) => "answer" in one)).toEqual([true, true, true, true, true]);
    for (const [path, text] of WRITES.slice(2)) expect(contentOf(rig.disk, path)).toBe(text);
  });
});

it("crash sweep: every answered write is done, and every other path has its new or its old content", async () => {
  const prepared = await WriteBackRig.create(BEFORE);
  const { workspaceId } = prepared;
  const start = prepared.disk.crash("keep");
  await prepared[Symbol.asyncDispose]();
  let together = 0;
  const result = await sweepCrashes<string>({
    prepare: () => start,
    run: async (disk, acknowledge) => {
      await using rig = await WriteBackRig.open(disk, workspaceId);
      const outcomes = await rig.writeAll(WRITES);
      outcomes.forEach((one, i) => "answer" in one && acknowledge(WRITES[i]?.[0] ?? ""));
    },
    check: async (disk, { acknowledged }) => {
      await using rig = await WriteBackRig.open(disk, workspaceId);
      const finished = await settle(rig.context);
      together = Math.max(together, finished.length);
      for (const [path, text] of WRITES) {
        const is = contentOf(disk, path);
        expect([text, BEFORE[path]]).toContain(is);
        if (acknowledged.includes(path)) expect([path, is]).toEqual([path, text]);
        expect([path, await recordedOf(rig, path)]).toEqual([path, hashOf(is)]);
      }
      expect(await openIntents(rig.context)).toEqual([]);
      expect((await verify(rig.context)).problems.filter(({ kind }) => kind !== "torn-tail")).toEqual([]);
    },
  });
  expect(result.points).toBeGreaterThan(60);
  expect(together).toBe(WRITES.length);
}, 600_000);

it("an edit of a replaced file just before a crash is kept as a conflict copy beside its path", async () => {
  for (const path of ["a", "b", "d/c"]) {
    const rig = await WriteBackRig.create(BEFORE);
    rig.disk.plan = (operation) =>
      operation.name === "rename" && operation.path.endsWith(`/${path.split("/").at(-1)}`) ? "stop-after" : "go";
    await rig.writeAll(WRITES.slice(2)).catch(() => undefined);
    expect(rig.disk.stopped).toBe(true);
    const disk = rig.disk.crash("keep");
    const aside = Object.keys(disk.dump("/store")).filter((one) => /\/old\/\d+$/.test(one));
    const [old] = aside.filter((one) => disk.content(`/store/${one}`)?.toString() === BEFORE[path]);
    const fd = disk.open(`/store/${old ?? ""}`, "update", 0o600);
    disk.write(fd, Buffer.from("edited at the last moment"), 0);
    disk.close(fd);
    await using after = await WriteBackRig.open(disk, rig.workspaceId);
    expect((await settle(after.context)).length).toBe(5);
    for (const [one, text] of WRITES.slice(2)) expect(contentOf(disk, one)).toBe(text);
    const kept = Object.keys(disk.dump("/proj")).filter(
      (one) => disk.content(`/proj/${one}`)?.toString() === "edited at the last moment",
    );
    expect(kept).toEqual([expect.stringMatching(new RegExp(`^${path}.*conflict`))]);
  }
});

it("a crash while the writes are done one by one leaves a conflict copy only of a file edited at that moment", async () => {
  for (const path of ["a", "b", "d/c"]) {
    const name = path.split("/").at(-1) ?? "";
    for (const edit of [undefined, "edited at the last moment"]) {
      const rig = await WriteBackRig.create(BEFORE);
      let tried = 0;
      rig.disk.plan = (operation) => {
        const isThird = operation.name === "open" && /^\/proc\/.*\/2$/.test(operation.path);
        if (isThird && (tried += 1) === 1) return { errno: "ENOSPC" };
        return tried > 0 && operation.name === "rename" && operation.path.endsWith(`/${name}`) ? "stop-after" : "go";
      };
      await rig.writeAll(WRITES.slice(2)).catch(() => undefined);
      expect([tried, rig.disk.stopped]).toEqual([1, true]);
      const disk = rig.disk.crash("keep");
      if (edit !== undefined) {
        const aside = Object.keys(disk.dump("/store")).filter((one) => /\/old\/\d+$/.test(one));
        const [old] = aside.filter((one) => disk.content(`/store/${one}`)?.toString() === BEFORE[path]);
        const fd = disk.open(`/store/${old ?? ""}`, "update", 0o600);
        disk.write(fd, Buffer.from(edit), 0);
        disk.close(fd);
      }
      await using after = await WriteBackRig.open(disk, rig.workspaceId);
      await settle(after.context);
      for (const [one, text] of WRITES.slice(2)) expect([one, contentOf(disk, one)]).toEqual([one, text]);
      const copies = Object.keys(disk.dump("/proj")).filter((one) => one.includes("conflict"));
      expect(copies.map((one) => disk.content(`/proj/${one}`)?.toString())).toEqual(edit === undefined ? [] : [edit]);
      for (const one of copies) expect(one).toMatch(new RegExp(`^${path}`));
    }
  }
});

it("more writes than one round takes are all done", async () => {
  await using rig = await WriteBackRig.create(BEFORE);
  const many = Array.from({ length: 131 }, (_, i) => [`d/f${i}`, `text ${i}`] as const);
  const outcomes = await rig.writeAll(many);
  expect(outcomes.every((one) => "answer" in one)).toBe(true);
  for (const [path, text] of many) expect(contentOf(rig.disk, path)).toBe(text);
  expect((await verify(rig.context)).problems).toEqual([]);
});
