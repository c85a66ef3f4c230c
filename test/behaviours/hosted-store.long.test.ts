import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { Project } from "../helpers/project.ts";

// The tests use memory instead of a disk, because hundreds of syncs of a real disk would mostly test that disk.
beforeAll(() => {
  if (existsSync("/dev/shm")) vi.stubEnv("TMPDIR", "/dev/shm");
});
afterAll(() => {
  vi.unstubAllEnvs();
});

/** Hosted workspaces of a store: their names, forks and archiving. */

async function created(store: StoreApi, options: Parameters<StoreApi["create"]>[0] = {}): Promise<WorkspaceApi> {
  return (await store.create(options)).workspace;
}

async function contentOf(workspace: WorkspaceApi, path: string): Promise<string> {
  return text(await workspace.file(path));
}

function put(workspace: WorkspaceApi, path: string, content: string): ReturnType<WorkspaceApi["putFile"]> {
  return workspace.putFile(path, Buffer.from(content));
}

/** The folders of the store's workspaces, including incomplete ones. */
function foldersOf(home: string): string[] {
  return readdirSync(join(home, "workspaces")).sort();
}

describe("names", () => {
  it("a workspace is opened by its name, its id or a prefix of its id; with `exact`, not by a prefix", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const { workspace, result } = await store.create({ name: "session-1" });
    const { id } = workspace;
    expect(result).toMatchObject({ workspace: id, path: "", created: true, snapshot: { number: 0, name: "baseline" } });
    await workspace.close();
    for (const named of ["session-1", id, id.slice(0, 8)]) {
      const opened = await store.openById(named);
      expect([opened.id, opened.path]).toEqual([id, ""]);
      await opened.close();
    }
    for (const named of ["session-1", id]) await (await store.openById(named, { exact: true })).close();
    for (const named of [id.slice(0, 8), "session", ""]) {
      await expect(store.openById(named, { exact: true })).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
    expect(await store.workspaces()).toMatchObject([
      { id, name: "session-1", path: "", roots: [], present: true, seq: 3 },
    ]);
  });

  it("take precedence over prefixes of ids", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const other = await created(store);
    const named = await created(store, { name: other.id.slice(0, 4) });
    const opened = await store.openById(other.id.slice(0, 4));
    expect(opened.id).toBe(named.id);
    for (const one of [other, named, opened]) await one.close();
  });

  it("are unique, and must not be the id of another workspace", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const one = await created(store, { name: "one" });
    await expect(store.create({ name: "one" })).rejects.toMatchObject({ code: "REFUSED", data: { workspace: one.id } });
    await expect(store.create({ name: one.id })).rejects.toMatchObject({ code: "REFUSED" });
    // Any other UUID is a valid name, because sessions are often named by UUIDs.
    const uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    const other = await created(store, { name: uuid });
    await one.close();
    await other.close();
    const opened = await store.openById(uuid, { exact: true });
    expect(opened.id).toBe(other.id);
    await opened.close();
    await store.forget("one");
    await (await created(store, { name: "one" })).close();
  });

  it.each(["", "a b", "../x", "x".repeat(129), "-x"])("%j is refused, and leaves no folder", async (name) => {
    await using project = new HostedProject();
    const store = await project.store();
    await expect(store.create({ name })).rejects.toMatchObject({ code: "USAGE" });
    expect(foldersOf(project.home)).toEqual([]);
  });

  it("are given to only one of several callers that ask for the same name at once", async () => {
    await using project = new HostedProject();
    const stores = await Promise.all(Array.from({ length: 4 }, () => project.store()));
    const asked = await Promise.allSettled(
      stores.flatMap((store) => [1, 2, 3].map(() => store.create({ name: "same" }))),
    );
    const [won, ...more] = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(more).toEqual([]);
    const errors = asked.flatMap((one) => (one.status === "rejected" ? [one.reason as { code: string }] : []));
    expect(errors.map((one) => one.code)).toEqual(Array.from({ length: 11 }, () => "REFUSED"));
    for (const store of stores)
      expect(await store.workspaces()).toMatchObject([{ id: won?.workspace.id, name: "same" }]);
    await won?.workspace.close();
  });

  it("survive a compaction, a configuration, and the loss of the cache", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const workspace = await created(store, { name: "kept" });
    await workspace.configure({ maxFileSize: 5 });
    await workspace.compact({ dropArchive: true });
    await workspace.close();
    rmSync(join(project.home, "cache"), { recursive: true });
    expect(await store.workspaces()).toMatchObject([{ name: "kept", path: "" }]);
    await (await store.openById("kept", { exact: true })).close();
  });
});

