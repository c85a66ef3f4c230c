import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { UndoOptions } from "../../src/api/workspace-api.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";

/** A file that the rules leave out comes back by each kind of undo that includes the work that removed it. */

const RM = { type: "run_command", payload: { command: "rm z.log; echo 2 > a.txt" } } as const;

async function begun() {
  const project = new ClockedProject();
  project.write(".gitignore", "*.log\n");
  project.write("z.log", "kept");
  project.write("a.txt", "a");
  const workspace = await project.init();
  const { from_seq: since } = (await workspace.run({ command: ["true"] })).session;
  return { project, workspace, since: `seq:${since}`, isThere: () => existsSync(join(project.folder, "z.log")) };
}

type Begun = Awaited<ReturnType<typeof begun>>;

/** An action that names the file, which is kept aside as it begins. */
async function removed({ project, workspace }: Begun): Promise<string> {
  let id = "";
  await workspace.action(RM, async (action) => {
    id = action?.id ?? "";
    rmSync(join(project.folder, "z.log"));
    project.write("a.txt", "2");
    await Promise.resolve();
  });
  return id;
}

const WAYS: Readonly<Record<string, (way: { readonly since: string; readonly id: string }) => UndoOptions>> = {
  "since a moment": ({ since }) => ({ since }),
  "since the baseline": () => ({ since: "0" }),
  "of the action": ({ id }) => ({ action: id }),
};

describe("an ignored file that an action named and removed", () => {
  test.each(Object.keys(WAYS))("comes back by an undo %s", async (name) => {
    const all = await begun();
    await using project = all.project;
    const id = await removed(all);
    const options = WAYS[name]?.({ since: all.since, id }) ?? {};
    const plan = await all.workspace.undo({ ...options, dryRun: true });
    const done = await all.workspace.undo(options);
    expect(done.skipped).toEqual([]);
    expect(done.changes).toEqual(plan.changes);
    expect(done.kept_aside).toEqual(plan.kept_aside);
    expect(done.kept_aside).toContainEqual(expect.objectContaining({ path: "z.log" }));
    expect(project.read("z.log")).toBe("kept");
    await all.workspace.redo();
    expect(all.isThere()).toBe(false);
  });

  test("gets its earlier content back if the action has overwritten it", async () => {
    const all = await begun();
    await using project = all.project;
    await all.workspace.action(RM, async () => {
      project.write("z.log", "written over");
      await Promise.resolve();
    });
    const { skipped } = await all.workspace.undo({ since: all.since });
    expect(skipped).toEqual([]);
    expect(project.read("z.log")).toBe("kept");
  });

  test("is removed again if the action has made it", async () => {
    const all = await begun();
    await using project = all.project;
    rmSync(join(project.folder, "z.log"));
    await all.workspace.action(RM, async () => {
      project.write("z.log", "made");
      await Promise.resolve();
    });
    await all.workspace.undo({ since: all.since });
    expect(all.isThere()).toBe(false);
  });
});

test("an undo since a moment does not bring back a file that was made and removed after that moment", async () => {
  const all = await begun();
  await using project = all.project;
  project.write("new.txt", "new");
  await all.workspace.snapshot();
  rmSync(join(project.folder, "new.txt"));
  await all.workspace.snapshot();
  project.write("a.txt", "2");
  await all.workspace.undo({ since: all.since });
  expect(existsSync(join(project.folder, "new.txt"))).toBe(false);
});

describe("undo of a file that was kept aside", () => {
  test("names the run that has removed it, and the command that brings it back", async () => {
    const all = await begun();
    await using project = all.project;
    const { session } = await all.workspace.run({ command: ["sh", "-c", "echo 2 > a.txt; rm z.log"] });
    const id = session.session_id.slice(0, 8);
    await expect(all.workspace.undo({ file: "z.log" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining("was kept aside"),
      hint: expect.stringContaining(`\`chronicle undo ${id}\``),
    });
    await all.workspace.undo({ operation: id });
    expect(project.read("z.log")).toBe("kept");
    await expect(all.workspace.undo({ file: "z.log" })).rejects.toMatchObject({
      hint: expect.not.stringContaining("chronicle undo"),
    });
  });

  test("names the action that has removed it", async () => {
    const all = await begun();
    await using project = all.project;
    let id = "";
    await all.workspace.action({ type: "run_command", payload: { command: "rm -f *.log" } }, async (action) => {
      id = action?.id ?? "";
      rmSync(join(project.folder, "z.log"));
      await Promise.resolve();
    });
    const error = await all.workspace.undo({ file: "z.log" }).catch((one: unknown) => one);
    expect(error).toMatchObject({ hint: expect.stringContaining(`\`chronicle undo --action ${id.slice(0, 8)}\``) });
    await all.workspace.undo({ action: id.slice(0, 8) });
    expect(project.read("z.log")).toBe("kept");
  });
});
