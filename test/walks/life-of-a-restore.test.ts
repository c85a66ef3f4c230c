import { chmodSync, mkdirSync, statSync, unlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("life of a restore", async () => {
  await using project = new Project();
  project.write("keep.txt", "same\n");
  project.write("edit.txt", "before\n");
  project.write("gone/deep/file.txt", "deleted later\n");
  project.write("tool.sh", "#!/bin/sh\n", 0o755);
  project.write(".gitignore", "*.log\n");
  project.write("debug.log", "ignored\n");
  project.link("link", "edit.txt");
  mkdirSync(project.at("empty"));
  const workspace = await project.init();
  const original = project.tree();
  const untouched = statSync(project.at("keep.txt"), { bigint: true });

  project.write("edit.txt", "after\n");
  project.remove("gone");
  project.write("added/x.txt", "new\n");
  chmodSync(project.at("tool.sh"), 0o644);
  unlinkSync(project.at("link"));
  project.link("link", "keep.txt");
  project.remove("empty");
  project.write("empty", "a file where a folder was\n");
  const edited = project.tree();

  const preview = await workspace.restore("baseline", { dryRun: true });
  expect(preview).toMatchObject({ dry_run: true, undo_id: null });
  expect(project.tree()).toEqual(edited);

  const restored = await workspace.restore("baseline");
  expect(restored.changes.map((change) => change.path)).toEqual(preview.changes.map((change) => change.path));
  expect(restored.skipped).toEqual([]);
  expect(project.tree()).toEqual(original);
  const now = statSync(project.at("keep.txt"), { bigint: true });
  expect([now.ino, now.mtimeNs]).toEqual([untouched.ino, untouched.mtimeNs]);
  expect((await workspace.status()).changes).toEqual([]);

  await workspace.undo();
  expect(project.tree()).toEqual(edited);
  await workspace.redo();
  expect(project.tree()).toEqual(original);
  await workspace.undo();
  expect(project.tree()).toEqual(edited);
  await expect(workspace.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });

  const elsewhere = `${project.base}/elsewhere`;
  await workspace.restore("baseline", { to: elsewhere });
  const { "debug.log": _ignored, ...tracked } = original;
  expect(project.tree(elsewhere)).toEqual(tracked);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [] });
});
