import { chmodSync, existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { exportArchive } from "../../src/open.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";

/** Files that were kept aside for a run or an action come back with it, whichever way it is undone. */

async function begun() {
  const project = new ClockedProject();
  project.write(".gitignore", ".env\n*.log\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  project.write(".env", "KEY=1");
  project.write("app.log", "one");
  project.write("a.txt", "a");
  project.write("b.txt", "b");
  const workspace = await project.init();
  const sh = (script: string, options: { readonly rollbackOnFailure?: boolean } = {}) =>
    workspace.run({ command: ["sh", "-c", script], ...options });
  return { project, workspace, sh, isThere: (path: string) => existsSync(join(project.folder, path)) };
}

describe("a run that is rolled back", () => {
  test("is undone as a whole, and the next undo is of the work before it", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    const failed = await sh("echo x >> app.log; rm a.txt; exit 3", { rollbackOnFailure: true });
    expect(failed).toMatchObject({ rolled_back: true, not_rolled_back: null, undo_id: null });
    expect([project.read("app.log"), project.read("a.txt")]).toEqual(["one", "a"]);
    expect((await workspace.operations()).filter((one) => one.kind === "run")).toMatchObject([
      { undone: false },
      { id: failed.session.session_id, undone: true },
    ]);
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
  });

  test("after changing only files kept aside is reported as rolled back, and leaves undo nothing to do", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    const failed = await sh("rm .env; exit 3", { rollbackOnFailure: true });
    expect(failed).toMatchObject({ rolled_back: true, undo_id: null, not_rolled_back: null });
    expect(project.read(".env")).toBe("KEY=1");
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
    expect((await workspace.redo()).changes).toMatchObject([{ path: "new.txt" }]);
  });

  test("names the kept file that could not be put back", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    project.write("keys/.env", "KEY=2");
    await workspace.status();
    // A pipe stands in the place of the folder. No capture takes it, and nothing can be put beneath it.
    const failed = await sh("rm -r keys; mkfifo keys; rm a.txt; exit 3", { rollbackOnFailure: true });
    expect(failed.rolled_back).toBe(false);
    expect(failed.not_rolled_back?.paths).toContain("keys/.env");
    expect(project.read("a.txt")).toBe("a");
  });
});

test.each(["rm .env; echo A > a.txt; exit 3", "rm .env; exit 3"])(
  "an undo after the redo of a rollback brings the kept file back: %s",
  async (script) => {
    const { project, workspace, sh, isThere } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    await sh(script, { rollbackOnFailure: true });
    for (const _round of [1, 2]) {
      await workspace.redo();
      expect(isThere(".env")).toBe(false);
      await workspace.undo();
      expect([isThere(".env"), isThere("new.txt")]).toEqual([true, true]);
    }
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
  },
);

describe("a run in a transaction", () => {
  test("has its kept files put back by the rollback, and the next undo is of the work before", async () => {
    const { project, workspace, sh, isThere } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    const { id } = await workspace.beginTransaction();
    await sh("rm .env; echo B > b.txt");
    expect(isThere(".env")).toBe(false);
    const { undo } = await workspace.rollbackTransaction(id);
    expect(undo.notes.join()).toContain("were put back: .env");
    expect([project.read(".env"), project.read("b.txt")]).toEqual(["KEY=1", "b"]);
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
  });

  test("has its kept files put back by the undo of the committed transaction, and removed by the redo", async () => {
    const { project, workspace, sh, isThere } = await begun();
    await using _ = project;
    const { id } = await workspace.beginTransaction();
    await sh("rm .env; echo B > b.txt");
    await workspace.commitTransaction(id);
    expect((await workspace.undo()).operation).toMatchObject({ id });
    expect(project.read(".env")).toBe("KEY=1");
    await workspace.redo();
    expect(isThere(".env")).toBe(false);
  });

  test("makes the transaction an operation even if it changed only files kept aside", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    const { id } = await workspace.beginTransaction();
    await sh("rm .env");
    await workspace.commitTransaction(id);
    expect((await workspace.undo()).operation).toMatchObject({ id });
    expect(project.read(".env")).toBe("KEY=1");
  });

  test("is undone with a note on what cannot be brought back", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    const { id } = await workspace.beginTransaction();
    await sh("rm -rf $(echo .git); echo B > b.txt");
    await workspace.commitTransaction(id);
    expect((await workspace.undo({ dryRun: true })).notes.join()).toContain("cannot be brought back: .git");
  });
});

