import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { createWorkspace } from "../../src/compose/create-workspace.ts";
import { openContext } from "../../src/compose/open-context.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import { presentOf } from "../../src/engine/upkeep/verify-copy.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { exportArchive, importArchive } from "../../src/open.ts";
import { text } from "../helpers/content-text.ts";
import { Project } from "../helpers/project.ts";
import { entriesOf, exported, nothingLeft, SECRET, withHistory } from "../helpers/archives.ts";

/** What a history says of itself, apart from the events that an import appends. */
async function sayings(workspace: WorkspaceApi): Promise<unknown> {
  const snapshots = await workspace.snapshots();
  const manifests = await Promise.all(snapshots.map(({ number }) => workspace.manifest(String(number))));
  const { seq } = snapshots.at(-1) ?? { seq: 0 };
  const log = (await workspace.log({ limit: 1_000 })).filter((event) => event.seq <= seq);
  return { snapshots, roots: manifests.map(({ root }) => root), log, history: await workspace.history("a.txt") };
}

describe("an exported history", () => {
  it("holds a part in quarantine once, although a compaction names it again", async () => {
    await using project = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const begun = await project.init();
    await begun.close();
    appendFileSync(join(project.home, "workspaces", begun.id, "events.wal"), '{"hash":"torn by a crash');
    project.write("a.txt", "two\n");
    const workspace = await project.open();
    await workspace.snapshot();
    await workspace.compact();
    const file = await exported(project, workspace);
    const parts = entriesOf(readFileSync(file)).filter(({ name }) => name.startsWith("quarantine/"));
    expect(parts).toHaveLength(1);
    const store = await target.store();
    await importArchive(store, { file });
    const there = await store.openById(workspace.id);
    expect(await there.verify()).toMatchObject({ ok: true, problems: [] });
    await there.close();
  });

  it("is the same history on another machine: moments, roots, files, undo and verify", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const file = await exported(project, workspace, { withProtected: true, withPrivate: true });
    const store = await target.store();
    const done = await importArchive(store, { file });
    expect(done).toMatchObject({ workspace: workspace.id, accepted: true, key_installed: false });
    expect(done.root).toBe((await workspace.head()).root);

    const there = await store.openById(workspace.id);
    expect(await sayings(there)).toEqual(await sayings(workspace));
    expect(await there.verify()).toMatchObject({ ok: true, problems: [] });
    expect((await there.head()).root).toBe(done.root);
    expect(await text(await there.cat("a.txt"))).toBe("one\nchanged\nmore\n");
    expect(await text(await there.cat(".env"))).toBe(SECRET);
    await there.restore("middle", { to: join(target.base, "out") });
    expect(readFileSync(join(target.base, "out/a.txt"), "utf8")).toBe("one\nchanged\n");
    await there.undo();
    await there.undo();
    expect(await text(await there.cat("a.txt"))).toBe("one\n");
    expect(await text(await there.cat("folder/b.txt"))).toBe("two\n");
    expect(await there.verify()).toMatchObject({ ok: true });
    await there.close();
  });

  it("has the same bytes each time, and stock tools read it", async () => {
    await using project = new Project();
    const workspace = await withHistory(project);
    const [first, second] = [
      await exported(project, workspace),
      await exported(project, workspace, { file: "again.tar" }),
    ];
    expect(readFileSync(first).equals(readFileSync(second))).toBe(true);
    const packed = await exported(project, workspace, { file: "packed.tar.zst" });
    const names = execFileSync("tar", ["-tf", first]).toString().split("\n");
    expect(execFileSync("tar", ["--zstd", "-tf", packed]).toString().split("\n")).toEqual(names);
    const log = execFileSync("tar", ["-xOf", first, `chronicle-${workspace.id}/events.wal`]);
    const folder = join(project.home, "workspaces", workspace.id);
    const archived = readdirSync(join(folder, "archive"))
      .sort()
      .map((name) => readFileSync(join(folder, "archive", name)));
    expect(log.equals(Buffer.concat([...archived, readFileSync(join(folder, "events.wal"))]))).toBe(true);
    for (const name of names.filter((one) => one.includes("/contents/")))
      expect(sha256(execFileSync("tar", ["-xOf", first, name]))).toBe(name.slice(name.lastIndexOf("/") + 1));
  });

  it("leaves out secrets and private contents, and says so wherever they are asked for", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const file = await exported(project, workspace, { file: "history.tar" });
    const bytes = readFileSync(file);
    expect(bytes.includes("for-nobody-else")).toBe(false);
    expect(bytes.includes("kept aside")).toBe(false);
    const store = await target.store();
    const done = await importArchive(store, { file });
    expect(done.withheld).toMatchObject({ protected: 1, elsewhere: 0 });
    expect(done.withheld.private).toBeGreaterThan(0);
    const there = await store.openById(workspace.id);
    const verified = await there.verify();
    expect(verified).toMatchObject({ ok: true, problems: [] });
    expect(verified.notes.join("\n")).toContain("has left out such contents on purpose");
    await expect(there.cat(".env")).rejects.toThrow("was left out when this history was exported");
    await expect(there.restore("now", { to: join(target.base, "out") })).rejects.toThrow("was left out");
    await expect(there.cat(".env")).rejects.toMatchObject({
      hint: expect.stringContaining(`chronicle forget ${workspace.id} --now`),
    });
    const forced = await there.restore("now", { to: join(target.base, "out"), force: true });
    expect(forced.skipped).toMatchObject([{ path: ".env", reason: "content-missing" }]);
    await there.undo();
    const undone = await there.undo();
    expect(undone.skipped).toMatchObject([{ path: "ignored", detail: expect.stringContaining("left out") }]);
    await there.close();
    // An archive of that store lists the same contents as missing.
    const again = await exportArchive(store, workspace.id, { file: join(target.base, "again.tar") });
    expect(again.withheld.elsewhere + again.withheld.protected).toBe(1);
  });

  it("has what it left out once the import is forgotten and a fuller archive is imported, as the error says", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const store = await target.store();
    await importArchive(store, { file: await exported(project, workspace) });
    const whole = await exported(project, workspace, { file: "whole.tar", withProtected: true, withPrivate: true });
    await store.forget(workspace.id, { now: true });
    await importArchive(store, { file: whole });
    const there = await store.openById(workspace.id);
    expect(await text(await there.cat(".env"))).toBe(SECRET);
    await there.close();
  });

  it("needs a content again that it had left out, once the content is back", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const store = await target.store();
    await importArchive(store, { file: await exported(project, workspace) });
    const { workspace: other } = await store.create({ name: "other" });
    await other.putFile("secret", Buffer.from(SECRET));
    await other.close();
    const there = await store.openById(workspace.id);
    expect(await text(await there.cat(".env"))).toBe(SECRET);
    const tasks = storeTasks(partsOf(store), workspace.id);
    const { context, close } = await openContext(partsOf(store), workspace.id, { tasks, readOnly: true });
    const hash = sha256(SECRET);
    const needed = new Map([[hash, { where: ".env", size: undefined, isUpstream: false }]]);
    expect(await presentOf(context, needed)).toEqual(needed);
    await close();
    await there.close();
  });

  it("leaves out the contents of files outside of the workspace unless private contents are asked for", async () => {
    await using project = new Project();
    const outside = join(project.base, "outside.txt");
    writeFileSync(outside, "outside of everything\n");
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: outside } }, () =>
      writeFileSync(outside, "changed\n"),
    );
    const file = await exported(project, workspace);
    expect(readFileSync(file).includes("outside of everything")).toBe(false);
    const whole = await exported(project, workspace, { file: "whole.tar", withPrivate: true });
    expect(readFileSync(whole).includes("outside of everything")).toBe(true);
  });

  it("may not lie in a folder of its workspace, where it would be recorded", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    project.write("folder/b.txt", "two\n");
    const workspace = await project.init();
    symlinkSync(project.folder, join(project.base, "link"));
    for (const file of ["project/x.tar", "project/folder/x.tar", "link/x.tar", "project/folder/../x.tar"]) {
      await expect(exported(project, workspace, { file, withKey: true }), file).rejects.toMatchObject({
        code: "UNSAFE",
        hint: `name a place outside, such as ${project.folder}.chronicle.tar`,
      });
    }
    expect(Object.keys(project.tree())).toEqual(["a.txt", "folder", "folder/b.txt"]);
    await exported(project, workspace, { file: "project.chronicle.tar" });
  });

  it("is refused while the history is not signed, and for a file that exists", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const file = await exported(project, workspace);
    await expect(exported(project, workspace)).rejects.toThrow("exists already");
    await exported(project, workspace, { force: true });
    execFileSync("rm", [join(project.configFolder, "key.pem")]);
    await expect(exported(project, workspace, { file: "other.tar" })).rejects.toMatchObject({ code: "REFUSED" });
    expect(existsSync(join(project.base, "other.tar"))).toBe(false);
    expect(existsSync(file)).toBe(true);
  });
});

