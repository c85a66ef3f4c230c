import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { asSomebody } from "../helpers/as-somebody.ts";
import { Project } from "../helpers/project.ts";

/** Makes a change in a folder that cannot be read afterwards, and changes beside it. */
async function lived(project: Project): Promise<void> {
  for (const path of ["d/x", "y", "z"]) project.write(path, "before\n");
  const workspace = await project.init();
  await workspace.action({ type: "run_command", payload: { command: "make" } }, () => {
    for (const path of ["d/x", "y"]) project.write(path, "after\n");
    project.remove("z");
  });
  await workspace.close();
}

const BACK: readonly (readonly [string, (workspace: WorkspaceApi, force: boolean) => Promise<unknown>])[] = [
  ["undo", (workspace, force) => workspace.undo({ force })],
  ["undo of an actor's work", (workspace, force) => workspace.undo({ since: "0", force })],
  ["restore", (workspace, force) => workspace.restore("0", { force })],
];

describe("a changed folder that nobody may read", () => {
  it.each(BACK)("makes %s refuse, and with force is left alone, while everything else comes back", async (_, back) => {
    await using project = new Project();
    await asSomebody(project, async () => {
      await lived(project);
      const folder = join(project.folder, "d");
      chmodSync(folder, 0);
      // A store with `onNote` also looks for open databases.
      const store = await project.store({ onNote: () => undefined });
      const workspace = await store.open({ folder: project.folder });
      try {
        await expect(back(workspace, false)).rejects.toMatchObject({ code: "REFUSED" });
        expect(project.read("y")).toBe("after\n");
        await back(workspace, true);
        expect(project.read("y")).toBe("before\n");
        expect(project.read("z")).toBe("before\n");
      } finally {
        chmodSync(folder, 0o755);
      }
      expect(project.read("d/x")).toBe("after\n");
      await workspace.close();
    });
  });
});