describe("a run that was partly undone", () => {
  test("by one file: the next undo brings the rest and the kept file back, and the one after is of the work before", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    await sh("rm .env; echo A > a.txt; echo B > b.txt");
    await workspace.undo({ file: "a.txt" });
    await workspace.undo();
    expect([project.read(".env"), project.read("b.txt")]).toEqual(["KEY=1", "b"]);
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
  });

  test("by all its files: the next undo brings the kept file back, and the one after is of the work before", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    await sh("rm .env; echo A > a.txt");
    await workspace.undo({ file: "a.txt" });
    await workspace.undo();
    expect(project.read(".env")).toBe("KEY=1");
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
  });

  test("since before it: the kept file comes back, too", async () => {
    const { project, workspace, sh } = await begun();
    await using _ = project;
    await sh("echo two > new.txt");
    const { session } = await sh("rm .env; echo A > a.txt");
    await workspace.undo({ since: `seq:${session.from_seq}` });
    expect([project.read(".env"), project.read("a.txt")]).toEqual(["KEY=1", "a"]);
    expect((await workspace.undo()).changes).toMatchObject([{ path: "new.txt" }]);
  });
});

describe("work beside other work", () => {
  const begin = async ({ workspace }: Pick<Awaited<ReturnType<typeof begun>>, "workspace">, command: string) => {
    const session = crypto.randomUUID();
    const { id = "" } = (await workspace.snapshotAction({ type: "run_command", payload: { command }, session })) ?? {};
    return { id, end: async () => (await workspace.finishAction(id)).action.omitted_changes };
  };
  const SWEEP = "git clean -fdx";

  test("a run that is rolled back leaves a file that another command may have changed, and names it", async () => {
    const all = await begun();
    const { project, workspace, sh } = all;
    await using _ = project;
    const call = await begin(all, "make");
    const failed = await sh("echo mine > .env; exit 3", { rollbackOnFailure: true });
    expect(project.read(".env")).toBe("mine\n");
    expect(failed).toMatchObject({ rolled_back: false, undo_id: null, not_rolled_back: { paths: [".env"] } });
    expect(failed.skipped).toMatchObject([{ path: ".env", reason: "ambiguous" }]);
    expect(failed.session.omitted_changes).toMatchObject([{ path: ".env", kept: true, ambiguous: true }]);
    await call.end();
    const since = /undo --since (seq:\d+)/.exec(failed.skipped[0]?.detail ?? "")?.[1] ?? "";
    await workspace.undo({ since });
    expect(project.read(".env")).toBe("KEY=1");
    await workspace.redo();
    expect(project.read(".env")).toBe("mine\n");
  });

  test("of two commands that sweep, the undo of either leaves the changed file, and neither is an operation", async () => {
    const all = await begun();
    const { project, workspace } = all;
    await using _ = project;
    const [one, two] = [await begin(all, SWEEP), await begin(all, SWEEP)];
    project.write(".env", "KEY=2");
    const told = { path: ".env", kept: true, ambiguous: true };
    expect([await one.end(), await two.end()]).toMatchObject([[told], [told]]);
    for (const { id } of [one, two])
      expect((await workspace.undo({ action: id })).skipped).toMatchObject([{ path: ".env", reason: "ambiguous" }]);
    expect(project.read(".env")).toBe("KEY=2");
    await workspace.undo({ since: "0" });
    expect(project.read(".env")).toBe("KEY=1");
    expect((await workspace.operations()).filter((each) => each.kind === "action")).toEqual([]);
  });

  test("a change before the second command began belongs to the first, and its undo is ambiguous for the second", async () => {
    const all = await begun();
    const { project, workspace } = all;
    await using _ = project;
    const one = await begin(all, SWEEP);
    project.write(".env", "KEY=2");
    const two = await begin(all, SWEEP);
    expect((await one.end())?.[0]?.ambiguous).toBeUndefined();
    await workspace.undo({ action: one.id });
    expect(project.read(".env")).toBe("KEY=1");
    expect(await two.end()).toMatchObject([{ path: ".env", ambiguous: true }]);
    expect((await workspace.undo({ action: two.id })).skipped).toMatchObject([{ path: ".env" }]);
    expect(project.read(".env")).toBe("KEY=1");
  });

  test("a change back to the state at the beginning of an earlier command is ambiguous for the later one", async () => {
    const all = await begun();
    const { project, workspace } = all;
    await using _ = project;
    const one = await begin(all, SWEEP);
    project.write(".env", "KEY=2");
    const two = await begin(all, SWEEP);
    project.write(".env", "KEY=1");
    expect(await one.end()).toBeUndefined();
    expect(await two.end()).toMatchObject([{ path: ".env", kept: true, ambiguous: true }]);
    expect((await workspace.undo({ action: two.id })).skipped).toMatchObject([{ path: ".env", reason: "ambiguous" }]);
    expect(project.read(".env")).toBe("KEY=1");
  });

  test("a change after the end of an earlier command that left the file alone belongs to the later one", async () => {
    const all = await begun();
    const { project, workspace } = all;
    await using _ = project;
    const one = await begin(all, SWEEP);
    const two = await begin(all, SWEEP);
    expect(await one.end()).toBeUndefined();
    project.write(".env", "KEY=2");
    expect((await two.end())?.[0]?.ambiguous).toBeUndefined();
    await workspace.undo({ action: two.id });
    expect(project.read(".env")).toBe("KEY=1");
  });

  test("a change after the other command had ended belongs to the last one", async () => {
    const all = await begun();
    const { project, workspace } = all;
    await using _ = project;
    const [one, two] = [await begin(all, SWEEP), await begin(all, SWEEP)];
    await two.end();
    project.write(".env", "KEY=2");
    await one.end();
    await workspace.undo({ action: one.id });
    expect(project.read(".env")).toBe("KEY=1");
  });

  test("a path that an action has declared belongs to that action", async () => {
    const all = await begun();
    const { project, workspace } = all;
    await using _ = project;
    const call = await begin(all, "make");
    const { id = "" } = (await workspace.snapshotAction({ type: "write_file", payload: { path: ".env" } })) ?? {};
    project.write(".env", "KEY=2");
    const { action } = await workspace.finishAction(id);
    expect(action.omitted_changes?.[0]?.ambiguous).toBeUndefined();
    await call.end();
    await workspace.undo({ action: id });
    expect(project.read(".env")).toBe("KEY=1");
  });
});

