/**
 * The behaviours of the fourth seed (a snapshot system around sandboxed runs), through the library. Other behaviours
 * have their tests beside the code:
 *
 *     Merkle       all                                             src/core/tree/merkle.test.ts
 *     Objects      store, dedup, verify, missing, large, stream    src/testing/blob-store-suite.ts
 *     Objects      to a target atomically                          src/worktree/apply/apply-crash.long.test.ts
 *     Exclusions   component, substring, glob, ignore lines        src/core/filter/ignore.test.ts, ignore-git.test.ts
 *     Snapshots    limits, several roots                           limits-and-roots.test.ts
 *     Snapshots    moments, shapes                                 moments-and-shapes.long.test.ts
 *     Snapshots    session metadata there and back                 sessions.long.test.ts, src/core/records/records.test.ts
 *     Safety       symlinked parent, before creating folders       src/testing/worktree-suite.ts (a parent that became a link)
 *     Safety       "..", NUL, absolute in a manifest               src/core/values/path.test.ts, base.long.test.ts, records.test.ts
 *     Resume       dead and alive processes                        sessions.long.test.ts
 *     Resume       size formatting                                 src/core/values/duration.test.ts
 *     CLI          exit codes, flags, error texts                  test/cli/
 *     Audit        secrets in argv                                 src/core/shell/mask-secrets.long.test.ts
 *     Audit        inclusion and consistency proofs                src/core/log/log-tree.test.ts
 *     Audit        tampered, physical line numbers                 seed-002.long.test.ts
 *     Audit        golden vectors                                  test/format/vectors.test.ts
 *
 * Some names differ here: a session's manager is a workspace, an object is a blob, `restore_to` is `restore`,
 * `compute_restore_diff` is `restore` with `dryRun`, and `create_incremental` is `snapshot`. Chronicle does not choose
 * the session directory, and has no legacy root and no JSON of older versions.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { InitOptions } from "../../src/api/store-api.ts";
import { hashFromBytes, hashToBytes, isHash, parseHash, sha256 } from "../../src/core/values/hash.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { Project } from "../helpers/project.ts";

const kinds = (changes: readonly { change_type: string; path: string }[]): string[] =>
  changes.map((change) => `${change.change_type} ${change.path}`);

describe("content hash", () => {
  it("converts to bytes and back, and its first two digits name its folder on disk", () => {
    const hash = sha256("abc");
    expect(hash).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(hashFromBytes(hashToBytes(hash))).toBe(hash);
    expect(parseHash(JSON.parse(JSON.stringify(hash)) as string)).toBe(hash);
    expect(storeLayout("/s").blobs.largeFolder(hash)).toBe("/s/blobs/large/ba");
  });

  it.each([
    ["too short", "ab".repeat(31)],
    ["too long", "ab".repeat(33)],
    ["not hex", "g".repeat(64)],
    ["upper case", "AB".repeat(32)],
    ["with a newline", `${"ab".repeat(32)}\n`],
    ["empty", ""],
  ])("%s is refused", (_name, text) => {
    expect(isHash(text)).toBe(false);
    expect(() => parseHash(text)).toThrow(expect.objectContaining({ code: expect.any(String) }));
  });
});

describe("exclusions", () => {
  const files = {
    "app/a.txt": "1",
    "myapp/b.txt": "2",
    "src/app/c.txt": "3",
    "src/main.ts": "4",
    "x.tmp.12.34": "5",
    "file.tmp": "6",
    "a.tmp.backup.old": "7",
    "ignored/d.txt": "8",
    "debug.log": "9",
    ".gitignore": "ignored/\n*.log\n",
  };
  const every = Object.keys(files);
  const without = (...gone: readonly string[]): string[] => every.filter((path) => !gone.includes(path));
  const gitignored = ["ignored/d.txt", "debug.log"];

  it.each<[string, Partial<InitOptions>, string[]]>([
    ["by default, only what .gitignore names", {}, without(...gitignored)],
    ["nothing", { useGitignore: false }, every],
    ["a component", { excludePatterns: ["app"] }, without(...gitignored, "app/a.txt", "src/app/c.txt")],
    ["a substring with a slash", { excludePatterns: ["src/a"] }, without(...gitignored, "src/app/c.txt")],
    ["a glob on the name", { excludeGlobs: ["*.tmp.[0-9]*.[0-9]*"] }, without(...gitignored, "x.tmp.12.34")],
    [
      "force-include wins over both, and by whole components",
      { excludePatterns: ["app", "myapp"], forceInclude: ["app", "debug.log"] },
      without("ignored/d.txt", "myapp/b.txt"),
    ],
  ])("%s", async (_name, options, tracked) => {
    await using project = new Project();
    for (const [path, content] of Object.entries(files)) project.write(path, content);
    const workspace = await project.init(options);
    const manifest = await workspace.manifest("baseline");
    const found = Object.entries(manifest.files).filter(([, file]) => file.kind === "file");
    expect(found.map(([path]) => path).sort()).toEqual(tracked.toSorted());
    const defaults = { useGitignore: true, excludePatterns: [], excludeGlobs: [], forceInclude: [] };
    expect(await workspace.config()).toMatchObject({ ...defaults, maxEntries: 300_000, maxBytes: 2 ** 31, ...options });
  });
});

describe("snapshots", () => {
  it("have numbers, parents, counts of changes and roots", async () => {
    await using project = new Project();
    project.write("edit.txt", "before");
    project.write("gone.txt", "x");
    project.write("same.txt", "same");
    const workspace = await project.init();
    const [baseline] = await workspace.snapshots();
    expect(baseline).toMatchObject({ number: 0, parent: null, changed: null });
    expect((await workspace.manifest("0")).root).toBe(baseline?.root);

    const nothing = await workspace.snapshot();
    expect(nothing).toMatchObject({ number: 1, parent: 0, changed: 0, root: baseline?.root });

    project.write("edit.txt", "after!");
    project.write("new.txt", "new");
    project.remove("gone.txt");
    const next = await workspace.snapshot();
    expect(next).toMatchObject({ number: 2, parent: 1, changed: 3 });
    expect(next.root).not.toBe(baseline?.root);
    expect(kinds((await workspace.diff("1", "2")).changes)).toEqual([
      "modified edit.txt",
      "deleted gone.txt",
      "created new.txt",
    ]);
    expect((await workspace.diff("2", "2")).changes).toEqual([]);
  });

  it("the root is the same for the same files, in whatever order they were made", async () => {
    const roots: string[] = [];
    const paths = ["b/2", "a", "b/1", "ü", "z z"];
    for (const order of [paths, paths.toReversed()]) {
      await using project = new Project();
      for (const path of order) project.write(path, `content of ${path}`);
      const workspace = await project.init();
      roots.push((await workspace.manifest("0")).root);
    }
    expect(roots[0]).toBe(roots[1]);
  });

  it("a file of 9 MiB is stored and restored", async () => {
    await using project = new Project();
    const large = Buffer.alloc(9 * 1024 * 1024 + 17, "chronicle ");
    project.write("large.bin", large);
    const workspace = await project.init();
    expect((await workspace.manifest("0")).files["large.bin"]).toMatchObject({
      hash: sha256(large),
      size: large.length,
    });
    project.remove("large.bin");
    const layout = storeLayout(project.home).blobs;
    expect(lstatSync(layout.largeFolder(sha256(large))).isDirectory()).toBe(true);
    await workspace.restore("0");
    expect(sha256(Buffer.from(project.read("large.bin")))).toBe(sha256(large));
  });

  it("restore reverts an edit, a creation and a deletion; a dry run leaves the disk and the history alone", async () => {
    await using project = new Project();
    project.write("edit.txt", "before");
    project.write("gone.txt", "gone");
    const workspace = await project.init();
    const before = project.tree();
    project.write("edit.txt", "after");
    project.write("new/file.txt", "new");
    project.remove("gone.txt");
    const after = project.tree();
    const { seq } = await workspace.status();

    const preview = await workspace.restore("0", { dryRun: true });
    expect(kinds(preview.changes)).toEqual([
      "modified edit.txt",
      "created gone.txt",
      "deleted new",
      "deleted new/file.txt",
    ]);
    expect([project.tree(), (await workspace.status()).seq]).toEqual([after, seq]);
    const done = await workspace.restore("0");
    expect(kinds(done.changes)).toEqual(kinds(preview.changes));
    expect(project.tree()).toEqual(before);
    expect((await workspace.restore("0")).changes).toEqual([]);
  });

  it("restores some paths only", async () => {
    await using project = new Project();
    for (const path of ["a/1", "a/2", "b/1", "top"]) project.write(path, `old ${path}`);
    const workspace = await project.init();
    for (const path of ["a/1", "a/2", "b/1", "top"]) project.write(path, `new content of ${path}`);
    project.write("a/new", "new");
    const done = await workspace.restore("0", { paths: ["a", "top"] });
    expect(kinds(done.changes)).toEqual(["modified a/1", "modified a/2", "deleted a/new", "modified top"]);
    expect([project.read("a/1"), project.read("b/1")]).toEqual(["old a/1", "new content of b/1"]);
    await workspace.undo();
    expect([project.read("a/1"), project.read("a/new")]).toEqual(["new content of a/1", "new"]);
    expect((await workspace.restore("0", { paths: ["b"] })).changes.map((one) => one.path)).toEqual(["b/1"]);
    expect((await workspace.restore("0", { paths: ["b"] })).changes).toEqual([]);
    const unknown = workspace.restore("0", { paths: ["nothing-there"] });
    await expect(unknown).rejects.toMatchObject({ code: "NOT_FOUND", data: { path: "nothing-there" } });
  });

  it("a restored file has the present time, or with `keepMtime` the recorded one", async () => {
    await using project = new Project();
    project.write("a", "one");
    const workspace = await project.init();
    const recorded = statSync(project.at("a")).mtimeMs;
    const began = Date.now();
    for (const keepMtime of [false, true]) {
      project.write("a", "something else");
      await workspace.restore("0", { keepMtime });
      expect(project.read("a")).toBe("one");
      const { mtimeMs } = statSync(project.at("a"));
      if (keepMtime) expect(Math.floor(mtimeMs)).toBe(Math.floor(recorded));
      else expect(mtimeMs).toBeGreaterThan(began - 1_000);
      expect((await workspace.status()).changes).toEqual([]);
    }
  });

  it("a restore into another folder makes it with mode 0700, and leaves the workspace alone", async () => {
    await using project = new Project();
    project.write("a/b", "one");
    project.write("c", "two");
    const workspace = await project.init();
    project.write("c", "changed");
    const before = project.tree();
    const { seq } = await workspace.status();
    const to = join(project.base, "made/here");
    const filled = await workspace.restore("0", { to });
    expect(filled).toMatchObject({ undo_id: null, to, dry_run: false });
    expect(project.tree(to)).toMatchObject({ "a/b": expect.stringContaining("file 644"), c: expect.any(String) });
    expect(statSync(to).mode & 0o777).toBe(0o700);
    expect([project.tree(), (await workspace.status()).seq]).toEqual([before, seq]);
    await expect(workspace.restore("0", { to })).rejects.toMatchObject({ code: "REFUSED" });
    const some = join(project.base, "some");
    await workspace.restore("0", { to: some, paths: ["a/b"] });
    expect(Object.keys(project.tree(some))).toEqual(["a", "a/b"]);
    expect(
      readdirSync(project.base)
        .filter((name) => name !== "config")
        .sort(),
    ).toEqual(["made", "project", "some", "store"]);
  });
});

describe("safety", () => {
  it.each(["../x", "a/../b", "/etc/passwd", "a//b", "./a/./b", "a\0b"])(
    "the path %j is refused everywhere",
    async (path) => {
      await using project = new Project();
      project.write("a", "one");
      const workspace = await project.init();
      const invalid = { code: "PATH_INVALID" };
      await expect(workspace.history(path)).rejects.toMatchObject(invalid);
      await expect(workspace.cat(path)).rejects.toMatchObject(invalid);
      await expect(workspace.explain(path)).rejects.toMatchObject(invalid);
      await expect(workspace.restore("0", { paths: [path] })).rejects.toMatchObject(invalid);
      await expect(workspace.restore("0", { paths: [path], dryRun: true })).rejects.toMatchObject(invalid);
      await expect(workspace.diff("0", "now", { paths: [path] })).rejects.toMatchObject(invalid);
      await expect(workspace.record([path])).rejects.toMatchObject(invalid);
      expect(project.read("a")).toBe("one");
    },
  );

  it("a restore does not follow a folder that became a link", async () => {
    await using project = new Project();
    project.write("dir/file.txt", "inside");
    const workspace = await project.init();
    const outside = join(project.base, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "file.txt"), "outside");
    project.remove("dir");
    symlinkSync(outside, project.at("dir"));
    await workspace.restore("0");
    expect(project.read("dir/file.txt")).toBe("inside");
    expect(readdirSync(outside)).toEqual(["file.txt"]);
    await workspace.undo();
    expect(lstatSync(project.at("dir")).isSymbolicLink()).toBe(true);
  });

  it("a restore leaves the temporary files of others alone", async () => {
    await using project = new Project();
    project.write("a.txt", "one");
    project.write("a.txt.tmp.12.34", "somebody's");
    project.write(".chronicle-tmp-mine/x", "somebody's");
    project.write(".gitignore", "*.tmp.*\n");
    const workspace = await project.init();
    const before = project.tree();
    project.write("a.txt", "changed");
    await workspace.restore("0");
    expect(project.tree()).toEqual(before);
    expect(readdirSync(project.folder).sort()).toEqual([
      ".chronicle-tmp-mine",
      ".gitignore",
      "a.txt",
      "a.txt.tmp.12.34",
    ]);
  });

  it("the root folder, a home folder and the store are refused as roots", async () => {
    await using project = new Project();
    const store = await project.store({ userHome: project.folder });
    for (const root of ["/", project.folder, project.home]) {
      await expect(store.init({ roots: [root] })).rejects.toMatchObject({ code: "UNSAFE", hint: expect.any(String) });
    }
    await expect(store.open({ folder: project.folder, create: true })).rejects.toMatchObject({ code: "UNSAFE" });
    await expect(store.init({ roots: [project.home], force: true })).rejects.toMatchObject({ code: "UNSAFE" });
    expect(await store.workspaces()).toEqual([]);
    project.write("a", "one");
    const { workspace } = await store.init({ roots: [project.folder], force: true });
    expect(Object.keys((await workspace.manifest("0")).files)).toEqual(["a"]);
    await workspace.close();
  });
});

describe("resume", () => {
  it("a workspace that is opened again continues its numbers", async () => {
    await using project = new Project();
    project.write("a", "one");
    const first = await project.init();
    project.write("a", "two");
    expect(await first.snapshot()).toMatchObject({ number: 1 });
    await first.close();
    const second = await project.open();
    expect(second.id).toBe(first.id);
    project.write("a", "three");
    expect(await second.snapshot()).toMatchObject({ number: 2, parent: 1 });
    expect((await second.history("a")).map((one) => one.iteration)).toEqual([1, 2, 3]);
    const again = await (await project.store()).init({ roots: [project.folder] });
    expect(again.result).toMatchObject({ created: false, workspace: first.id });
    await again.workspace.close();
  });

  it.each(["", "/", "..", "../x", "\0", "a\nb", "x".repeat(1000)])(
    "the id %j is not found as a session or workspace",
    async (id) => {
      await using project = new Project();
      project.write("a", "one");
      const workspace = await project.init();
      await workspace.run({ command: ["sh", "-c", "echo two > a"] });
      const missing = { code: "NOT_FOUND" };
      await expect(workspace.session(id)).rejects.toMatchObject(missing);
      await expect(workspace.undo({ operation: id })).rejects.toMatchObject(missing);
      const store = await project.store();
      await expect(store.openById(id)).rejects.toMatchObject(missing);
      await expect(store.forget(id)).rejects.toMatchObject(missing);
      expect(await store.workspaces()).toHaveLength(1);
    },
  );

  it("du reports how much is stored", async () => {
    await using project = new Project();
    project.write("a", "x".repeat(10_000));
    const workspace = await project.init();
    const du = await workspace.du();
    expect(du.blobs.content_bytes).toBeGreaterThanOrEqual(10_000);
    expect(du.total_bytes).toBeGreaterThan(du.log_bytes + du.blobs.stored_bytes);
    expect(du.store).toBe(project.home);
  });
});

describe("modes", () => {
  it("of folders and files are restored", async () => {
    await using project = new Project();
    project.write("dir/run.sh", "#!/bin/sh\n", 0o755);
    const workspace = await project.init();
    chmodSync(project.at("dir"), 0o700);
    chmodSync(project.at("dir/run.sh"), 0o600);
    const { changes } = await workspace.diff("0", "now");
    expect(kinds(changes)).toEqual(["permissions_changed dir", "permissions_changed dir/run.sh"]);
    await workspace.restore("0");
    expect(project.tree()).toMatchObject({ dir: "dir 755", "dir/run.sh": expect.stringContaining("file 755") });
  });
});