describe("the key of an imported history", () => {
  it("comes with it if it was exported and is asked for, and the history goes on as it was", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const { key } = await workspace.head();
    const file = await exported(project, workspace, { withKey: true });
    const store = await target.store();
    expect(await importArchive(store, { file, useKey: true })).toMatchObject({
      with_key: true,
      key_installed: true,
      accepted: false,
      key,
      archive_key: key,
    });
    const there = await store.openById(workspace.id);
    expect(await there.signing()).toMatchObject({ state: "signed", key });
    expect((await there.verify()).ok).toBe(true);
    await there.putFile("new", Buffer.from("x"));
    expect((await there.verify()).ok).toBe(true);
    await there.close();
  });

  it("is never taken from an archive unasked: a machine without a key makes its own", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const { key } = await workspace.head();
    const file = await exported(project, workspace, { withKey: true });
    const store = await target.store();
    const done = await importArchive(store, { file });
    expect(done).toMatchObject({ with_key: true, key_installed: false, accepted: true, archive_key: key });
    expect(done.key).not.toBe(key);
    const there = await store.openById(workspace.id);
    expect(await there.signing()).toMatchObject({ state: "signed", key: done.key });
    const records = readFileSync(join(target.home, "workspaces", workspace.id, "events.wal"), "utf8");
    expect(records).toContain('"reason":"imported from an archive"');
    await there.close();
  });

  it("is refused if it is asked for, and the archive has none or this machine has another one", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const store = await target.store();
    const without = await exported(project, workspace);
    await expect(importArchive(store, { file: without, useKey: true })).rejects.toThrow("no signing key to use");
    nothingLeft(target);
    const file = await exported(project, workspace, { withKey: true, file: "key.tar" });
    const own = await store.create({ name: "own" });
    await expect(importArchive(store, { file, useKey: true })).rejects.toThrow("another signing key");
    expect(await store.workspaces()).toHaveLength(1);
    await own.workspace.close();
  });

  it("is refused if another process makes a key while the archive is imported", async () => {
    await using project = new Project();
    await using target = new Project();
    await using other = new Project();
    const workspace = await withHistory(project);
    const file = await exported(project, workspace, { withKey: true });
    const { workspace: strangers } = await (await other.store()).create({ name: "x" });
    await strangers.close();
    const store = await target.store();
    // The whole history is verified before the key is put into place.
    const onProgress = (): void =>
      cpSync(join(other.configFolder, "key.pem"), join(target.configFolder, "key.pem"), { recursive: true });
    await expect(importArchive(store, { file, useKey: true, onProgress })).rejects.toThrow("another signing key");
    expect(await store.workspaces()).toEqual([]);
  });

  it("is that of this machine if there is another one: an event accepts the history, and the old head still counts", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const { note, key: old } = await workspace.head();
    const file = await exported(project, workspace, { withKey: true });
    const store = await target.store();
    const { workspace: own } = await store.create({ name: "own" });
    const { key } = await own.head();
    expect(await importArchive(store, { file })).toMatchObject({
      key_installed: false,
      accepted: true,
      key,
      archive_key: old,
    });
    const there = await store.openById(workspace.id);
    expect(await there.signing()).toMatchObject({ state: "signed", key });
    expect(await there.verify({ expect: note })).toMatchObject({
      ok: true,
      expected: { ok: true, signature: "valid" },
    });
    await there.close();
    await own.close();
  });

  it("needs no acceptance where it was exported, after the history was removed there", async () => {
    await using project = new Project();
    const workspace = await withHistory(project);
    const file = await exported(project, workspace);
    const { id } = workspace;
    await workspace.close();
    const store = await project.store();
    await expect(importArchive(store, { file })).rejects.toThrow("already");
    await store.forget(id);
    await expect(importArchive(store, { file })).rejects.toThrow("brought back");
  });
});

