import { expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

/**
 * The beginning of an id, as lists show it, may look like a number or a duration. Such a beginning still names the
 * work.
 */

test.each([
  ["eight digits", "40217365"],
  ["seven digits and a d", "4021736d"],
])("the beginning of an id names the work even if it is %s", async (_what, shown) => {
  await using project = new Project();
  project.write("a", "first");
  const workspace = await project.init();
  project.write("a", "before");
  await workspace.snapshot({ name: "before" });
  await workspace.action({ type: "write_file", payload: { path: "a" }, session: `${shown}-1f2e-4a` }, () =>
    project.write("a", "after"),
  );
  const { changes, from } = await workspace.diff(shown, "before");
  expect([changes, from]).toEqual([[], `before ${shown}`]);
  await workspace.restore(shown);
  expect(project.read("a")).toBe("before");
});

test("the number of a snapshot names the snapshot, even if an id begins with it", async () => {
  await using project = new Project();
  project.write("a", "first");
  const workspace = await project.init();
  await workspace.action({ type: "write_file", payload: { path: "a" }, session: "0-1f2e" }, () =>
    project.write("a", "x"),
  );
  expect((await workspace.diff("0", "now")).from).toBe("snapshot 0");
});

test("a number that is no snapshot's is not the beginning of an id, and is refused by diff, restore and pin", async () => {
  await using project = new Project();
  project.write("a", "first");
  const workspace = await project.init();
  for (const session of ["5f2e1c00", "71aa", "72bb"]) {
    const request = { type: "write_file", payload: { path: "a" }, session, toolCall: `call-${session}` };
    await workspace.action(request, () => project.write("a", session));
  }
  const ids = [...(await workspace.list()), ...(await workspace.snapshots())].map(({ id }) => id);
  const digits = [...ids, "5", "71", "7"].map((id) => /^\d{1,7}/.exec(id)?.[0] ?? "");
  for (const number of new Set(digits.filter((one) => Number(one) > 0))) {
    await expect(workspace.diff(number, "now"), number).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.restore(number), number).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.diff(`${number}~1`, "now"), number).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(workspace.pin(number), number).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
  expect(project.read("a")).toBe("72bb");
});
