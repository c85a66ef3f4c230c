import { chmodSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

describe("Truth: a file that comes back without its set-id or sticky bit is named", () => {
  it("also if the rest of the file comes back after a deletion or an edit", async () => {
    using box = new Sandbox();
    box.write("tool", "#!\n");
    const file = join(box.project, "tool");
    chmodSync(file, 0o4755);
    await box.must(["init"]);
    const whole =
      "not as it was:\n  ! tool (special-bits: setuid, setgid and sticky are recorded, but never set: the path comes back without them)";
    box.run(["run", "--", "rm", "tool"]);
    const steps = [
      ["undo", "--dry-run"],
      ["undo"],
      ["redo"],
      ["undo", "--file", "tool"],
      ["redo"],
      ["restore", "0"],
      ["restore", "0", "--to", "../elsewhere"],
    ];
    for (const args of steps) {
      const { code, stdout } = await box.call(args);
      const isBack = args[0] !== "redo";
      expect([args, code, stdout.includes(whole)]).toEqual([args, isBack ? 1 : 0, isBack]);
    }
    expect(statSync(file).mode & 0o7777).toBe(0o755);
    chmodSync(file, 0o4755);
    await box.must(["snapshot"]);
    box.run(["run", "--", "sh", "-c", "echo more > tool; chmod 4755 tool"]);
    const { code, stdout } = await box.call(["undo"]);
    expect([code, stdout.includes(whole)]).toEqual([1, true]);
    expect(statSync(file).mode & 0o7777).toBe(0o755);
  });

  it("by the rollbacks of an action, of a transaction and of a run", async () => {
    await using project = new Project();
    project.write("tool", "#!\n");
    const file = join(project.folder, "tool");
    chmodSync(file, 0o4755);
    const workspace = await project.init();
    const skipped = [expect.objectContaining({ path: "tool", reason: "special-bits" })];
    const request = { type: "bash", payload: {}, summary: "rm tool" };
    const action = await workspace.snapshotAction(request);
    rmSync(file);
    await workspace.finishAction(action?.id ?? "");
    expect(await workspace.rollback(action?.id ?? "")).toMatchObject({ skipped, changes: [{ path: "tool" }] });
    chmodSync(file, 0o4755);
    const { id } = await workspace.beginTransaction({ pid: null });
    rmSync(file);
    expect((await workspace.rollbackTransaction(id)).undo).toMatchObject({ skipped, changes: [{ path: "tool" }] });
    chmodSync(file, 0o4755);
    const run = { command: ["sh", "-c", "rm tool; exit 3"], cwd: project.folder, rollbackOnFailure: true };
    expect(await workspace.run(run)).toMatchObject({ skipped, not_rolled_back: { paths: ["tool"] } });
  });
});
