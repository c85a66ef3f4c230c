import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFileStore } from "../../src/compose/file-store.ts";
import { unforgetWorkspace } from "../../src/compose/forgotten.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { LateLock } from "../helpers/late-lock.ts";
import { Project } from "../helpers/project.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** A workspace that another process forgets, brings back or moves while it is used or begun. */

it("two processes that forget a workspace at the same time: the second one says that it is done already", async () => {
  await using project = new Project();
  const { id } = await project.init();
  const other = await project.store();
  let isFirst = true;
  const backends = storeBackends((usual) => ({
    lock: (path) =>
      new LateLock(usual.lock(path), async () => {
        if (!isFirst || !path.endsWith("store/lock.db")) return;
        isFirst = false;
        await other.forget(id);
      }),
  }));
  const places = { home: join(project.base, "store"), configFolder: join(project.base, "config") };
  const store = await openFileStore(places, backends);
  await using _store = { [Symbol.asyncDispose]: () => store.close() };
  await expect(store.forget(id)).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: `another process has just forgotten the workspace ${id}`,
  });
});

it("a history is not brought back into a folder whose new history is just being begun", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const { id } = await project.init();
  const other = await project.store();
  await other.forget(id);
  let back: Promise<string> | undefined;
  const backends = storeBackends();
  const files = { home: join(project.base, "store"), configFolder: join(project.base, "config") };
  const store = await openFileStore(files, backends);
  await using _store = { [Symbol.asyncDispose]: () => store.close() };
  const { workspace } = await store.init({
    roots: [project.folder],
    onProgress: () => void (back ??= unforgetWorkspace(partsOf(other), id).catch((error: unknown) => String(error))),
  });
  await workspace.close();
  expect(await back).toContain(`${id} stays forgotten: workspace ${workspace.id} is the history of`);
  expect((await store.workspaces()).map((one) => one.id)).toEqual([workspace.id]);
});

it("no history is adopted by a folder whose own history is just being begun", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const moved = join(project.base, "moved");
  mkdirSync(moved);
  const other = await project.store();
  const { workspace: adopted } = await other.init({ roots: [moved] });
  await adopted.close();
  rmSync(moved, { recursive: true });
  let adopting: Promise<unknown> | undefined;
  const adopt = () => other.init({ roots: [project.folder], adopt: adopted.id });
  const { workspace } = await (
    await project.store()
  ).init({
    roots: [project.folder],
    onProgress: () => void (adopting ??= adopt().catch((error: unknown) => error)),
  });
  await workspace.close();
  expect(await adopting).toMatchObject({ code: "UNSAFE", data: { folder: project.folder, workspace: workspace.id } });
});

it("who still uses the workspace is told that it was forgotten, and not that its history is damaged", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const workspace = await project.init();
  const { id } = workspace;
  const other = await project.store();
  await other.forget(id);
  project.write("a.txt", "two\n");
  const told = { code: "NOT_FOUND", message: `the workspace ${id} was forgotten by another process` };
  await expect(workspace.snapshot()).rejects.toMatchObject(told);
  await expect(workspace.log()).rejects.toMatchObject({ ...told, hint: expect.stringContaining(`unforget ${id}`) });
  expect(await unforgetWorkspace(partsOf(other), id)).toBe(id);
  expect((await workspace.snapshot()).changed).toBe(1);
  expect((await workspace.verify()).ok).toBe(true);
});
