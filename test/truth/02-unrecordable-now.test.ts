import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

/** A path whose present content cannot be recorded: nobody may say that it is in an earlier state already. */

const LIMIT = 1024;

async function tooLarge(project: Project) {
  project.write("s", "small\n");
  project.write("other", "0\n");
  const workspace = await project.init({ maxFileSize: LIMIT });
  project.write("s", "x".repeat(2 * LIMIT));
  return workspace;
}

describe("Truth 2: what could not be recorded as it is now is left, and named", () => {
  it.each([true, false])("by a restore of everything (dry run: %s)", async (dryRun) => {
    await using project = new Project();
    const workspace = await tooLarge(project);
    project.write("other", "1\n");
    const done = await workspace.restore("0", { dryRun });
    expect(done.changes.map(({ path }) => path)).toEqual(["other"]);
    expect(done.skipped).toMatchObject([{ path: "s", reason: "unseen", detail: expect.stringContaining("too large") }]);
    expect(project.read("s")).toHaveLength(2 * LIMIT);
  });

  it("by a restore of the path alone, also where the record differs from that moment", async () => {
    await using project = new Project();
    project.write("s", "small\n");
    const workspace = await project.init({ maxFileSize: LIMIT });
    project.write("s", "other\n");
    await workspace.snapshot();
    project.write("s", "x".repeat(2 * LIMIT));
    const done = await workspace.restore("0", { paths: ["s"] });
    expect(done.changes).toEqual([]);
    expect(done.skipped).toMatchObject([{ path: "s", reason: "unseen" }]);
    expect(project.read("s")).toHaveLength(2 * LIMIT);
  });

  it("and nothing is named that was not there then, or that is not asked for", async () => {
    await using project = new Project();
    const workspace = await tooLarge(project);
    project.write("late", "x".repeat(2 * LIMIT));
    expect((await workspace.restore("0", { paths: ["other"] })).skipped).toEqual([]);
    expect((await workspace.restore("0")).skipped.map(({ path }) => path)).toEqual(["s"]);
  });
});
