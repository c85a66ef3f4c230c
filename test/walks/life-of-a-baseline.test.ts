import { mkdirSync, statSync } from "node:fs";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("life of a baseline", async () => {
  await using project = new Project();
  project.write("readme.md", "hello\n");
  project.write("src/main.ts", "export {};\n", 0o755);
  project.write("build/out.js", "ignored");
  project.write(".gitignore", "build/\n");
  project.write(".git/HEAD", "ref: refs/heads/main\n");
  project.link("current", "src/main.ts");
  mkdirSync(project.at("empty"));
  const workspace = await project.init();

  const [baseline] = await workspace.snapshots();
  expect(baseline).toMatchObject({ number: 0, cause: "baseline", parent: null, coverage: { complete: true } });
  const omitted = baseline?.coverage.omitted.map((one) => `${one.path} ${one.reason}`);
  expect(omitted?.sort()).toEqual([".git excluded", "build excluded"]);

  const manifest = await workspace.manifest("baseline");
  expect(Object.keys(manifest.files)).toEqual([".gitignore", "current", "empty", "readme.md", "src", "src/main.ts"]);
  expect(manifest.files["src/main.ts"]).toMatchObject({ kind: "file", size: 11, permissions: 0o755 });
  expect(manifest.files["current"]).toMatchObject({ kind: "symlink", size: 11 });
  expect(manifest.root).toBe(baseline?.root);

  const log = await workspace.log();
  expect(log.map((event) => event.record_id.split(":")[0])).toEqual(["workspace", "signer", "snapshot"]);
  expect(await workspace.history("readme.md")).toMatchObject([{ iteration: 1, size: 6, cause: "baseline" }]);
  expect((await workspace.status()).changes).toEqual([]);
  expect(await workspace.verify()).toMatchObject({ ok: true, problems: [], events: 3 });
  expect(statSync(project.home).mode & 0o777).toBe(0o700);
});