describe("forks", () => {
  it("begin with the files of any moment, share their contents, and change independently", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const origin = await created(store, { name: "origin" });
    const big = "x".repeat(200_000);
    await put(origin, "dir/a", "first\n");
    await put(origin, "big", big);
    const first = await origin.snapshot({ name: "first" });
    await put(origin, "dir/a", "second\n");
    const before = (await store.du()).blobs.content_bytes;
    const { workspace: fork, result } = await store.create({
      name: "fork",
      from: { workspace: "origin", moment: "first" },
    });
    expect(result.snapshot).toMatchObject({ number: 0, root: first.root });
    expect(result.snapshot.message).toContain(`forked from ${origin.id} at snapshot ${first.number}`);
    // The store grows only by the fork's base and filters. No file content is stored again.
    expect((await store.du()).blobs.content_bytes - before).toBeLessThan(2_000);
    expect(await contentOf(fork, "dir/a")).toBe("first\n");
    expect((await fork.history("dir/a")).map((one) => [one.iteration, one.cause])).toEqual([[1, "baseline"]]);
    const [record] = await fork.log({ to: 1 });
    expect(record).toMatchObject({
      record_id: `workspace:${fork.id}`,
      record: {
        from: { workspace: origin.id, seq: first.seq, hash: expect.any(String), root: first.root },
        name: "fork",
      },
    });
    const [event] = await origin.log({ from: first.seq, to: first.seq });
    expect(record?.record).toMatchObject({ from: { hash: event?.hash } });
    await put(fork, "dir/a", "fork's\n");
    await put(origin, "dir/a", "third\n");
    expect([await contentOf(origin, "dir/a"), await contentOf(fork, "dir/a")]).toEqual(["third\n", "fork's\n"]);
    await fork.restore("baseline");
    expect(await contentOf(fork, "dir/a")).toBe("first\n");
    for (const workspace of [origin, fork]) expect((await workspace.verify()).problems).toEqual([]);
    const { workspace: latest } = await store.create({ from: { workspace: origin.id } });
    expect(await contentOf(latest, "dir/a")).toBe("third\n");
    for (const workspace of [origin, fork, latest]) await workspace.close();
  });

  it("keep their contents when the origin is forgotten", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const origin = await created(store);
    await put(origin, "a", "needed\n");
    await put(origin, "b", "only the origin's\n");
    const seq = (await origin.deleteFile("b")).seq;
    const fork = await created(store, { from: { workspace: origin.id, moment: `seq:${seq}` } });
    await origin.close();
    await store.forget(origin.id, { now: true });
    expect((await store.gc()).freed_blobs).toBeGreaterThan(0);
    expect(await contentOf(fork, "a")).toBe("needed\n");
    expect((await fork.verify()).problems).toEqual([]);
    await fork.close();
  });

  it("cannot be made of a pruned moment, but a fork that was made before keeps its files", async () => {
    await using project = new HostedProject();
    const store = await project.store({ retention: { min_age_hours: 0 } });
    const origin = await created(store);
    await put(origin, "a", "old\n");
    const old = String((await origin.snapshot()).number);
    await put(origin, "a", "between\n");
    await put(origin, "a", "new\n");
    await origin.snapshot({ name: "new" });
    const early = await created(store, { from: { workspace: origin.id, moment: old } });
    expect((await origin.prune({ keepLast: 1, now: true })).pruned_snapshots).toEqual([Number(old)]);
    await store.gc();
    await expect(store.create({ from: { workspace: origin.id, moment: old } })).rejects.toMatchObject({
      code: "PRUNED",
    });
    expect(await contentOf(early, "a")).toBe("old\n");
    expect((await early.verify()).problems).toEqual([]);
    expect(await store.workspaces()).toHaveLength(2);
    for (const workspace of [origin, early]) await workspace.close();
  });

  it("of a workspace with a folder have no folder; `now` first records the files on disk", async () => {
    await using project = new Project();
    project.write("src/a.ts", "one\n");
    project.write("run.sh", "#!/bin/sh\n", 0o755);
    project.link("link", "src/a.ts");
    project.write("node_modules/x.js", "ignored\n");
    project.write(".gitignore", "node_modules\n");
    const origin = await project.init();
    project.write("src/a.ts", "two\n");
    const store = await project.store();
    const recorded = await created(store, { from: { workspace: origin.id } });
    expect(await contentOf(recorded, "src/a.ts")).toBe("one\n");
    const { workspace: fresh, result } = await store.create({ from: { workspace: origin.id, moment: "now" } });
    expect(result.path).toBe("");
    expect(await contentOf(fresh, "src/a.ts")).toBe("two\n");
    const shape = (await fresh.files()).files.map(({ path, kind, permissions }) => [
      path,
      kind,
      permissions.toString(8),
    ]);
    expect(shape).toEqual([
      [".gitignore", "file", "644"],
      ["link", "symlink", "777"],
      ["run.sh", "file", "755"],
      ["src", "dir", expect.any(String)],
      ["src/a.ts", "file", "644"],
    ]);
    // The ignore rules of the original folder do not apply in the fork.
    await put(fresh, "node_modules/x.js", "meant\n");
    await fresh.restore("baseline");
    await expect(fresh.file("node_modules/x.js")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await fresh.status()).root).toBe((await origin.status()).root);
    expect((await fresh.verify()).problems).toEqual([]);
    for (const workspace of [recorded, fresh]) await workspace.close();
  });

  it("of a workspace with several roots keep the roots apart, and have the same Merkle root", async () => {
    await using project = new Project();
    project.write("a", "first root\n");
    const other = join(project.base, "other");
    mkdirSync(other);
    writeFileSync(join(other, "a"), "further root\n");
    const origin = await project.init({ roots: [project.folder, other] });
    const store = await project.store();
    const fork = await created(store, { from: { workspace: origin.id } });
    expect(await contentOf(fork, "a")).toBe("first root\n");
    expect(await contentOf(fork, "@other:a")).toBe("further root\n");
    expect((await fork.status()).root).toBe((await origin.status()).root);
    expect((await fork.verify()).problems).toEqual([]);
    await put(fork, "@other:b/c", "there\n");
    expect((await fork.verify()).problems).toEqual([]);
    await fork.close();
  });

  it("of an unknown workspace or moment, or with missing contents, are refused and leave no folder", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const origin = await created(store);
    await expect(store.create({ from: { workspace: "nobody" } })).rejects.toMatchObject({ code: "NOT_FOUND" });
    const unknown = { workspace: origin.id, moment: "no-such-snapshot" };
    await expect(store.create({ name: "x", from: unknown })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await put(origin, "a", "lost\n");
    await origin.close();
    rmSync(join(project.home, "blobs"), { recursive: true });
    const again = await project.store();
    const damaged = again.create({ from: { workspace: origin.id } });
    await expect(damaged).rejects.toMatchObject({ code: "BLOB_MISSING" });
    expect(foldersOf(project.home)).toEqual([origin.id]);
  });
});

