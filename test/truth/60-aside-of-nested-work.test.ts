import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ClockedProject } from "../helpers/clocked-project.ts";

/**
 * Files that were kept aside only for a run within an action come back when the action, or the transaction around it, is
 * undone.
 */

async function nested(inTransaction: boolean) {
  const project = new ClockedProject();
  project.write(".gitignore", ".env\n*.log\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  project.write(".env", "KEY=1");
  project.write("app.log", "one");
  project.write("a.txt", "a");
  const workspace = await project.init();
  const { id: transaction } = inTransaction ? await workspace.beginTransaction() : { id: "" };
  let action = "";
  await workspace.action({ type: "run_command", payload: { command: "rm -f *.log" } }, async (begun) => {
    action = begun?.id ?? "";
    rmSync(join(project.folder, "app.log"));
    await workspace.run({ command: ["sh", "-c", "rm .env; echo 2 > b.txt; echo made > new.log"] });
    await workspace.run({ command: ["sh", "-c", "rm new.log"] });
  });
  if (inTransaction) await workspace.commitTransaction(transaction);
  const isThere = (path: string): boolean => existsSync(join(project.folder, path));
  return { project, workspace, transaction, action, isThere };
}

test.each([true, false])(
  "an undo brings back what the nested run kept aside, and a redo removes it again (in a transaction: %s)",
  async (inTransaction) => {
    const { project, workspace, transaction, action, isThere } = await nested(inTransaction);
    await using _ = project;
    const id = inTransaction ? transaction : action;
    const { operation, skipped, notes } = await workspace.undo();
    expect([operation?.id, skipped]).toEqual([id, []]);
    expect([project.read(".env"), project.read("app.log"), isThere("b.txt")]).toEqual(["KEY=1", "one", false]);
    // `new.log` was made and removed within the action, so the undo does not bring it back.
    expect(isThere("new.log")).toBe(false);
    expect(notes.join()).not.toContain("cannot be brought back");
    await workspace.redo();
    expect([isThere(".env"), isThere("app.log"), isThere("b.txt")]).toEqual([false, false, true]);
  },
);

test("an undo of the action by its id brings the same files back", async () => {
  const { project, workspace, action } = await nested(true);
  await using _ = project;
  const { notes } = await workspace.undo({ action });
  expect([project.read(".env"), project.read("app.log")]).toEqual(["KEY=1", "one"]);
  expect(notes.join()).not.toContain("cannot be brought back");
});
