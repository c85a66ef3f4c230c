import { cpSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listForgotten, unforget } from "../../src/open.ts";
import { letGracePass } from "../helpers/grace.ts";
import { Project } from "../helpers/project.ts";

/** Makes a history and forgets it. Returns its id. */
async function forgottenIn(project: Project): Promise<string> {
  project.write("a", "1");
  const workspace = await project.init();
  const { id } = workspace;
  await workspace.close();
  const store = await project.store();
  await store.forget(id);
  await store.close();
  return id;
}

function moved(project: Project): string {
  renameSync(project.home, join(project.base, "moved"));
  return join(project.base, "moved");
}

function linked(project: Project): string {
  symlinkSync(project.home, join(project.base, "link"));
  return join(project.base, "link");
}

describe("Truth 19: a store that was moved, or has another name", { timeout: 600_000 }, () => {
  it.each([
    ["moved", moved],
    ["a link", linked],
  ] as const)(
    "knows the histories that were forgotten in it, and frees them after their time: %s",
    async (_what, elsewhere) => {
      await using project = new Project();
      const id = await forgottenIn(project);
      const store = await project.store({ home: elsewhere(project) });
      expect(listForgotten(store)).toMatchObject([{ id, path: project.folder, until: expect.any(String) }]);
      await unforget(store, id);
      expect(await store.workspaces()).toMatchObject([{ id }]);
      await store.forget(id);
      letGracePass(project.configFolder);
      await store.gc();
      expect(listForgotten(store)).toEqual([]);
    },
  );

  it("leaves the notes of the original store if it is a copy", async () => {
    await using project = new Project();
    const id = await forgottenIn(project);
    cpSync(project.home, join(project.base, "copy"), { recursive: true });
    const copy = await project.store({ home: join(project.base, "copy") });
    letGracePass(project.configFolder);
    await copy.gc();
    expect(listForgotten(copy)).toMatchObject([{ id, until: null }]);
    const store = await project.store();
    await store.gc();
    expect(listForgotten(store)).toEqual([]);
    // The history was freed in the original store, and not in the copy.
    await copy.gc();
    expect(listForgotten(copy)).toMatchObject([{ id, until: null }]);
  });

  it("does not bring a history back beside a newer one of its folder, even if its note is gone", async () => {
    await using project = new Project();
    const id = await forgottenIn(project);
    rmSync(join(project.configFolder, "forgotten"), { recursive: true });
    const newer = await project.init();
    const store = await project.store();
    await expect(unforget(store, id)).rejects.toMatchObject({ code: "UNSAFE", data: { workspace: newer.id } });
    await store.forget(newer.id);
    await unforget(store, id);
    expect(await store.workspaces()).toMatchObject([{ id }]);
  });
});