describe("archived workspaces", () => {
  it("are listed and can only be read until they are unarchived", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const workspace = await created(store, { name: "w" });
    await put(workspace, "a", "1\n");
    await workspace.snapshot({ name: "s" });
    expect(await store.archive("w")).toMatchObject({ name: "w", archived: true });
    const listed = await store.workspaces();
    expect(listed).toMatchObject([{ name: "w", archived: true }]);
    // This applies to a workspace that was opened before the archiving, and to one opened afterwards.
    const opened = await store.openById("w");
    for (const one of [workspace, opened]) {
      const changes: readonly (() => Promise<unknown>)[] = [
        () => put(one, "a", "2\n"),
        () => one.deleteFile("a"),
        () => one.snapshot(),
        () => one.restore("baseline"),
        () => one.undo(),
        // A dry run is refused, too, because the restore would be.
        () => one.restore("baseline", { dryRun: true }),
        () => one.snapshotAction({ type: "write_file", payload: { path: "a" } }),
        () => one.beginTransaction(),
        () => one.startSession(),
        () => one.configure({ maxFileSize: 1 }),
        () => one.prune(),
        () => one.compact(),
        () => one.records.upsert("r", { x: 1 }),
      ];
      for (const change of changes) {
        await expect(change()).rejects.toMatchObject({ code: "READ_ONLY", hint: expect.stringContaining("unarchive") });
      }
      expect(await contentOf(one, "a")).toBe("1\n");
      expect((await one.files()).files).toHaveLength(1);
      expect((await one.diff("baseline", "now")).changes).toHaveLength(1);
      expect((await one.verify()).problems).toEqual([]);
      expect((await one.status()).notes).toEqual([expect.stringContaining("archived since")]);
    }
    expect((await store.workspaces())[0]?.seq).toBe(listed[0]?.seq);
    expect(await store.archive("w", false)).not.toHaveProperty("archived");
    await put(workspace, "a", "2\n");
    await put(opened, "a", "3\n");
    expect((await workspace.verify()).problems).toEqual([]);
    for (const one of [workspace, opened]) await one.close();
  });

  it("archiving or unarchiving twice records only one event each", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const workspace = await created(store);
    await store.archive(workspace.id);
    const { seq } = await store.archive(workspace.id);
    await store.archive(workspace.id, false);
    await store.archive(workspace.id, false);
    const events = await workspace.log({ prefix: "workspace:" });
    expect(events.map((one) => one.seq)).toEqual([1, seq, seq + 1]);
    expect(events.map((one) => "archived" in (one.record as object))).toEqual([false, true, false]);
    await workspace.close();
  });

  it("keep their contents, and can be forked and forgotten, also with a folder", async () => {
    await using project = new Project();
    project.write("a", "one\n");
    const workspace = await project.init();
    const store = await project.store();
    await store.archive(workspace.id);
    project.write("a", "two\n");
    await expect(workspace.snapshot()).rejects.toMatchObject({ code: "READ_ONLY" });
    expect((await workspace.status()).changes).toHaveLength(1);
    await store.gc();
    const fork = await created(store, { from: { workspace: workspace.id } });
    expect(await contentOf(fork, "a")).toBe("one\n");
    await fork.close();
    await workspace.close();
    expect(await store.forget(workspace.id)).toMatchObject({ archived: true });
    expect(await store.workspaces()).toHaveLength(1);
  });

  it("an agent must not archive, unarchive or forget one; the attempt is recorded unless it is archived", async () => {
    await using project = new HostedProject();
    const workspace = await project.create({ name: "w" });
    const agents = await project.store({ role: "agent" });
    await expect(agents.archive("w")).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(await workspace.log({ prefix: "refused:" })).toMatchObject([{ record: { what: "archive" } }]);
    await (await project.store()).archive("w");
    await expect(agents.archive("w", false)).rejects.toMatchObject({ code: "FORBIDDEN" });
    await expect(agents.forget("w")).rejects.toMatchObject({ code: "FORBIDDEN" });
    // Nothing is written into an archived workspace, not even a refusal.
    expect(await workspace.log({ prefix: "refused:" })).toHaveLength(1);
  });
});

