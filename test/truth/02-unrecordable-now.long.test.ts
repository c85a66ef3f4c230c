import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

/**
 * A path's content may be impossible to record, now or at the moment of a restore. Then no answer says that the path
 * is in an earlier state, and no earlier state is restored as the state of that moment.
 */

const LIMIT = 1024;

async function tooLarge(project: Project) {
  project.write("s", "small\n");
  project.write("other", "0\n");
  const workspace = await project.init({ maxFileSize: LIMIT });
  project.write("s", "x".repeat(2 * LIMIT));
  return workspace;
}

describe("Truth 2: a path that cannot be recorded as it is now is left, and named", () => {
  it.each([true, false])("by a restore of everything (dry run: %s)", async (dryRun) => {
    await using project = new Project();
    const workspace = await tooLarge(project);
    project.write("other", "1\n");
    const done = await workspace.restore("0", { dryRun });
    expect(done.changes.map(({ path }) => path)).toEqual(["other"]);
    expect(done.skipped).toMatchObject([{ path: "s", reason: "unseen", detail: expect.stringContaining("too large") }]);
    expect(project.read("s")).toHaveLength(2 * LIMIT);
  });

  it("by a restore of the path alone, also where the record differs from that moment", async () => {
    await using project = new Project();
    project.write("s", "small\n");
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("s", "other\n");
    await workspace.snapshot();
    project.write("s", "x".repeat(2 * LIMIT));
    const done = await workspace.restore("0", { paths: ["s"] });
    expect(done.changes).toEqual([]);
    expect(done.skipped).toMatchObject([{ path: "s", reason: "unseen" }]);
    expect(project.read("s")).toHaveLength(2 * LIMIT);
  });

  it("but no path is named that did not exist then, or that was not asked for", async () => {
    await using project = new Project();
    const workspace = await tooLarge(project);
    project.write("late", "x".repeat(2 * LIMIT));
    expect((await workspace.restore("0", { paths: ["other"] })).skipped).toEqual([]);
    expect((await workspace.restore("0")).skipped.map(({ path }) => path)).toEqual(["s"]);
  });

  it("also a path that was never recorded, if the restore names it", async () => {
    await using project = new Project();
    project.write("big", "x".repeat(2 * LIMIT));
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("big", "y".repeat(3 * LIMIT));
    const now = expect.stringContaining("could not be recorded as it is now (too large") as string;
    expect((await workspace.restore("0", { paths: ["big"] })).skipped).toMatchObject([{ path: "big", detail: now }]);
    expect((await workspace.restore("0")).skipped).toEqual([]);
    project.write("big", "small\n");
    await workspace.snapshot();
    project.remove("big");
    const then = { path: "big", reason: "unseen", detail: expect.stringContaining("then (too large)") as string };
    expect((await workspace.restore("0", { paths: ["big"] })).skipped).toMatchObject([then]);
  });

  it.skipIf(process.getuid?.() === 0)(
    "also a path in a folder that cannot be read, if the restore names it",
    async () => {
      await using project = new Project();
      project.write("d/f", "1\n");
      const workspace = await project.init();
      chmodSync(project.at("d"), 0o000);
      const { skipped } = await workspace.restore("0", { paths: ["d/f"] });
      chmodSync(project.at("d"), 0o755);
      expect(skipped).toMatchObject([{ path: "d/f", reason: "unseen" }]);
    },
  );
});

const BIG = "y".repeat(2 * LIMIT);

/** Records `f` as `v1` in the baseline, as too large in the snapshot `two`, and as `v3` in `three`. */
async function tooLargeThen(project: Project): Promise<WorkspaceApi> {
  project.write("f", "v1\n");
  project.write("a", "1\n");
  const workspace = await project.init({ maxFileSize: LIMIT });
  project.write("f", BIG);
  await workspace.snapshot({ name: "two" });
  project.write("f", "v3\n");
  project.write("a", "3\n");
  await workspace.snapshot({ name: "three" });
  return workspace;
}

const UNKNOWN = { path: "f", reason: "unseen", detail: expect.stringContaining("then (too large)") as string };
const pathsOf = (list: readonly { readonly path: string }[]): string[] => list.map(({ path }) => path);

