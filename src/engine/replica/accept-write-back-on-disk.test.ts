import { describe, expect, it } from "vitest";
import { sha256 } from "../../core/values/hash.ts";
import type { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";

/** Tests what an origin with a folder does in addition to what every origin does (`accept-write-back.test.ts`). */

function put(disk: SimDisk, path: string, text: string): void {
  if (disk.lstat(path) !== undefined) disk.unlink(path);
  const fd = disk.open(path, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

/** Calls `before` and `after` right before and after files are changed in the folder, as if others worked there. */
function aroundApply(
  { context: { worktree } }: WriteBackRig,
  { before, after }: { readonly before: (time: number) => unknown; readonly after?: () => void },
): void {
  const apply = worktree.apply.bind(worktree);
  let times = 0;
  worktree.apply = async (request) => {
    before((times += 1));
    const report = await apply(request);
    after?.();
    return report;
  };
}

/** Sets the mode of a folder. */
function chmod(disk: SimDisk, path: string, mode: number): void {
  const fd = disk.open(path, "folder");
  disk.chmod(fd, mode);
  disk.close(fd);
}

describe("a folder that may not be read", () => {
  it("has the writes in it rejected, and no others", async () => {
    const modes = { enforceModes: true, uid: 1000 };
    await using origin = await WriteBackRig.create({ "closed/a": "a", b: "b" }, undefined, modes);
    const [a, b] = [await origin.seqOf("closed/a"), await origin.seqOf("b")];
    chmod(origin.disk, "/proj/closed", 0);
    const answer = await origin.accept([
      await origin.entry(1, "closed/a", "new", { seen: a }),
      await origin.entry(2, "closed/c", "new"),
      await origin.entry(3, "b", "new", { seen: b }),
    ]);
    expect(answer.rejected).toMatchObject([
      { localSeq: 1, reason: "path" },
      { localSeq: 2, reason: "path" },
    ]);
    expect(answer.accepted).toMatchObject([{ localSeq: 3 }]);
  });
});

describe("an unrecorded change in the folder", () => {
  it("is recorded first, and stays, because the replica has not seen it", async () => {
    await using origin = await WriteBackRig.create({ a: "one" });
    const seen = await origin.seqOf("a");
    put(origin.disk, "/proj/a", "somebody's edit");
    const answer = await origin.accept([await origin.entry(1, "a", "the replica's", { seen })]);
    expect(answer.rejected).toMatchObject([{ reason: "stale", kept: { contentHash: sha256("the replica's") } }]);
    expect(await origin.files()).toEqual({ a: "somebody's edit" });
    expect((await origin.iterations("a")).map(({ cause }) => cause)).toEqual(["capture"]);
  });

  it("is not deleted with its folder", async () => {
    await using origin = await WriteBackRig.create({ "d/a": "a" });
    const [d, a] = [await origin.seqOf("d"), await origin.seqOf("d/a")];
    put(origin.disk, "/proj/d/new", "somebody's");
    const answer = await origin.accept([
      await origin.entry(1, "d", undefined, { seen: d }),
      await origin.entry(2, "d/a", undefined, { seen: a }),
    ]);
    expect(answer.rejected).toMatchObject([
      { localSeq: 1, reason: "stale", currentSequence: await origin.seqOf("d/new") },
    ]);
    expect(answer.accepted).toMatchObject([{ localSeq: 2 }]);
    expect(await origin.files()).toEqual({ d: "/", "d/new": "somebody's" });
  });

  it("that is gone by the next batch lets the folder's deletion be decided first, and then that batch", async () => {
    await using origin = await WriteBackRig.create({ "d/a": "a" });
    const [d, a] = [await origin.seqOf("d"), await origin.seqOf("d/a")];
    put(origin.disk, "/proj/d/new", "somebody's");
    await origin.accept([
      await origin.entry(1, "d", undefined, { seen: d }),
      await origin.entry(2, "d/a", undefined, { seen: a }),
    ]);
    origin.disk.unlink("/proj/d/new");
    const mode = origin.disk.lstat("/proj/d")?.mode ?? 0;
    const answer = await origin.accept([await origin.entry(3, "d", "", { seen: d, kind: "dir", mode })], { after: 2 });
    const said = await origin.events("writeback:");
    expect(said.map(({ record }) => record["settled"])).toEqual([2, 2, 3]);
    expect(answer.rejected).toEqual([]);
    expect(answer.accepted).toMatchObject([{ localSeq: 3 }]);
    expect(await origin.files()).toEqual({ d: "/" });
  });

  it("that the rules leave out is neither recorded nor deleted with its folder, whose deletion is rejected for good", async () => {
    await using origin = await WriteBackRig.create({ ".gitignore": "*.log\n", "d/x.log": "kept" });
    const answer = await origin.accept([await origin.entry(1, "d", undefined, { seen: await origin.seqOf("d") })]);
    expect(await origin.seqOf("d/x.log")).toBe(0);
    expect(answer.rejected).toEqual([{ localSeq: 1, reason: "path" }]);
    expect(origin.disk.content("/proj/d/x.log")?.toString()).toBe("kept");
  });

  it("is not deleted with its folder even if it comes in the last moment", async () => {
    await using origin = await WriteBackRig.create({ "d/a": "a" });
    const [d, a] = [await origin.seqOf("d"), await origin.seqOf("d/a")];
    await origin.accept([await origin.entry(1, "d/a", undefined, { seen: a })]);
    aroundApply(origin, { before: (time) => time === 1 && put(origin.disk, "/proj/d/new", "somebody's") });
    const answer = await origin.accept([await origin.entry(2, "d", undefined, { seen: d })]);
    expect(answer.rejected).toMatchObject([{ reason: "stale", currentSequence: await origin.seqOf("d/new") }]);
    expect(await origin.files()).toEqual({ d: "/", "d/new": "somebody's" });
  });

  it("that is never there to be recorded has the deletion of its folder rejected for good", async () => {
    await using origin = await WriteBackRig.create({ "d/a": "a" });
    const [d, a] = [await origin.seqOf("d"), await origin.seqOf("d/a")];
    await origin.accept([await origin.entry(1, "d/a", undefined, { seen: a })]);
    aroundApply(origin, {
      before: () => put(origin.disk, "/proj/d/lock", "somebody's"),
      after: () => origin.disk.unlink("/proj/d/lock"),
    });
    const answer = await origin.accept([await origin.entry(2, "d", undefined, { seen: d })]);
    expect(answer).toEqual({ accepted: [], rejected: [{ localSeq: 2, reason: "path" }] });
    expect(await origin.files()).toEqual({ d: "/" });
  });

  it("with the replica's content is recorded, and nothing is written", async () => {
    await using origin = await WriteBackRig.create({ a: "one" });
    const seen = await origin.seqOf("a");
    put(origin.disk, "/proj/a", "two");
    const before = origin.disk.lstat("/proj/a")?.ino;
    const answer = await origin.accept([await origin.entry(1, "a", "two", { seen })]);
    expect(answer.accepted).toMatchObject([{ localSeq: 1, sequence: await origin.seqOf("a") }]);
    expect(origin.disk.lstat("/proj/a")?.ino).toBe(before);
    expect((await origin.iterations("a")).map(({ cause }) => cause)).toEqual(["capture"]);
  });
});

describe("writes of a replica", () => {
  it("are rejected in a repository's own state, and are accepted for paths that the rules leave out", async () => {
    await using origin = await WriteBackRig.create({ ".gitignore": "*.log\n", ".git/config": "[core]\n" });
    const answer = await origin.accept([
      await origin.entry(1, ".git/hooks/post-commit", "#!/bin/sh\n", { mode: 0o755 }),
      await origin.entry(2, "build.log", "named by the replica"),
    ]);
    expect(answer.rejected).toEqual([{ localSeq: 1, reason: "path" }]);
    expect(answer.accepted).toMatchObject([{ localSeq: 2 }]);
    expect(origin.disk.lstat("/proj/.git/hooks")).toBeUndefined();
    expect(origin.disk.content("/proj/build.log")?.toString()).toBe("named by the replica");
  });

  it("do not go through a link", async () => {
    await using origin = await WriteBackRig.create({ "outside.txt": "kept" });
    origin.disk.symlink(Buffer.from("/root"), "/proj/link");
    const answer = await origin.accept([await origin.entry(1, "link/a", "a")]);
    expect(answer.accepted).toEqual([]);
    expect(origin.disk.list("/root")).toEqual([]);
  });
});

describe("many states of a path", () => {
  it("are an iteration each, even if the path ends as it was", async () => {
    await using origin = await WriteBackRig.create({ a: "0" });
    const seen = await origin.seqOf("a");
    const texts = ["1", "0", "2", undefined, "0", "0 again", "0"];
    const entries = await Promise.all(texts.map((text, i) => origin.entry(i + 1, "a", text, { seen })));
    const answer = await origin.accept([...entries, await origin.entry(9, "b", "b")]);
    expect(answer.accepted.map(({ localSeq, iteration }) => [localSeq, iteration])).toEqual([
      ...texts.map((_, i) => [i + 1, i + 2]),
      [9, 1],
    ]);
    expect((await origin.iterations("a")).map(({ entry }) => entry?.hash)).toEqual(
      texts.map((text) => (text === undefined ? undefined : sha256(text))),
    );
    expect(await origin.files()).toEqual({ a: "0", b: "b" });
    expect(await origin.accept([...entries, await origin.entry(9, "b", "b")])).toEqual(answer);
  });

  it("are accepted in a batch of hundreds of entries", async () => {
    await using origin = await WriteBackRig.create({});
    const entries = [];
    for (let i = 1; i <= 300; i += 1) entries.push(await origin.entry(i, `d${i % 3}/f${i % 100}`, `text ${i}`));
    const { accepted } = await origin.accept(entries);
    expect(accepted).toHaveLength(300);
    expect((await origin.iterations("d1/f1")).map(({ entry }) => entry?.hash)).toEqual([sha256("text 1")]);
    expect(Object.keys(await origin.files())).toHaveLength(303);
  });
});

it("undo passes over the writes of replicas, and undoes the last work at the origin", async () => {
  const origin = await WriteBackRig.create({ a: "one", b: "one" });
  await origin.write("b", "two");
  const seen = await origin.seqOf("a");
  await origin.accept([await origin.entry(1, "a", "two", { seen })]);
  await origin[Symbol.asyncDispose]();
  const store = await openSimStore(origin.disk, { firstId: 900_000 });
  const workspace = await store.openById(origin.workspaceId, {});
  expect((await workspace.operations()).map(({ kind, summary }) => [kind, summary])).toEqual([["write", "write b"]]);
  await workspace.undo();
  expect((await workspace.verify()).problems).toEqual([]);
  expect(["a", "b"].map((path) => origin.disk.content(`/proj/${path}`)?.toString())).toEqual(["two", "one"]);
  expect((await workspace.history("a")).map(({ cause, actor }) => [cause, actor])).toEqual([
    ["baseline", "human"],
    ["replica", "agent"],
  ]);
  await workspace.close();
  await store.close();
});
