import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** In a followed folder, captures of everything read only the paths that may have changed, and find all changes. */
describe("the life of a followed folder", () => {
  async function seen(workspace: WorkspaceApi): Promise<string[]> {
    return (await workspace.status()).changes.map((change) => `${change.change_type} ${change.path}`);
  }

  test("each kind of change is found, and is found again until it is recorded", async () => {
    await using project = new Project();
    project.write("src/a.txt", "one");
    project.write("src/deep/b.txt", "two");
    const workspace = await project.init();
    await workspace.follow();
    await workspace.snapshot();
    for (let round = 0; round < 10; round += 1) {
      writeFileSync(project.at("src/a.txt"), `round ${round}`);
      mkdirSync(project.at(`new-${round}/x/y`), { recursive: true });
      writeFileSync(project.at(`new-${round}/x/y/z.txt`), "z");
      const found = await seen(workspace);
      expect(found).toEqual(expect.arrayContaining(["modified src/a.txt", `created new-${round}/x/y/z.txt`]));
      expect(await seen(workspace)).toEqual(found);
      expect((await workspace.snapshot()).changed).toBe(5);
      expect(await seen(workspace)).toEqual([]);
    }
    renameSync(project.at("src/deep"), project.at("moved"));
    rmSync(project.at("src/a.txt"));
    symlinkSync("moved/b.txt", project.at("link"));
    const found = await seen(workspace);
    expect(found.sort()).toEqual(
      [
        "created link",
        "created moved",
        "created moved/b.txt",
        "deleted src/a.txt",
        "deleted src/deep",
        "deleted src/deep/b.txt",
      ].sort(),
    );
    await workspace.snapshot();
    const paranoid = await workspace.snapshot({ paranoid: true });
    expect(paranoid.changed).toBe(0);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  test("omitted paths stay in the coverage of a capture that did not meet them", async () => {
    await using project = new Project();
    project.write(".gitignore", "out/\n");
    project.write("out/built.txt", "x");
    project.write("a.txt", "1");
    const workspace = await project.init();
    await workspace.follow();
    const whole = await workspace.snapshot();
    project.write("a.txt", "2");
    const part = await workspace.snapshot();
    expect(part.coverage).toEqual(whole.coverage);
    expect(part.coverage.omitted.map((one) => one.path)).toContain("out");
    project.write(".gitignore", "");
    const found = (await workspace.status()).changes.map((change) => change.path);
    expect(found).toEqual(expect.arrayContaining(["out", "out/built.txt"]));
    await workspace.snapshot();
    project.write("out/built.txt", "y");
    expect(await seen(workspace)).toEqual(["modified out/built.txt"]);
  });

  test("a folder that is no longer left out is followed, too, by watch and by follow with record", async () => {
    await using project = new Project();
    project.write(".gitignore", "out/\n");
    project.write("out/built.txt", "0");
    project.write("kept/built.txt", "0");
    const workspace = await project.init({ excludePatterns: ["kept"] });
    const other = await project.open();
    const recorded = async (path: string, iterations: number): Promise<void> => {
      const found = async (): Promise<number> => (await other.history(path).catch(() => [])).length;
      await expect.poll(found, { timeout: 5_000 }).toBe(iterations);
    };
    const watch = await workspace.watch();
    project.write(".gitignore", "");
    await recorded("out/built.txt", 1);
    // A capture of everything that has begun already must not be the one that finds the edits.
    await sleep(500);
    for (const round of [1, 2, 3]) {
      project.write("out/built.txt", "x".repeat(round));
      await recorded("out/built.txt", round + 1);
    }
    await watch.stop();
    await workspace.follow({ record: true });
    await other.configure({ excludePatterns: [] });
    project.write("any", "x");
    await recorded("kept/built.txt", 1);
    await sleep(500);
    for (const round of [1, 2, 3]) {
      project.write("kept/built.txt", "x".repeat(round + 1));
      await recorded("kept/built.txt", round + 1);
    }
  });
});