describe("Truth 2: a path that could not be recorded at a moment is not set to an older state", () => {
  it.each([true, false])("by a restore (dry run: %s), which changes the other paths", async (dryRun) => {
    await using project = new Project();
    const workspace = await tooLargeThen(project);
    const done = await workspace.restore("two", { dryRun });
    expect([pathsOf(done.changes), done.skipped]).toEqual([["a"], [expect.objectContaining(UNKNOWN)]]);
    expect(project.read("f")).toBe("v3\n");
    expect((await workspace.restore("two", { dryRun: true, force: true })).skipped).toMatchObject([UNKNOWN]);
    // The states before and after that moment are known.
    await workspace.restore("0");
    expect(project.read("f")).toBe("v1\n");
    expect((await workspace.restore("three")).skipped).toEqual([]);
    expect(project.read("f")).toBe("v3\n");
  });

  it("by a restore that would have nothing to change, or would make the file again", async () => {
    await using project = new Project();
    const workspace = await tooLargeThen(project);
    project.write("f", "v1\n");
    expect(await workspace.restore("two", { paths: ["f"] })).toMatchObject({ changes: [], skipped: [UNKNOWN] });
    project.remove("f");
    expect(await workspace.restore("two", { paths: ["f"] })).toMatchObject({ changes: [], skipped: [UNKNOWN] });
    expect(existsSync(project.at("f"))).toBe(false);
  });

  it("unless a restore names the path with force: then it gets its last recorded state", async () => {
    await using project = new Project();
    const workspace = await tooLargeThen(project);
    const done = await workspace.restore("two", { paths: ["f"], force: true });
    expect([pathsOf(done.changes), done.skipped]).toEqual([["f"], []]);
    expect(project.read("f")).toBe("v1\n");
    await workspace.undo();
    expect(project.read("f")).toBe("v3\n");
  });

  it("except by the command that undo's answer names, also for a moment inside a commit", async () => {
    using box = new Sandbox();
    for (const name of ["a", "f", "z"]) box.write(name, "v1\n");
    await box.must(["init", "--max-file-size", "1KiB"]);
    box.write("f", BIG);
    box.run(["run", "--", "sh", "-c", "for i in a f z; do echo v3 > $i; done"]);
    // One file of a commit that changed all.
    const undone = await box.call(["undo", "--file", "f"]);
    expect(undone.code).toBe(1);
    const [, moment = ""] = /restore (seq:\d+) :\/f --force/.exec(undone.stdout) ?? [];
    expect((await box.call(["restore", moment, "f"])).code).toBe(1);
    expect((await box.call(["restore", moment, "f", "--force"])).code).toBe(0);
    expect(readFileSync(join(box.project, "f"), "utf8")).toBe("v1\n");
  });

  it.each(["echo v3 > f; echo 2 > a", "rm f; echo 2 > a"])("by an undo of a run: %s", async (script) => {
    await using project = new Project();
    project.write("f", "v1\n");
    project.write("a", "1\n");
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("f", BIG);
    await workspace.run({ command: ["sh", "-c", script] });
    const was = project.tree()["f"];
    expect(await workspace.undo({ dryRun: true })).toMatchObject({ changes: [{ path: "a" }], skipped: [UNKNOWN] });
    expect(await workspace.undo()).toMatchObject({ changes: [{ path: "a" }], skipped: [UNKNOWN] });
    expect([project.tree()["f"], project.read("a")]).toEqual([was, "1\n"]);
    await workspace.redo();
    expect([project.tree()["f"], project.read("a")]).toEqual([was, "2\n"]);
  });

  it.each(["undo", "turn", "rollback", "since", "file"] as const)("by an undo of an action (%s)", async (how) => {
    await using project = new Project();
    project.write("f", "v1\n");
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("f", BIG);
    const since = `seq:${(await workspace.snapshot()).seq}`;
    const request = { type: "run_command", payload: { command: "x" }, session: "s", turn: "t" };
    const id = await workspace.action(request, (action) => {
      project.write("f", "v3\n");
      return action?.id ?? "";
    });
    const selection = { undo: { action: id }, turn: { turn: "t" }, since: { since }, file: { file: "f" } };
    const done = how === "rollback" ? await workspace.rollback(id) : await workspace.undo(selection[how]);
    expect(done).toMatchObject({ changes: [], skipped: [UNKNOWN] });
    expect(project.read("f")).toBe("v3\n");
  });

  it.each([{}, { force: true }])("by an undo of an action whose own scan left the file out (%o)", async (how) => {
    await using project = new Project();
    project.write("f", "v1\n");
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("f", BIG);
    const request = { type: "write_file", payload: { path: "f" }, onFailure: "warn" as const };
    const id = await workspace.action(request, (action) => {
      project.write("f", "v3\n");
      return action?.id ?? "";
    });
    expect(await workspace.undo({ action: id, ...how })).toMatchObject({ changes: [], skipped: [UNKNOWN] });
    expect(project.read("f")).toBe("v3\n");
  });

  it("by a transaction that is rolled back", async () => {
    await using project = new Project();
    project.write("f", "v1\n");
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("f", BIG);
    const { id } = await workspace.beginTransaction();
    project.write("f", "v3\n");
    const { undo } = await workspace.rollbackTransaction(id);
    expect(undo).toMatchObject({ changes: [], skipped: [UNKNOWN] });
    expect(project.read("f")).toBe("v3\n");
  });

  it("by a run that is rolled back, which says that the file was not", async () => {
    using box = new Sandbox();
    box.write("f", "v1\n");
    await box.must(["init", "--max-file-size", "1KiB"]);
    box.write("f", BIG);
    const ran = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "echo v3 > f; exit 3"]);
    expect([ran.code, readFileSync(join(box.project, "f"), "utf8")]).toEqual([122, "v3\n"]);
    expect(ran.stderr).toContain("NOT rolled back: f (they are not recorded, so their earlier content is gone");
  });

  it("but a state that an action's capture of one path, or its scan, recorded since then is restored", async () => {
    await using project = new Project();
    const workspace = await tooLargeThen(project);
    project.write("f", BIG);
    await workspace.snapshot();
    const request = { type: "write_file", payload: { path: "f" } };
    project.write("f", "v3\n");
    // The action's scan finds the recorded state again. The coverage of the last full capture omits the path.
    const first = await workspace.action(request, (action) => {
      project.write("f", "v4\n");
      return action?.id ?? "";
    });
    const { seq } = await workspace.status();
    await workspace.action(request, () => project.write("f", "v5\n"));
    expect(await workspace.restore(`seq:${seq}`)).toMatchObject({ changes: [{ path: "f" }], skipped: [] });
    expect(project.read("f")).toBe("v4\n");
    expect(await workspace.undo({ action: first })).toMatchObject({ changes: [{ path: "f" }], skipped: [] });
    expect(project.read("f")).toBe("v3\n");
  });

  it("also if the path is omitted again after a capture of some paths recorded it", async () => {
    await using project = new Project();
    const workspace = await tooLargeThen(project);
    project.write("f", BIG);
    await workspace.snapshot();
    project.write("f", "v3\n");
    await workspace.action({ type: "write_file", payload: { path: "f" } }, () => project.write("f", "v4\n"));
    project.write("f", BIG);
    await workspace.snapshot({ name: "again" });
    const before = (await workspace.status()).seq;
    await workspace.snapshot();
    // The snapshot is the only new event, because an unchanged coverage is not recorded again.
    expect((await workspace.status()).seq).toBe(before + 1);
    project.write("f", "v5\n");
    expect(await workspace.restore("again")).toMatchObject({ changes: [], skipped: [UNKNOWN] });
    expect(project.read("f")).toBe("v5\n");
  });

  it("but an undo of a write by Chronicle brings back the content that it replaced", async () => {
    await using project = new Project();
    const workspace = await tooLargeThen(project);
    project.write("f", BIG);
    await workspace.snapshot();
    project.write("f", "v3\n");
    await workspace.putFile("f", Buffer.from("v4\n"));
    expect(await workspace.undo()).toMatchObject({ changes: [{ path: "f" }], skipped: [] });
    expect(project.read("f")).toBe("v3\n");
  });

  it("also if a pipe was in the file's place then", async () => {
    await using project = new Project();
    project.write("f", "v1\n");
    const workspace = await project.init();
    project.remove("f");
    spawnSync("mkfifo", [project.at("f")]);
    await workspace.snapshot({ name: "two" });
    project.remove("f");
    project.write("f", "v3\n");
    await workspace.snapshot();
    expect(await workspace.restore("two")).toMatchObject({ changes: [], skipped: [{ path: "f", reason: "unseen" }] });
    expect(project.read("f")).toBe("v3\n");
  });

  it.skipIf(process.getuid?.() === 0)("also if the file, or its folder, could not be read then", async () => {
    await using project = new Project();
    project.write("f", "v1\n");
    project.write("d/f", "v1\n");
    const workspace = await project.init();
    project.write("f", "v2\n", 0o000);
    project.write("d/f", "v2\n");
    chmodSync(project.at("d"), 0o000);
    await workspace.snapshot({ name: "two" });
    chmodSync(project.at("d"), 0o755);
    project.write("d/f", "v3\n");
    chmodSync(project.at("f"), 0o644);
    project.write("f", "v3\n");
    const { changes, skipped } = await workspace.restore("two");
    expect([changes, pathsOf(skipped)]).toEqual([[], expect.arrayContaining(["f", "d/f"])]);
    expect([project.read("f"), project.read("d/f")]).toEqual(["v3\n", "v3\n"]);
  });

  it("also among more paths than a coverage lists", async () => {
    await using project = new Project();
    project.write("z", "1");
    const workspace = await project.init({ maxFileSize: 4 });
    for (let i = 0; i < 2_001; i += 1) project.write(`many/${i}`, "large");
    project.write("z", "large");
    await workspace.snapshot({ name: "two" });
    project.write("z", "3");
    const { changes, skipped } = await workspace.restore("two");
    expect([changes, pathsOf(skipped)]).toEqual([[], ["z"]]);
  });

  it("together with the other files of a database, which are also forced together", async () => {
    await using project = new Project();
    const page = (fill: string): string => `SQLite format 3\0${fill.repeat(LIMIT)}`;
    project.write("db", page("1"));
    project.write("db-wal", "1");
    const workspace = await project.init({ maxFileSize: 2 * LIMIT });
    project.write("db", page("2".repeat(4)));
    await workspace.snapshot({ name: "two" });
    project.write("db", page("3"));
    project.write("db-wal", "3");
    const { changes, skipped } = await workspace.restore("two");
    expect([changes, pathsOf(skipped).toSorted()]).toEqual([[], ["db", "db-wal"]]);
    const forced = await workspace.restore("two", { paths: ["db-wal"], force: true });
    expect(pathsOf(forced.changes)).toEqual(["db", "db-wal"]);
  });
});
