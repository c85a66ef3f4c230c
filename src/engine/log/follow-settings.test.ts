import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

const recorded = async (workspace: WorkspaceApi): Promise<string[]> =>
  Object.keys((await workspace.manifest("now")).files).sort();

describe("a watch whose settings are changed by another process", () => {
  it("leaves out paths that are excluded now, and watches folders that were excluded before", async () => {
    await using project = new Project();
    project.write("seen", "1");
    project.write("out/deep/old", "old");
    const workspace = await project.init({ excludePatterns: ["out"] });
    const other = await project.open();
    const onSettings = vi.fn<() => void>();
    const watch = await workspace.watch({ onSettings });
    await other.configure({ excludePatterns: ["secret"] });
    project.write("secret", "x");
    project.write("seen", "2");
    const both = ["out", "out/deep", "out/deep/old", "seen"];
    await vi.waitFor(async () => expect(await recorded(other)).toEqual(both), { timeout: 5_000 });
    // The manifest of the present state is read from the disk, so the watch may lag behind the manifest.
    await vi.waitFor(() => expect(onSettings).toHaveBeenCalledTimes(1), { timeout: 5_000 });
    project.write("out/deep/new", "new");
    await vi.waitFor(async () => expect(await recorded(other)).toContain("out/deep/new"), { timeout: 5_000 });
    await watch.stop();
    expect(await recorded(other)).not.toContain("secret");
    expect(onSettings).toHaveBeenCalledTimes(1);
  });

  it("applies limits that are written into config.yaml meanwhile, and reports an invalid limit once", async () => {
    await using project = new Project();
    project.write("a", "1");
    const notes: string[] = [];
    const store = await project.store({ onNote: (note) => void notes.push(note) });
    const { workspace } = await store.init({ roots: [project.folder] });
    const watch = await workspace.watch();
    mkdirSync(project.configFolder, { recursive: true });
    const file = join(project.configFolder, "config.yaml");
    writeFileSync(file, "chronicle:\n  max_snapshots: many\n");
    for (const text of ["2", "3"]) {
      project.write("a", text);
      await vi.waitFor(async () => expect((await workspace.history("a")).at(-1)?.size).toBe(1), { timeout: 5_000 });
      await vi.waitFor(async () => expect(await workspace.history("a")).toHaveLength(Number(text)), { timeout: 5_000 });
    }
    expect(notes).toEqual([expect.stringContaining("max_snapshots")]);
    writeFileSync(file, "chronicle:\n  max_snapshots: 7\n");
    project.write("a", "4");
    await vi.waitFor(async () => expect((await workspace.retention()).max_snapshots).toBe(7), { timeout: 5_000 });
    await watch.stop();
    await workspace.close();
  });
});
