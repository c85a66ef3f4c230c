import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { LateLock } from "../helpers/late-lock.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** If somebody lists the workspaces while the record of one changes, later lists show the changed record. */

/** Returns a store of the project that calls `before` right before it takes each lock. */
async function lateStore(project: ClockedProject, before: () => Promise<unknown>): Promise<StoreApi> {
  const backends = storeBackends(({ lock }) => ({
    lock: (path) =>
      new LateLock(lock(path), async () => {
        await before();
      }),
  }));
  const places = { home: join(project.base, "store"), configFolder: join(project.base, "config"), waitMs: 5_000 };
  return openFileStore(places, { ...backends, now: () => project.now });
}

describe("Truth 10: a list beside a change", { timeout: 600_000 }, () => {
  it("does not hide from later lists that a workspace was archived, or unarchived", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    const { id } = workspace;
    await workspace.close();
    const other = await project.store();
    const store = await lateStore(project, () => other.workspaces());
    await store.archive(id);
    expect(await (await project.store()).workspaces()).toMatchObject([{ id, archived: true }]);
    await store.archive(id, false);
    expect((await (await project.store()).workspaces())[0]).not.toHaveProperty("archived");
    await store.close();
  });

  it("does not hide from later lists that a workspace was adopted by another folder", async () => {
    await using project = new ClockedProject();
    project.write("a", "1");
    const workspace = await project.init();
    const { id } = workspace;
    await workspace.close();
    const copy = join(project.base, "copy");
    cpSync(project.folder, copy, { recursive: true });
    const other = await project.store();
    const store = await lateStore(project, () => other.workspaces());
    const { workspace: adopted } = await store.init({ roots: [copy], adopt: id, force: true });
    await adopted.close();
    const fresh = await project.store();
    expect(await fresh.workspaces()).toMatchObject([{ id, path: copy }]);
    await (await fresh.open({ folder: copy })).close();
    await expect(fresh.open({ folder: project.folder })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await store.close();
  });
});
