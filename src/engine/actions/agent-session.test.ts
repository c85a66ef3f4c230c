import { expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

it("an agent's session counts its changes, also those that were undone before it ended", async () => {
  await using project = new Project();
  project.write("a.txt", "one");
  const workspace = await project.init();
  const edit = { session: "s1", type: "write_file", payload: { path: "a.txt" } };
  const action = await workspace.action(edit, (made) => {
    project.write("a.txt", "two");
    return made;
  });
  await workspace.undo({ action: action?.id ?? "" });
  expect(project.read("a.txt")).toBe("one");
  expect(await workspace.endSession("s1")).toMatchObject({ state: "ended", changed: 1 });
});
