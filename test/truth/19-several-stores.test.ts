import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DoctorCheck, StoreApi } from "../../src/api/store-api.ts";
import { Project } from "../helpers/project.ts";

async function forgotten(store: StoreApi): Promise<DoctorCheck | undefined> {
  return (await store.doctor()).checks.find(({ name }) => name === "forgotten");
}

describe("Truth 19: doctor, and several stores with one configuration folder", () => {
  it("says nothing of the heads of another store, and says which store is gone", async () => {
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
