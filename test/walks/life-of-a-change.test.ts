import { chmodSync, mkdirSync } from "node:fs";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("life of a change", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  project.write("b.txt", "two\n");
  project.write("c.sh", "echo\n");
  const workspace = await project.init();
  const before = (await workspace.snapshots())[0];

  project.write("a.txt", "ONE\n");
  project.remove("b.txt");
  project.write("new/d.txt", "new\n");
  mkdirSync(project.at("empty"));
  chmodSync(project.at("c.sh"), 0o755);
  const pending = await workspace.status();
  expect(pending.changes.map((change) => `${change.change_type} ${change.path}`)).toEqual([
    "modified a.txt",
    "deleted b.txt",
    "permissions_changed c.sh",
    "created empty",
    "created new",
    "created new/d.txt",
  ]);

  const after = await workspace.snapshot({ message: "after", name: "edited" });
  expect(after).toMatchObject({ number: 1, parent: 0, name: "edited", message: "after", changed: 6 });
  expect(after.root).not.toBe(before?.root);
  expect((await workspace.manifest("edited")).root).toBe(after.root);
  expect((await workspace.status()).changes).toEqual([]);

  expect(await workspace.history("a.txt")).toMatchObject([{ iteration: 1 }, { iteration: 2, cause: "capture" }]);
  expect(await workspace.history("b.txt")).toMatchObject([{ iteration: 1 }, { iteration: 2, deleted: true }]);
  project.write("b.txt", "back\n");
  await workspace.snapshot();
  expect((await workspace.history("b.txt")).map((one) => one.iteration)).toEqual([1, 2, 3]);

  const chunks: Uint8Array[] = [];
  for await (const piece of (await workspace.cat("a.txt", 1)).pieces()) chunks.push(piece);
  expect(Buffer.concat(chunks).toString()).toBe("one\n");

  const diff = await workspace.diff("baseline", "edited", { patch: true });
  expect(diff.changes[0]?.patch).toContain("-one\n+ONE\n");
  expect(await workspace.find("d.txt")).toEqual(["new/d.txt"]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});
