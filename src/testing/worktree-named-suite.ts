import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pathFromBytes, type WorkspacePath } from "../core/values/path.ts";
import type { WorktreeEditor, WorktreeHarness } from "./worktree-harness.ts";
import { Recorder } from "./worktree-recorder.ts";

function asPath(text: string): WorkspacePath {
  return pathFromBytes(Buffer.from(text));
}

/** A part of the contract of `Worktree`: scans of paths that the caller names. */
export function worktreeNamedSuite(name: string, make: () => WorktreeHarness): void {
  describe(`${name}: named paths`, () => {
    let harness: WorktreeHarness;
    let edit: WorktreeEditor;
    let recorder: Recorder;

    beforeEach(() => {
      harness = make();
      edit = harness.edit;
      recorder = new Recorder(harness);
    });
    afterEach(() => harness.dispose());

    test("a named path is captured whatever the rules say, with everything beneath it and nothing beside it", async () => {
      edit.write(".gitignore", "*.env\nout/\n");
      edit.write("a.env", "secret");
      edit.makeFolder("out");
      edit.makeFolder("out/deep");
      edit.write("out/deep/x", "x");
      edit.write("out/deep/y", "y");
      edit.write("out/beside", "b");
      expect((await recorder.capture()).changed).toEqual([".gitignore"]);
      const file = await recorder.capture({ only: [asPath("a.env"), asPath("out/deep/x")], named: true });
      expect([...file.changed].sort()).toEqual(["a.env", "out", "out/deep", "out/deep/x"]);
      expect(file.omitted).toEqual([]);
      harness.later();
      const after = await recorder.capture();
      expect(after.changed.filter((path) => /beside|y$/.test(path))).toEqual([]);
      const folder = await recorder.capture({ only: [asPath("out")], named: true });
      expect([...folder.changed].sort()).toEqual(expect.arrayContaining(["out/beside", "out/deep/y"]));
      harness.later();
      await recorder.capture();
      expect((await recorder.capture()).changed).toEqual([]);
      edit.remove("out");
      edit.remove("a.env");
      const gone = await recorder.capture({ only: [asPath("out"), asPath("a.env")], named: true });
      expect([...gone.gone].sort()).toEqual(["a.env", "out", "out/beside", "out/deep", "out/deep/x", "out/deep/y"]);
    });

    test("a path that is named alone is captured, and beneath it only what the rules allow", async () => {
      edit.write(".gitignore", "out/\n*.env\n");
      for (const folder of ["out", "out/deep", "open"]) edit.makeFolder(folder);
      for (const file of ["out/x", "out/deep/y", "open/z", "open/a.env"]) edit.write(file, file);
      const only = ["out", "open"].map(asPath);
      const { changed } = await recorder.capture({ only, named: true, alone: true });
      expect(changed.toSorted()).toEqual(["open", "open/z", "out"]);
      harness.later();
      const after = await recorder.capture();
      expect(after.changed.filter((path) => path.startsWith("out") || path.endsWith(".env"))).toEqual([]);
    });

    test("an exact request captures only the requested paths, as far as the rules allow", async () => {
      for (const folder of ["out", "fresh"]) edit.makeFolder(folder);
      const asked = [".gitignore", "a.env", "out/x", "fresh/asked", "fresh/b.env"];
      for (const name of [...asked, "fresh/beside", "beside"]) edit.write(name, "*.env\nout/\n");
      const { changed, omitted } = await recorder.capture({ only: asked.map(asPath), exact: true });
      expect(changed.toSorted()).toEqual([".gitignore", "fresh", "fresh/asked"]);
      expect(omitted.map(({ path }) => path).toSorted()).toEqual(["a.env", "fresh/b.env", "out"]);
    });

    test("git's own state is not captured, even if it or its folder is named", async () => {
      for (const folder of ["lib", ".git", "lib/.git"]) edit.makeFolder(folder);
      for (const file of [".git/HEAD", "lib/.git/HEAD", "lib/.env"]) edit.write(file, "x");
      const named = async (...only: string[]) => {
        const { changed, omitted } = await recorder.capture({ only: only.map(asPath), named: true });
        return [changed, omitted.map(({ path, detail }) => `${path} ${detail}`)].map((all) => all.toSorted());
      };
      expect(await named(".git")).toEqual([[], [".git git: .git"]]);
      expect(await named(".git/HEAD")).toEqual([[], [".git/HEAD git: .git"]]);
      expect(await named("lib", ".git/none")).toEqual([["lib", "lib/.env"], ["lib/.git git: .git"]]);
    });
  });
}
