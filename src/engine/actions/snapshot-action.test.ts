import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

describe("what an action keeps", () => {
  test("a write has its change, and finishing it twice gives the same answer", async () => {
    await using project = new Project();
    project.write("main.go", "package main\n");
    const workspace = await project.init();
    const request = { type: "write_file", payload: { path: "main.go" }, session: "s1", turn: "t1", toolCall: "c1" };
    const action = await workspace.snapshotAction(request);
    project.write("main.go", "package other\n");
    const end = await workspace.finishAction(action?.id ?? "");
    expect(end.changes).toMatchObject([{ path: "main.go", change_type: "modified" }]);
    expect(end.action).toMatchObject({ state: "done", changed: 1, hash: action?.hash });
    project.write("main.go", "a person\n");
    expect(await workspace.finishAction("c1")).toEqual({ ...end, coverage: { complete: true, omitted: [] } });
    expect(await workspace.history("main.go")).toMatchObject([
      { iteration: 1 },
      { iteration: 2, cause: "action", actor: "agent", session: "s1", action: action?.id },
    ]);
  });

  test("files that git ignores are kept aside if the action names them", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.env\nbuild/\n");
    project.write("a.env", "KEY=1");
    project.write("build/out/x", "x");
    project.write("build/y", "y");
    const workspace = await project.init();
    const file = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.env" } });
    expect(file).toMatchObject({ files_backed_up: ["a.env"], coverage: { complete: true, omitted: [] } });
    const folder = await workspace.snapshotAction({ type: "delete_directory", payload: { path: "build" } });
    expect(folder?.files_backed_up).toEqual(["build"]);
    project.remove("a.env");
    project.remove("build");
    await workspace.finishAction(file?.id ?? "");
    await workspace.finishAction(folder?.id ?? "");
    await workspace.rollback(folder?.id ?? "");
    await workspace.rollback(file?.id ?? "");
    expect([project.read("a.env"), project.read("build/out/x"), project.read("build/y")]).toEqual(["KEY=1", "x", "y"]);
  });

  test("the paths that a command will probably change are kept, so that `rm -rf` of an ignored folder can be undone", async () => {
    await using project = new Project();
    project.write(".gitignore", "data/\n");
    project.write("data/precious", "p");
    project.write("src/a", "a");
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "rm -rf data src" } });
    expect(action).toMatchObject({ scope: "workspace", action_summary: "run_command: rm -rf data src" });
    expect(action?.files_backed_up).toEqual(["data", "src", "src/a"]);
    project.remove("data");
    project.remove("src");
    project.write("made", "by the command");
    const end = await workspace.finishAction(action?.id ?? "");
    expect(end.changes.map((one) => one.path)).toEqual(["made", "src", "src/a"]);
    expect(end.action.omitted_changes).toMatchObject([{ path: "data", change_type: "deleted", kept: true }]);
    await workspace.undo();
    expect(project.read("data/precious")).toBe("p");
    expect(project.read("src/a")).toBe("a");
    expect(Object.keys(project.tree())).not.toContain("made");
  });

  test("a path that exists but cannot be kept stops the action, or is listed as omitted", async () => {
    await using project = new Project({ storeInside: true });
    project.write("a", "x");
    const first = await project.init();
    await first.configure({ maxFileSize: 100 });
    await first.close();
    project.write("big", "x".repeat(1_000));
    project.write("d/big", "x".repeat(1_000));
    const workspace = await project.open();
    for (const [type, payload] of [
      ["delete_file", { path: "big" }],
      ["delete_directory", { path: "d" }],
      ["delete_directory", { path: ".state" }],
      ["run_command", { command: "rm *" }],
      ["run_command", { command: "rm -rf ." }],
    ] as const) {
      const stopped = workspace.snapshotAction({ type, payload });
      await expect(stopped, type).rejects.toMatchObject({ code: "REFUSED" });
      const warned = await workspace.snapshotAction({ type, payload, onFailure: "warn" });
      expect(warned?.coverage.omitted.length, type).toBeGreaterThan(0);
    }
    expect(await workspace.snapshotAction({ type: "delete_file", payload: { path: "no-such" } })).toBeNull();
  });

  test("a file that is too large stops the action, or is listed as too large", async () => {
    await using project = new Project();
    project.write("big", "x");
    const first = await project.init();
    await first.configure({ maxFileSize: 100 });
    await first.close();
    const workspace = await project.open();
    project.write("big", "y".repeat(5_001));
    const request = { type: "write_file", payload: { path: "big" } };
    await expect(workspace.snapshotAction(request)).rejects.toMatchObject({
      code: "REFUSED",
      data: { coverage: { omitted: [{ path: "big", reason: "too-large" }] } },
    });
    expect(await workspace.list()).toEqual([]);
    const warned = await workspace.snapshotAction({ ...request, onFailure: "warn" });
    expect(warned?.coverage).toMatchObject({ complete: false, omitted: [{ path: "big", reason: "too-large" }] });
  });

  test("an action is stopped if the store is full, or begins with an incomplete coverage", async () => {
    await using project = new Project();
    project.write("a", "1");
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 1 } });
    const workspace = await store.open({ folder: project.folder });
    project.write("a", "22");
    const request = { type: "write_file", payload: { path: "a" } };
    await expect(workspace.snapshotAction(request)).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    const warned = await workspace.snapshotAction({ ...request, onFailure: "warn" });
    expect(warned).toMatchObject({ state: "open", files_backed_up: [], coverage: { complete: false } });
    expect(warned?.coverage.omitted).toMatchObject([{ path: "a" }]);
    await workspace.close();
  });

  test("a file that a tool reaches through a link is recorded under its own path", async () => {
    await using project = new Project();
    project.write("real/a", "1");
    symlinkSync("real", project.at("way"));
    symlinkSync("real/a", project.at("alias"));
    const workspace = await project.init();
    const through = await workspace.snapshotAction({ type: "write_file", payload: { path: "way/a" } });
    project.write("real/a", "2");
    expect((await workspace.finishAction(through?.id ?? "")).changes.map((one) => one.path)).toEqual(["real/a"]);
    const alias = await workspace.snapshotAction({ type: "write_file", payload: { path: "alias" } });
    project.write("real/a", "3");
    expect((await workspace.finishAction(alias?.id ?? "")).changes.map((one) => one.path)).toEqual(["real/a"]);
    await workspace.rollback(alias?.id ?? "");
    expect(project.read("real/a")).toBe("2");
  });

  test("a file that is made through a broken link is removed again by a rollback", async () => {
    await using project = new Project();
    project.link("new", "later/made");
    project.link("twice", "new");
    project.link("out", join(project.base, "outside-made"));
    project.link("loop", "loop");
    project.write("later/keep", "k");
    const workspace = await project.init();
    const before = project.tree();
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "twice" } });
    expect(action?.files_backed_up).toEqual(["later/made", "twice"]);
    project.write("twice", "through two links");
    await workspace.finishAction(action?.id ?? "");
    await workspace.rollback(action?.id ?? "");
    expect(project.tree()).toEqual(before);
    const outside = await workspace.snapshotAction({ type: "write_file", payload: { path: "out" } });
    expect(outside).toMatchObject({ files_backed_up: ["out"], outside: [join(project.base, "outside-made")] });
    const loop = await workspace.snapshotAction({ type: "write_file", payload: { path: "loop" } });
    expect(loop?.files_backed_up).toEqual(["loop"]);
  });

  test("a summary that the caller gives shows no secrets", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const request = { type: "run_command", payload: { command: "make" }, summary: "API_TOKEN=abcdef0123456789 make" };
    expect((await workspace.snapshotAction(request))?.action_summary).toBe("API_TOKEN=*** make");
  });

  test("an invalid request is refused", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    for (const request of [
      { type: "" },
      { type: "two words", payload: {} },
      { type: "write_file" },
      { type: "write_file", payload: { path: "a" }, depth: -1 },
      { type: "write_file", payload: { path: "a" }, turn: "" },
      { type: "write_file", payload: { path: "a" }, otr: "yes" as unknown as boolean },
      { type: "write_file", payload: { path: "a" }, summary: 7 as unknown as string },
      { type: "write_file", payload: { paths: "a" as unknown as string[] } },
      { type: "run_command", payload: { command: 7 as unknown as string } },
    ])
      await expect(workspace.snapshotAction(request)).rejects.toMatchObject({ code: "USAGE" });
    await expect(workspace.snapshotAction({ type: "write_file", payload: { path: "a\0b" } })).rejects.toMatchObject({
      code: "PATH_INVALID",
    });
    const unknown = { type: "write_file", payload: { path: "a" }, transaction: "none" };
    await expect(workspace.snapshotAction(unknown)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("the chain of actions", () => {
  test("continues between two processes that have the workspace open, and across pruned actions", async () => {
    await using project = new Project();
    project.write("a", "0");
    const one = await project.init();
    const two = await project.open();
    for (let i = 0; i < 6; i += 1) {
      const workspace = i % 2 === 0 ? one : two;
      await workspace.action({ type: "write_file", payload: { path: "a" } }, () => project.write("a", `${i}`));
    }
    const before = await two.list();
    expect(before.map((action) => action.previous_hash)).toEqual(["", ...before.slice(0, -1).map(({ hash }) => hash)]);
    await one.pin(before[0]?.id ?? "");
    await one.prune({ keepLast: 2 });
    const kept = await one.list();
    expect(kept.length).toBeLessThan(6);
    expect(kept.at(-1)?.previous_hash).toBe(before.at(-2)?.hash);
    await one.verifyIntegrity();
    await two.verifyIntegrity();
  });
});

describe("an action outside of a run is an operation", () => {
  test("undo and redo include it, and its id names the moment before it", async () => {
    await using project = new Project();
    project.write("a", "1");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "a" } }, () => project.write("a", "2"));
    await expect(
      workspace.action({ type: "write_file", payload: { path: "a" } }, () => {
        project.write("a", "3");
        throw new Error("the tool failed");
      }),
    ).rejects.toThrow("the tool failed");
    const [first, second] = await workspace.list();
    expect(second).toMatchObject({ state: "failed", reason: "the tool failed", changed: 1 });
    expect((await workspace.operations()).map((one) => one.kind)).toEqual(["action", "action"]);
    await workspace.undo();
    await workspace.undo();
    expect(project.read("a")).toBe("1");
    await workspace.redo();
    expect(project.read("a")).toBe("2");
    expect((await workspace.diff(first?.id ?? "", "now")).changes).toMatchObject([{ path: "a" }]);
    await workspace.restore(second?.id ?? "");
    expect(project.read("a")).toBe("2");
    expect((await workspace.recent()).items.map((one) => one.kind)).toContain("action");
  });
});