test("a redo removes only what its undo had put back", async () => {
  const { project, workspace, isThere } = await begun();
  await using _ = project;
  project.write("a.txt", "1\n2\n3\n");
  await workspace.snapshot();
  const call = async (command: string, work: () => void): Promise<string> => {
    const request = { type: "run_command", payload: { command }, session: "s", turn: "t" };
    const { id = "" } = (await workspace.snapshotAction(request)) ?? {};
    work();
    await workspace.finishAction(id);
    return id;
  };
  const first = await call("rm .env", () => {
    rmSync(join(project.folder, ".env"));
    project.write("a.txt", "one\n2\n3\n");
  });
  await call("rm a.txt", () => rmSync(join(project.folder, "a.txt")));
  expect((await workspace.undo({ action: first })).unmerged).toMatchObject([{ path: "a.txt" }]);
  await workspace.undo({ turn: "last" });
  await workspace.redo();
  expect([project.read(".env"), isThere("a.txt")]).toEqual(["KEY=1", false]);
  await workspace.undo();
  expect([project.read(".env"), isThere("a.txt")]).toEqual(["KEY=1", true]);
});

test("a file with bits that are never set comes back without them, and the redo removes it again", async () => {
  const { project, workspace, sh, isThere } = await begun();
  await using _ = project;
  chmodSync(join(project.folder, ".env"), 0o4755);
  await sh("rm .env");
  for (const _round of [1, 2]) {
    await workspace.undo();
    expect(statSync(join(project.folder, ".env")).mode & 0o7777).toBe(0o755);
    expect((await workspace.redo()).skipped).toEqual([]);
    expect(isThere(".env")).toBe(false);
  }
});

test("a kept file that was freed after keepAside was switched off is skipped with that reason", async () => {
  const { project, workspace, sh } = await begun();
  await using _ = project;
  await sh("rm .env");
  await workspace.configure({ keepAside: false });
  await workspace.gc();
  const { skipped } = await workspace.undo();
  expect(skipped).toMatchObject([{ path: ".env", reason: "content-missing" }]);
  expect(skipped[0]?.detail).toBe("it was kept aside, and was freed after `keepAside` was switched off");
});

test("a kept file that was freed is no damage after keepAside is on again, also not after a compaction", async () => {
  const { project, workspace, sh } = await begun();
  await using _ = project;
  await sh("rm .env");
  await workspace.configure({ keepAside: false });
  await workspace.gc();
  await workspace.configure({ keepAside: true });
  expect((await workspace.verify()).problems).toEqual([]);
  const file = join(project.base, "history.chronicle");
  await exportArchive(await project.store(), workspace.id, { file, withPrivate: true });
  await workspace.compact({ dropArchive: true });
  expect((await workspace.verify()).problems).toEqual([]);
});

