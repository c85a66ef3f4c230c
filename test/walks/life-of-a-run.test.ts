import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";
import { untilRecorded } from "../helpers/until-recorded.ts";

it("life of a run", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  project.write("b/c.txt", "two\n");
  const workspace = await project.init();
  const original = project.tree();

  const recorded = untilRecorded(project.home, "a.txt");
  const script = `echo 1 > a.txt; ${recorded}; echo 2 > a.txt; rm -rf b; chmod 600 a.txt; mkdir d; ln -s a.txt d/l; exit 3`;
  const run = await workspace.run({ command: ["sh", "-c", script], networkEvents: [{ host: "example.org" }] });
  expect(run).toMatchObject({ exit_code: 3, rolled_back: false, coverage: { complete: true } });
  expect(run.changes.map((change) => `${change.change_type} ${change.path}`)).toEqual([
    "modified a.txt",
    "deleted b",
    "deleted b/c.txt",
    "created d",
    "created d/l",
  ]);
  const after = project.tree();
  const session = await workspace.session(run.session.session_id.slice(0, 8));
  expect(session).toMatchObject({
    command: ["sh", "-c", script],
    exit_code: 3,
    state: "ended",
    changed: 5,
    network_events: [{ host: "example.org" }],
  });
  expect(session.merkle_roots.length).toBeGreaterThan(1);
  expect((await workspace.history("a.txt")).filter((one) => one.session === session.session_id).length).toBeGreaterThan(
    1,
  );

  const undone = await workspace.undo();
  expect(undone.operation).toMatchObject({ kind: "run", id: session.session_id });
  expect(project.tree()).toEqual(original);
  await workspace.redo();
  expect(project.tree()).toEqual(after);

  const failed = await workspace.run({ command: ["sh", "-c", "echo 9 > a.txt; false"], rollbackOnFailure: true });
  expect(failed).toMatchObject({ exit_code: 1, rolled_back: true, undo_id: null });
  expect(project.tree()).toEqual(after);

  await expect(workspace.run({ command: ["/no/such/program"] })).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});