describe("an imported workspace", () => {
  it("is refused before anything is imported if the folder for it is not empty, or it has several roots", async () => {
    await using project = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    mkdirSync(join(project.base, "second"));
    const workspace = await project.init({ roots: [project.folder, join(project.base, "second")] });
    const file = await exported(project, workspace);
    const store = await target.store();
    await expect(importArchive(store, { file, to: join(target.base, "new") })).rejects.toThrow("has 2 roots");
    target.write("x", "in the way");
    await expect(importArchive(store, { file, to: target.folder })).rejects.toThrow("is not empty");
    nothingLeft(target);
    expect(existsSync(join(target.base, "new"))).toBe(false);
  });

  it("whose name no workspace can have needs another one", async () => {
    await using project = new Project();
    await using target = new Project();
    const store = await project.store();
    const parts = partsOf(store);
    // `create` refuses such a name, but a log that was made with another program can have it.
    const id = await createWorkspace(parts, parts.roots, { name: "-w evil" });
    const file = await exported(project, { id });
    const there = await target.store();
    await expect(importArchive(there, { file })).rejects.toMatchObject({
      code: "USAGE",
      hint: expect.stringContaining("--as NAME"),
    });
    nothingLeft(target);
    expect(await importArchive(there, { file, name: "plain" })).toMatchObject({ name: "plain" });
  });

  it("has no folder until it is given an empty one, or one with the same files", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const file = await exported(project, workspace, { withProtected: true });
    const store = await target.store();
    await importArchive(store, { file });
    expect((await store.workspaces())[0]).toMatchObject({ id: workspace.id, path: "" });
    target.write("a.txt", "something else\n");
    await expect(store.init({ roots: [target.folder], adopt: workspace.id })).rejects.toThrow("differs");
    target.remove("a.txt");
    const { workspace: there, result } = await store.init({ roots: [target.folder], adopt: workspace.id });
    expect(result).toMatchObject({ created: false, path: target.folder });
    expect(target.read("a.txt")).toBe("one\nchanged\nmore\n");
    expect(target.read(".env")).toBe(SECRET);
    expect((await there.status()).changes).toEqual([]);
    await there.undo();
    expect(target.read("a.txt")).toBe("one\nchanged\n");
    expect((await there.verify()).ok).toBe(true);
    await there.close();
  });

  it("takes a folder that has its files already", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const file = await exported(project, workspace);
    const store = await target.store();
    await importArchive(store, { file, name: "copy" });
    const out = join(target.base, "copied");
    execFileSync("cp", ["-a", project.folder, out]);
    const { workspace: there } = await store.init({ roots: [out], adopt: "copy" });
    expect(there.path).toBe(out);
    expect((await there.status()).changes).toEqual([]);
    await there.close();
  });

  it("keeps its name, unless another one has it here or another is asked for", async () => {
    await using project = new Project();
    await using target = new Project();
    const { workspace } = await (await project.store()).create({ name: "notes" });
    await workspace.putFile("a", Buffer.from("x"));
    const file = await exported(project, workspace);
    const store = await target.store();
    const { workspace: other } = await store.create({ name: "notes" });
    await expect(importArchive(store, { file })).rejects.toThrow("already");
    expect(await importArchive(store, { file, name: "old-notes" })).toMatchObject({ name: "old-notes" });
    const there = await store.openById("old-notes", { exact: true });
    expect(await text(await there.cat("a"))).toBe("x");
    for (const one of [there, other, workspace]) await one.close();
  });

  it("begins with its compaction if the archive of its log was dropped", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    await workspace.compact({ dropArchive: true });
    await workspace.run({ command: ["sh", "-c", "echo last >> a.txt"] });
    const file = await exported(project, workspace);
    const store = await target.store();
    await importArchive(store, { file });
    const there = await store.openById(workspace.id);
    expect((await there.verify()).problems).toEqual([]);
    expect(await text(await there.cat("a.txt"))).toBe("one\nchanged\nmore\nlast\n");
    await there.close();
  });
});
