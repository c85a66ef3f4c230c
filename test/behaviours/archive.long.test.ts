import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ExportOptions } from "../../src/api/archive-api.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { entryHeader, entryPadding, CONTAINER_END } from "../../src/core/log/archive-container.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { exportArchive, importArchive } from "../../src/open.ts";
import { text } from "../helpers/content-text.ts";
import { Project } from "../helpers/project.ts";

const SECRET = "TOKEN=for-nobody-else\n";

/** Makes a history with a run, a compaction, a deletion, a secret and a file that git ignores. */
async function withHistory(project: Project): Promise<WorkspaceApi> {
  project.write("a.txt", "one\n");
  project.write("folder/b.txt", "two\n");
  project.write(".env", SECRET);
  project.write(".gitignore", "ignored\n");
  project.write("ignored", "kept aside\n");
  execFileSync("git", ["init", "-q"], { cwd: project.folder });
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "echo changed >> a.txt; rm folder/b.txt ignored"] });
  await workspace.snapshot({ name: "middle" });
  await workspace.compact();
  await workspace.run({ command: ["sh", "-c", "echo more >> a.txt"] });
  return workspace;
}

async function exported(
  project: Project,
  { id }: Pick<WorkspaceApi, "id">,
  options: Partial<ExportOptions> = {},
): Promise<string> {
  const file = join(project.base, options.file ?? "history.tar");
  await exportArchive(await project.store(), id, { ...options, file });
  return file;
}

/** What a history says of itself, apart from the events that an import appends. */
async function sayings(workspace: WorkspaceApi): Promise<unknown> {
  const snapshots = await workspace.snapshots();
  const manifests = await Promise.all(snapshots.map(({ number }) => workspace.manifest(String(number))));
  const { seq } = snapshots.at(-1) ?? { seq: 0 };
  const log = (await workspace.log({ limit: 1_000 })).filter((event) => event.seq <= seq);
  return { snapshots, roots: manifests.map(({ root }) => root), log, history: await workspace.history("a.txt") };
}

function nothingLeft(target: Project): void {
  expect(existsSync(join(target.home, "workspaces")) ? readdirSync(join(target.home, "workspaces")) : []).toEqual([]);
  expect(existsSync(join(target.configFolder, "heads")) ? readdirSync(join(target.configFolder, "heads")) : []).toEqual(
    [],
  );
  expect(existsSync(join(target.configFolder, "key.pem"))).toBe(false);
}

async function countContents(store: StoreApi): Promise<number> {
  return (await store.du()).blobs.count;
}

