import { expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import { sha256 } from "../../core/values/hash.ts";

test.each([
  ["is over", false],
  ["is still running", true],
])("the diff of an action shows nothing of work off the record that %s", async (_how, isIn) => {
  await using project = new Project();
  project.write("a.txt", "1\n");
  await using workspace = await project.init();
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" } });
  project.write("a.txt", "2\n");
  const made = await workspace.snapshotAction({ type: "write_file", payload: { path: "made.txt" } });
  await workspace.finishAction(action?.id ?? "");
  await workspace.finishAction(made?.id ?? "");
  const diffs = async () => [await workspace.diffAction(action?.id ?? ""), await workspace.diffAction(made?.id ?? "")];
  let told = await diffs();
  await workspace.offRecord(async () => {
    for (const path of ["a.txt", "made.txt"]) project.write(path, "secret\n");
    if (isIn) told = await diffs();
  });
  if (!isIn) told = await diffs();
  expect(told[0]?.changes).toMatchObject([{ path: "a.txt", after_hash: sha256("2\n") }]);
  expect(told[1]?.changes).toEqual([]);
  expect(JSON.stringify(told)).not.toContain(sha256("secret\n"));
});
