import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DoctorCheck, StoreApi } from "../../src/api/store-api.ts";
import { listForgotten, unforget } from "../../src/open.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";
import { Project } from "../helpers/project.ts";

async function forgotten(store: StoreApi): Promise<DoctorCheck | undefined> {
  return (await store.doctor()).checks.find(({ name }) => name === "forgotten");
}

describe("Truth 19: doctor, and several stores with one configuration folder", () => {
  it("does not report the heads of another store, and names a store that is gone", async () => {
    await using project = new Project();
    project.write("a", "1");
    const other = join(project.base, "other");
    await project.init();
    const second = await project.store({ home: other });
    const { workspace } = await second.init({ roots: [project.folder] });
    await workspace.close();
    const store = await project.store();
    expect([await forgotten(store), await forgotten(second)]).toEqual([undefined, undefined]);
    await second.close();
    rmSync(other, { recursive: true });
    expect(await forgotten(store)).toMatchObject({
      ok: false,
      detail: `1 signed head without a history: ${workspace.id} (of the store ${other})`,
    });
    rmSync(join(project.configFolder, "heads", workspace.id));
    expect(await forgotten(store)).toBeUndefined();
  });
});

describe("Truth 19: a store and its copy, with one configuration", { timeout: 600_000 }, () => {
  it("keep a forgotten history each for its own time", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    const { id } = workspace;
    await workspace.close();
    const copied = join(project.base, "copy");
    cpSync(join(project.base, "store"), copied, { recursive: true });
    const [store, copy] = [await project.store(), await project.store({ home: copied })];
    await store.forget(id);
    await copy.forget(id, { now: true });
    await store.gc();
    const [kept] = listForgotten(store);
    expect(kept).toMatchObject({ id, until: "2030-01-11T12:00:00.000Z" });
    expect(listForgotten(copy)).toEqual([]);
    await unforget(store, id);
    expect(await store.workspaces()).toHaveLength(1);
    await (await store.openById(id)).close();
  });

  it("keep their own note when the other one brings the history back", async () => {
    await using project = new ClockedProject();
    const workspace = await project.init();
    const { id } = workspace;
    await workspace.close();
    const copied = join(project.base, "copy");
    cpSync(join(project.base, "store"), copied, { recursive: true });
    const [store, copy] = [await project.store(), await project.store({ home: copied })];
    await store.forget(id);
    await copy.forget(id);
    await unforget(copy, id);
    expect(listForgotten(store)).toMatchObject([{ id, until: "2030-01-11T12:00:00.000Z" }]);
    project.pass(24 * 60 + 1);
    await store.gc();
    expect(listForgotten(store)).toEqual([]);
    expect(await copy.workspaces()).toHaveLength(1);
  });
});