describe("the list of workspaces", () => {
  it("has a problem for a workspace that cannot be opened, and still has the others", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const workspaces = [await created(store, { name: "good" }), await created(store, { name: "bad" })];
    for (const one of workspaces) await one.close();
    const bad = join(project.home, "workspaces", workspaces[1]?.id ?? "");
    writeFileSync(join(bad, "workspace.json"), `{"format":99,"id":"x"}\n`);
    const listed = await store.workspaces();
    expect(listed.find((one) => one.name === "good")).not.toHaveProperty("problem");
    expect(listed.find((one) => one.name === "bad")).toMatchObject({ problem: expect.stringContaining("format 99") });
  });

  it("shows the last event, also before a torn tail", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    const workspace = await created(store);
    const { seq } = await put(workspace, "a", "1\n");
    const [event] = await workspace.log({ from: seq });
    await workspace.close();
    expect(await store.workspaces()).toMatchObject([{ seq, last_event: event?.ts }]);
    writeFileSync(join(project.home, "workspaces", workspace.id, "events.wal"), '{"hash":"01', { flag: "a" });
    expect(await store.workspaces()).toMatchObject([{ seq, last_event: event?.ts }]);
  });

  it("of many workspaces leaves no file open", async () => {
    await using project = new HostedProject();
    const store = await project.store();
    for (let i = 0; i < 15; i += 1) await (await created(store, { name: `w${i}` })).close();
    const open = readdirSync("/proc/self/fd").length;
    expect(await store.workspaces()).toHaveLength(15);
    expect(readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(open);
  });
});

