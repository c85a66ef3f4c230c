import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFileStore } from "../../src/compose/file-store.ts";
import { LateLock } from "../helpers/late-lock.ts";
import { Project } from "../helpers/project.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** A process that lists the workspaces while another one gives a workspace its folder must not keep the old record. */

it("a workspace that was listed while it got its folder is the workspace of the folder", async () => {
  await using project = new Project();
  const folder = join(project.base, "new");
  mkdirSync(folder);
  const other = await project.store();
  const { workspace: hosted } = await other.create({ name: "hosted" });
  await hosted.putFile("a.txt", Buffer.from("one\n"));
  await hosted.close();
  let lists = 0;
  const list = async (): Promise<void> => {
    lists += 1;
    await other.workspaces();
  };
  const backends = storeBackends((usual) => ({
    lock: (path) => {
      const inner = usual.lock(path);
      return path.includes(hosted.id) ? new LateLock(inner, list) : inner;
    },
    openIndex: usual.openIndex,
  }));
  const places = { home: project.home, configFolder: join(project.base, "config"), waitMs: 5_000 };
  const store = await openFileStore(places, backends);
  const { workspace } = await store.init({ roots: [folder], adopt: hosted.id });
  await workspace.close();
  await store.close();
  expect(lists).toBeGreaterThan(0);
  const found = await other.open({ folder, create: true });
  expect(found.id).toBe(hosted.id);
  await found.close();
});