describe("rollback", () => {
  test("a dry run changes nothing, and a rollback leaves what others put into a folder of the action", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "made/a" } });
    project.write("made/a", "1");
    await workspace.finishAction(action?.id ?? "");
    project.write("made/b", "a person's");
    const dry = await workspace.rollback(action?.id ?? "", { dryRun: true });
    expect(dry).toMatchObject({ dry_run: true, undo_id: null });
    expect(dry.changes.map((one) => one.path)).toContain("made/a");
    expect(project.read("made/a")).toBe("1");
    await workspace.snapshot();
    await workspace.rollback(action?.id ?? "");
    expect(Object.keys(project.tree())).toEqual(["made", "made/b"]);
  });

  test("an open action's folder that is not recorded yet is removed as well", async () => {
    await using project = new Project();
    project.write("dir/keep", "keep");
    const workspace = await project.init();
    const before = project.tree();
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "dir/made/deep/a" } });
    project.write("dir/made/deep/a", "1");
    const dry = await workspace.rollback(action?.id ?? "", { dryRun: true });
    const done = await workspace.rollback(action?.id ?? "");
    expect(project.tree()).toEqual(before);
    expect(done.changes.map((one) => one.path)).toEqual(["dir/made", "dir/made/deep", "dir/made/deep/a"]);
    expect(dry.changes).toEqual(done.changes);
  });

  test("a file comes back together with its folder, which was removed since", async () => {
    await using project = new Project();
    project.write("dir/sub/a", "1");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "dir/sub/a" } }, () =>
      project.write("dir/sub/a", "2"),
    );
    const [action] = await workspace.list();
    project.remove("dir");
    await workspace.rollback(action?.id ?? "");
    expect(project.read("dir/sub/a")).toBe("1");
  });
});