describe("an exported history", () => {
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
  it("comes with it if it was exported, and the history goes on as it was", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const { key } = await workspace.head();
    const file = await exported(project, workspace, { withKey: true });
    const store = await target.store();
    expect(await importArchive(store, { file })).toMatchObject({
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

/** Splits an archive into its entries. */
function entriesOf(bytes: Buffer): { name: string; content: Buffer }[] {
  const entries: { name: string; content: Buffer }[] = [];
  for (let at = 0; bytes[at] !== 0;) {
    const name = bytes.toString("latin1", at, bytes.indexOf(0, at));
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8);
    entries.push({ name, content: bytes.subarray(at + 512, at + 512 + size) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}

function archiveOf(folder: string, entries: readonly { name: string; content: Buffer }[]): Buffer {
  const parts = entries.flatMap(({ name, content }) => {
    const entry = { name, size: content.length };
    return [entryHeader(folder, entry), content, entryPadding(entry)];
  });
  return Buffer.concat([...parts, CONTAINER_END]);
}

describe("a bad archive", () => {
  /** Tries to import bytes. Returns the error, after it was checked that nothing is left. */
  async function refusal(target: Project, bytes: Uint8Array): Promise<Error> {
    const file = join(target.base, "bad.tar");
    writeFileSync(file, bytes);
    const store = await target.store();
    const error: unknown = await importArchive(store, { file }).then(
      () => new Error("it was imported"),
      (reason: unknown) => reason,
    );
    nothingLeft(target);
    expect(await countContents(store)).toBe(0);
    await store.close();
    return error as Error;
  }

  it("that is cut off or changed anywhere is refused, and nothing is left", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const bytes = readFileSync(await exported(project, workspace, { withKey: true }));
    const step = Math.ceil(bytes.length / 60);
    for (let at = 0; at < bytes.length; at += step) {
      expect((await refusal(target, bytes.subarray(0, at))).message).not.toBe("it was imported");
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 4;
      expect((await refusal(target, changed)).message, `byte ${at}`).not.toBe("it was imported");
    }
  });

  it("with foreign, missing, double or misplaced entries is refused", async () => {
    await using project = new Project();
    await using target = new Project();
    const workspace = await withHistory(project);
    const bytes = readFileSync(await exported(project, workspace));
    const folder = `chronicle-${workspace.id}`;
    const entries = entriesOf(bytes);
    expect(archiveOf(folder, entries).equals(bytes)).toBe(true);
    const [first, ...rest] = entries;
    const last = entries.at(-1);
    if (first === undefined || last === undefined) throw new Error("the archive is empty");
    const manifest = JSON.parse(first.content.toString()) as { bytes: number; contents: number };
    /** Adds entries, and makes the manifest agree with them. */
    const withMore = (...more: readonly { name: string; content: Buffer }[]): Buffer => {
      const extra = more.reduce((sum, { content }) => sum + content.length, 0);
      const text = JSON.stringify({
        ...manifest,
        bytes: manifest.bytes + extra,
        contents: manifest.contents + more.length,
      });
      return archiveOf(folder, [{ ...first, content: Buffer.from(`${text}\n`) }, ...rest, ...more]);
    };
    const evil = Buffer.from("evil");
    const cases: [string, Buffer][] = [
      ["expected", withMore({ name: "../../../../tmp/evil", content: evil })],
      ["no content", withMore({ name: "contents/../evil", content: evil })],
      ["comes twice", withMore(last)],
      ["another hash", withMore({ name: `contents/${"0".repeat(64)}`, content: evil })],
      ["less than its manifest says", archiveOf(folder, entries.slice(0, -1))],
      [
        "more than its manifest says",
        archiveOf(folder, [...entries, { name: `contents/${sha256(evil)}`, content: evil }]),
      ],
      [
        "expected",
        archiveOf(
          folder,
          [...entries].reverse().toSorted((a, b) => Number(b === first) - Number(a === first)),
        ),
      ],
      ["not named after", archiveOf("chronicle-other", entries)],
      [
        "head or its log is missing",
        archiveOf(
          folder,
          entries
            .filter(({ name }) => name !== "head")
            .map((one) =>
              one === first
                ? {
                    ...first,
                    content: Buffer.from(
                      `${JSON.stringify({ ...manifest, bytes: manifest.bytes - (entries.find(({ name }) => name === "head")?.content.length ?? 0) })}\n`,
                    ),
                  }
                : one,
            ),
        ),
      ],
    ];
    for (const [why, changed] of cases) expect((await refusal(target, changed)).message).toContain(why);
  });

  it("that holds a content that its history does not name brings nothing of it into the store", async () => {
    await using project = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const bytes = readFileSync(await exported(project, workspace));
    const folder = `chronicle-${workspace.id}`;
    const [first, ...rest] = entriesOf(bytes);
    const extra = Buffer.from("smuggled");
    const manifest = JSON.parse(first?.content.toString() ?? "") as { bytes: number; contents: number };
    const text = JSON.stringify({ ...manifest, bytes: manifest.bytes + extra.length, contents: manifest.contents + 1 });
    const more = { name: `contents/${sha256(extra)}`, content: extra };
    const file = join(target.base, "more.tar");
    writeFileSync(
      file,
      archiveOf(folder, [{ name: "chronicle-archive.json", content: Buffer.from(`${text}\n`) }, ...rest, more]),
    );
    const store = await target.store();
    await importArchive(store, { file });
    expect(await countContents(store)).toBe(manifest.contents);
  });

  it("that is larger than the disk, of another version, or no archive, is refused in plain words", async () => {
    await using project = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const [first, ...rest] = entriesOf(readFileSync(await exported(project, workspace)));
    const folder = `chronicle-${workspace.id}`;
    const manifest = JSON.parse(first?.content.toString() ?? "") as object;
    const withManifest = (change: object): Buffer => {
      const content = Buffer.from(`${JSON.stringify({ ...manifest, ...change })}\n`);
      return archiveOf(folder, [{ name: "chronicle-archive.json", content }, ...rest]);
    };
    expect((await refusal(target, withManifest({ bytes: 2 ** 52 }))).message).toContain("are free");
    expect((await refusal(target, withManifest({ archive: 2 }))).message).toContain("reads only form 1");
    expect((await refusal(target, withManifest({ format: 3 }))).message).toContain("reads only format 2");
    expect((await refusal(target, Buffer.from("hello\n"))).message).toContain("no archive");
    expect((await refusal(target, Buffer.alloc(0))).message).toContain("no archive");
  });

  it("whose head nobody of its history has signed is refused", async () => {
    await using project = new Project();
    await using other = new Project();
    await using target = new Project();
    project.write("a.txt", "one\n");
    const workspace = await project.init();
    const bytes = readFileSync(await exported(project, workspace));
    const strangers = (await (await other.store()).create({ name: "x" })).workspace;
    const { note: theirs } = await strangers.head();
    const own = (await workspace.head()).note;
    const forged = own.slice(0, own.indexOf("\n\n") + 2) + theirs.slice(theirs.indexOf("\n\n") + 2);
    const entries = entriesOf(bytes).map((one) =>
      one.name === "head" ? { ...one, content: Buffer.from(forged) } : one,
    );
    expect((await refusal(target, archiveOf(`chronicle-${workspace.id}`, entries))).message).toContain("refused");
    await strangers.close();
  });
});