test("a kept file that was freed or erased is reported as not kept, and as lost unless it was put back", async () => {
  const { project, workspace, sh } = await begun();
  await using _ = project;
  const back = (await sh("rm .env")).session.session_id;
  await workspace.undo();
  const gone = (await sh("rm .env")).session.session_id;
  const changeOf = async (id: string) => (await workspace.session(id)).omitted_changes;
  expect(await changeOf(back)).toMatchObject([{ path: ".env", kept: true, lost: false }]);
  const erased = await workspace.erase({ what: ".env" });
  expect(await changeOf(gone)).toMatchObject([{ path: ".env", kept: false, lost: true }]);
  await workspace.unerase(erased.id ?? "");
  expect(await changeOf(gone)).toMatchObject([{ path: ".env", kept: true, lost: false }]);
  await workspace.configure({ keepAside: false });
  await workspace.gc();
  expect(await changeOf(back)).toMatchObject([{ path: ".env", kept: false, lost: false }]);
  expect(await changeOf(gone)).toMatchObject([{ path: ".env", kept: false, lost: true }]);
  expect((await workspace.sessions()).at(-1)?.omitted_changes).toMatchObject([{ kept: false, lost: true }]);
});

test("a kept file of an action that was freed is reported as not kept and lost", async () => {
  const { project, workspace } = await begun();
  await using _ = project;
  const request = { type: "run_command", payload: { command: "rm .env" }, session: "s" };
  let id = "";
  await workspace.action(request, (action) => {
    id = action?.id ?? "";
    rmSync(join(project.folder, ".env"));
  });
  expect((await workspace.showAction(id)).omitted_changes).toMatchObject([{ path: ".env", kept: true, lost: false }]);
  await workspace.configure({ keepAside: false });
  await workspace.gc();
  expect((await workspace.showAction(id)).omitted_changes).toMatchObject([{ path: ".env", kept: false, lost: true }]);
});

describe("a kept file that was freed", () => {
  type Begun = Awaited<ReturnType<typeof begun>>;
  const removed = async ({ sh }: Begun): Promise<string> => (await sh("rm .env")).session.session_id;
  const inTransaction = async (all: Begun): Promise<{ readonly transaction: string; readonly run: string }> => {
    const { id } = await all.workspace.beginTransaction();
    const run = await removed(all);
    return { transaction: id, run };
  };
  const sinceUndone = async (all: Begun): Promise<string> => {
    const id = await removed(all);
    await all.workspace.undo({ since: `seq:${(await all.workspace.session(id)).from_seq}` });
    return id;
  };
  const undoneWith = async (all: Begun): Promise<string> => {
    const { transaction, run } = await inTransaction(all);
    await all.workspace.commitTransaction(transaction);
    await all.workspace.undo();
    return run;
  };
  const redone = async ({ workspace }: Begun, id: string): Promise<string> => {
    await workspace.redo();
    return id;
  };

  test.each<readonly [string, boolean, (all: Begun) => Promise<string>]>([
    ["was undone with all since then", false, sinceUndone],
    ["was undone with all since then, and redone", true, async (all) => redone(all, await sinceUndone(all))],
    ["was undone with its transaction", false, undoneWith],
    ["was undone with its transaction, and redone", true, async (all) => redone(all, await undoneWith(all))],
    [
      "was rolled back with its transaction",
      false,
      async (all) => {
        const { transaction, run } = await inTransaction(all);
        await all.workspace.rollbackTransaction(transaction);
        return run;
      },
    ],
    [
      "was rolled back because it failed",
      false,
      async ({ sh }) => (await sh("rm .env; exit 3", { rollbackOnFailure: true })).session.session_id,
    ],
  ])("after work that %s is lost: %s", async (_how, lost, work) => {
    const all = await begun();
    await using _ = all.project;
    const id = await work(all);
    expect(all.isThere(".env")).toBe(!lost);
    await all.workspace.configure({ keepAside: false });
    await all.workspace.gc();
    const { omitted_changes: changes } = await all.workspace.session(id);
    expect(changes).toMatchObject([{ path: ".env", kept: false, lost }]);
  });

  test.each([
    ["is not lost if its action was rolled back", false, false],
    ["is lost if the rollback was undone", true, false],
    ["is not lost if the rollback was undone after the file had been freed", false, true],
  ])("%s", async (_how, lost, isFreedFirst) => {
    const { project, workspace, isThere } = await begun();
    await using _ = project;
    const request = { type: "run_command", payload: { command: "rm .env" }, session: "s" };
    let id = "";
    await workspace.action(request, (action) => {
      id = action?.id ?? "";
      rmSync(join(project.folder, ".env"));
    });
    const free = async (): Promise<void> => {
      await workspace.configure({ keepAside: false });
      await workspace.gc();
    };
    await workspace.rollback(id);
    expect(project.read(".env")).toBe("KEY=1");
    if (isFreedFirst) await free();
    if (lost || isFreedFirst) await workspace.undo();
    await free();
    expect(isThere(".env")).toBe(!lost);
    expect((await workspace.showAction(id)).omitted_changes).toMatchObject([{ path: ".env", kept: false, lost }]);
  });
});