it("gc beside workspaces that are made and forgotten frees none of the contents that they use", async () => {
  await using project = new HostedProject();
  const [store, other] = [await project.store(), await project.store()];
  for (let i = 0; i < 12; i += 1) {
    const workspace = await created(store, { name: `w${i}` });
    await put(workspace, "shared", "of all\n");
    await put(workspace, "own", `of ${i}\n`);
    await workspace.close();
  }
  const comeAndGo = async (): Promise<void> => {
    for (let i = 0; i < 10; i += 1) {
      await store.forget(`w${i}`);
      await (await created(store, { name: `fork${i}`, from: { workspace: "w11" } })).close();
    }
  };
  const going = comeAndGo();
  for (let i = 0; i < 20; i += 1) {
    await other.gc();
    for (const { id, problem } of await other.workspaces()) {
      expect(problem).toBeUndefined();
      const opened = other.openById(id).then((workspace) => workspace.close());
      await opened.catch((error: unknown) => expect(error).toMatchObject({ code: "NOT_FOUND" }));
    }
  }
  await going;
  await other.gc();
  for (const { id } of await store.workspaces()) {
    const workspace = await store.openById(id);
    expect(await contentOf(workspace, "shared")).toBe("of all\n");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  }
});

it("leftover folders of forgotten or half-made workspaces are removed when another workspace is made", async () => {
  await using project = new HostedProject();
  const store = await project.store();
  const kept = await created(store);
  await kept.close();
  for (const name of ["x.new", "y.forgotten"]) {
    mkdirSync(join(project.home, "workspaces", name, "archive"), { recursive: true });
    writeFileSync(join(project.home, "workspaces", name, "events.wal"), "half");
  }
  expect(await store.workspaces()).toHaveLength(1);
  const next = await created(store);
  await next.close();
  expect(foldersOf(project.home)).toEqual([kept.id, next.id].sort());
});

it("a hosted workspace is not opened by a folder until an empty folder adopts it and gets its files", async () => {
  await using project = new Project();
  const store = await project.store();
  const hosted = await created(store, { name: "hosted" });
  await put(hosted, "a", "1\n");
  await hosted.close();
  await expect(store.open({ folder: project.folder })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(store.open({ folder: "/" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  project.write("b", "not of the workspace\n");
  await expect(store.init({ roots: [project.folder], adopt: "hosted" })).rejects.toMatchObject({ code: "REFUSED" });
  project.remove("b");
  const { workspace } = await store.init({ roots: [project.folder], adopt: "hosted" });
  expect(workspace.id).toBe(hosted.id);
  expect(project.read("a")).toBe("1\n");
  await workspace.close();
});
