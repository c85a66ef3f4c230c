import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { InitOptions } from "../../src/api/store-api.ts";
import { Project } from "../helpers/project.ts";

const paths = (changes: readonly { path: string }[]): string[] => changes.map((change) => change.path);

describe("limits when a workspace is made", () => {
  const over: readonly [string, Partial<InitOptions>, string, string][] = [
    ["entries", { maxEntries: 10 }, "--max-entries", "many"],
    ["bytes", { maxBytes: 50_000 }, "--max-bytes", "heavy"],
  ];

  it.each(over)(
    "over the limit of %s, nothing is recorded, and the error names the largest folder and the flag",
    async (_name, options, flag, folder) => {
      await using project = new Project();
      for (let i = 0; i < 20; i += 1) project.write(`many/${i}`, "x");
      project.write("heavy/deep/a.bin", Buffer.alloc(60_000, 1));
      project.write("small", "x");
      const store = await project.store();
      const error = await store.init({ roots: [project.folder], ...options }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", hint: expect.stringContaining(flag) });
      const { message, data } = error as Error & { data: { heaviest: { path: string }[] } };
      expect(data.heaviest[0]?.path).toBe(folder);
      expect(message).toContain(folder);
      expect(await store.workspaces()).toEqual([]);
      // Without limits, the workspace is made.
      const { workspace } = await store.init({ roots: [project.folder], maxEntries: 0, maxBytes: 0 });
      expect(await workspace.snapshots()).toHaveLength(1);
      await workspace.close();
    },
  );

  it("the limits apply to a single tracked file, too", async () => {
    await using project = new Project();
    project.write("data.bin", Buffer.alloc(2_000, 1));
    const store = await project.store();
    const refused = store.init({ roots: [project.at("data.bin")], maxBytes: 1_000 });
    await expect(refused).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("data.bin"),
    });
    const { workspace } = await store.init({ roots: [project.at("data.bin")], maxBytes: 2_000 });
    expect(Object.keys((await workspace.manifest("0")).files)).toEqual(["data.bin"]);
    await workspace.close();
  });

  it("a file over the size limit is listed as omitted, and the rest is recorded", async () => {
    await using project = new Project();
    project.write("big", Buffer.alloc(2_000, 1));
    project.write("small", "x");
    const workspace = await project.init({ maxFileSize: 1_000 });
    const [baseline] = await workspace.snapshots();
    expect(baseline?.coverage).toMatchObject({ complete: false, omitted: [{ path: "big", reason: "too-large" }] });
    expect(Object.keys((await workspace.manifest("0")).files)).toEqual(["small"]);
    project.remove("small");
    await workspace.restore("0");
    expect(project.read("big")).toHaveLength(2_000);
  });

  it.each([-1, 1.5, Number.NaN, 2 ** 60])("%d is refused as a limit", async (maxEntries) => {
    await using project = new Project();
    await expect(project.init({ maxEntries })).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("a limit that is exceeded later", () => {
  it("leaves out new paths and lists them, still records known paths, and refuses a run before it starts", async () => {
    await using project = new Project();
    for (let i = 0; i < 8; i += 1) project.write(`known/${i}`, "1");
    const workspace = await project.init({ maxEntries: 10 });
    for (let i = 0; i < 20; i += 1) project.write(`new/${i}`, "x");
    project.write("known/0", "changed");
    const snapshot = await workspace.snapshot();
    expect(snapshot.coverage.complete).toBe(false);
    expect(snapshot.coverage.omitted.map((one) => one.reason)).toContain("over-limit");
    expect((await workspace.history("known/0")).at(-1)).toMatchObject({ iteration: 2, size: 7 });
    await expect(workspace.run({ command: ["touch", project.at("never")] })).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("new"),
      hint: expect.stringContaining("--max-entries"),
    });
    expect(Object.keys(project.tree())).not.toContain("never");
    // A restore never removes files that are not recorded.
    const restored = await workspace.restore("0");
    expect(restored.skipped).toMatchObject([{ path: "new", reason: "not-empty" }]);
    expect([project.read("known/0"), project.read("new/19")]).toEqual(["1", "x"]);
    await workspace.configure({ maxEntries: 0 });
    await workspace.close();
    const raised = await project.open();
    expect(await raised.snapshot()).toMatchObject({ coverage: { complete: true } });
    expect(await raised.history("new/19")).toMatchObject([{ iteration: 1 }]);
    expect(await raised.verify()).toMatchObject({ ok: true });
  });
});

describe("tracked roots", () => {
  it("each of several roots has its own ignore files; status, restore and undo work on the right root", async () => {
    await using project = new Project();
    const second = join(project.base, "second");
    const file = join(project.base, "notes.txt");
    mkdirSync(second);
    project.write("a.txt", "one");
    project.write("b.log", "tracked here");
    writeFileSync(join(second, "a.txt"), "two");
    writeFileSync(join(second, "b.log"), "ignored there");
    writeFileSync(join(second, ".gitignore"), "*.log\n");
    writeFileSync(file, "three");
    writeFileSync(join(project.base, "beside.txt"), "not tracked");
    const workspace = await project.init({ roots: [project.folder, second, file] });
    const [first, other, single] = (await workspace.status()).roots;
    expect([first?.id, other?.path, single]).toEqual([
      null,
      second,
      { id: expect.any(String), path: project.base, only: "notes.txt" },
    ]);
    const at = (id: string | null | undefined, path: string): string => `@${id}:${path}`;
    const tracked = [
      "a.txt",
      "b.log",
      at(other?.id, ".gitignore"),
      at(other?.id, "a.txt"),
      at(single?.id, "notes.txt"),
    ];
    const { files } = await workspace.manifest("0");
    expect(
      Object.keys(files)
        .filter((path) => files[path]?.kind === "file")
        .sort(),
    ).toEqual(tracked.toSorted());

    writeFileSync(join(second, "a.txt"), "changed");
    writeFileSync(join(second, "new.txt"), "new");
    writeFileSync(file, "changed");
    rmSync(project.at("a.txt"));
    const changed = ["a.txt", at(single?.id, "notes.txt"), at(other?.id, "a.txt"), at(other?.id, "new.txt")];
    expect(paths((await workspace.status()).changes).sort()).toEqual(changed.toSorted());
    await workspace.snapshot();
    expect(await workspace.history(at(other?.id, "a.txt"))).toHaveLength(2);
    await workspace.restore("0", { paths: [at(other?.id, "a.txt")] });
    expect([readFileSync(join(second, "a.txt"), "utf8"), readFileSync(file, "utf8")]).toEqual(["two", "changed"]);
    await workspace.restore("0");
    expect(readFileSync(file, "utf8")).toBe("three");
    expect(project.read("a.txt")).toBe("one");
    await workspace.undo();
    expect(readFileSync(join(second, "new.txt"), "utf8")).toBe("new");
    expect(readFileSync(join(project.base, "beside.txt"), "utf8")).toBe("not tracked");
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
    await workspace.close();
    const again = await project.open();
    expect((await again.status()).roots).toEqual([first, other, single]);
    const elsewhere = join(project.base, "elsewhere");
    await again.restore("0", { to: elsewhere });
    const filled = project.tree(elsewhere);
    expect(Object.keys(filled).filter((path) => filled[path]?.startsWith("file"))).toEqual(
      tracked.map((path) => path.replace(":", "/")).toSorted(),
    );
    await expect(
      again.restore("0", { to: join(elsewhere, "one"), paths: [at(single?.id, "notes.txt")] }),
    ).resolves.toMatchObject({
      changes: [{ path: `@${single?.id}` }, { path: `@${single?.id}/notes.txt` }],
    });
  });

  it("a workspace of a single file records and restores only that file", async () => {
    await using project = new Project();
    const file = project.at("only.txt");
    writeFileSync(file, "one");
    project.write("other.txt", "not tracked");
    const workspace = await project.init({ roots: [file] });
    writeFileSync(file, "two!");
    project.write("other.txt", "changed");
    expect(paths((await workspace.status()).changes)).toEqual(["only.txt"]);
    const run = await workspace.run({ command: ["sh", "-c", "rm only.txt; rm other.txt"] });
    expect(paths(run.changes)).toEqual(["only.txt"]);
    await workspace.undo();
    await workspace.restore("0");
    expect(project.read("only.txt")).toBe("one");
    expect(Object.keys(project.tree())).toEqual(["only.txt"]);
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("a missing root and an empty list of roots are refused", async () => {
    await using project = new Project();
    const roots = [project.folder, join(project.base, "missing")];
    await expect(project.init({ roots })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(project.init({ roots: [] })).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("the workspace of a folder", () => {
  it("is the nearest one around it, also if workspaces are nested", async () => {
    await using project = new Project();
    project.write("inner/deep/a.txt", "one");
    const outer = await project.init();
    const store = await project.store();
    expect((await store.open({ folder: project.at("inner/deep") })).id).toBe(outer.id);
    const inner = await store.init({ roots: [project.at("inner")] });
    expect(inner.result).toMatchObject({ created: true, path: project.at("inner") });
    expect((await store.open({ folder: project.at("inner/deep") })).id).toBe(inner.workspace.id);
    expect((await store.open({ folder: project.folder })).id).toBe(outer.id);
    await expect(store.open({ folder: project.base })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await store.workspaces()).toHaveLength(2);
  });

  it("is recognised after the folder was moved, and continues its history", async () => {
    await using project = new Project();
    project.write("a", "one");
    const first = await project.init();
    await first.close();
    const moved = join(project.base, "moved");
    renameSync(project.folder, moved);
    const store = await project.store();
    expect(await store.workspaces()).toMatchObject([{ present: false }]);
    const looking = await store.open({ folder: moved, readOnly: true });
    expect([looking.id, (await looking.log()).length]).toEqual([first.id, 3]);
    await looking.close();
    const workspace = await store.open({ folder: moved });
    expect([workspace.id, workspace.path]).toEqual([first.id, moved]);
    writeFileSync(join(moved, "a"), "changed");
    expect(await workspace.snapshot()).toMatchObject({ number: 1, changed: 1 });
    await workspace.restore("0");
    expect(readFileSync(join(moved, "a"), "utf8")).toBe("one");
    expect(await store.workspaces()).toMatchObject([{ present: true, path: moved }]);
    expect(await workspace.verify()).toMatchObject({ ok: true });
    await workspace.close();
  });

  it("is not that of its original if the folder is a copy, unless it adopts the history with `force`", async () => {
    await using project = new Project();
    project.write("a", "one");
    const first = await project.init();
    await first.close();
    const copy = join(project.base, "copy");
    mkdirSync(copy);
    writeFileSync(join(copy, "a"), "one");
    const store = await project.store();
    await expect(store.open({ folder: copy })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(store.init({ roots: [copy], adopt: "ffffffff" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    const adopt = first.id.slice(0, 8);
    await expect(store.init({ roots: [copy], adopt })).rejects.toMatchObject({
      code: "UNSAFE",
      message: expect.stringContaining(`${project.folder}, to which`),
    });
    expect(await store.workspaces()).toMatchObject([{ path: project.folder, present: true }]);
    const adopted = await store.init({ roots: [copy], adopt, force: true });
    expect(adopted.result).toMatchObject({ created: false, workspace: first.id, path: copy });
    expect((await adopted.workspace.status()).changes).toEqual([]);
    expect(await adopted.workspace.history("a")).toHaveLength(1);
    await adopted.workspace.close();
    const [listed] = await store.workspaces();
    expect([listed?.path, basename(copy)]).toEqual([copy, "copy"]);
  });

  it("can be adopted by a copy once the original folder is removed, but not by a folder with its own history", async () => {
    await using project = new Project();
    project.write("a", "one");
    const first = await project.init();
    await first.close();
    const other = join(project.base, "other");
    mkdirSync(other);
    const store = await project.store();
    const second = (await store.init({ roots: [other] })).workspace;
    await second.close();
    const copy = join(project.base, "copy");
    cpSync(project.folder, copy, { recursive: true });
    rmSync(project.folder, { recursive: true });
    for (const force of [false, true])
      await expect(store.init({ roots: [other], adopt: first.id, force })).rejects.toMatchObject({
        code: "UNSAFE",
        message: expect.stringContaining(second.id),
      });
    const { workspace, result } = await store.init({ roots: [copy], adopt: first.id });
    expect(result).toMatchObject({ created: false, workspace: first.id, path: copy });
    const { seq } = await workspace.status();
    await workspace.close();
    // A second adoption changes nothing.
    const again = (await store.init({ roots: [copy], adopt: first.id })).workspace;
    expect((await again.status()).seq).toBe(seq);
    await again.close();
  });
});
