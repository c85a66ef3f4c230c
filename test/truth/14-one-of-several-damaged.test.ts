import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import { Project } from "../helpers/project.ts";

/** A fault in one workspace does not stop work in the other workspaces of the store, and is reported for that one. */

interface Two {
  readonly store: StoreApi;
  readonly folder: (name: "one" | "other") => string;
  /** The id of the first workspace, and its folder in the store. */
  readonly id: string;
  readonly at: string;
}

async function two(project: Project): Promise<Two> {
  const store = await project.store();
  const folder = (name: string): string => join(project.base, name);
  const ids: string[] = [];
  for (const name of ["one", "other"]) {
    mkdirSync(folder(name));
    writeFileSync(join(folder(name), "a"), name);
    const { workspace } = await store.init({ roots: [folder(name)] });
    ids.push(workspace.id);
    await workspace.close();
  }
  const [id = ""] = ids;
  return { store, folder, id, at: join(project.home, "workspaces", id) };
}

/** Deletes the cached list of workspaces, which may be done at any time. */
function dropList({ home }: Project): void {
  rmSync(join(home, "cache"), { recursive: true, force: true });
}

/** Damages the first event. */
function damage(log: string): void {
  writeFileSync(log, readFileSync(log, "latin1").replace('"op":"upsert"', '"op":"upsurt"'), "latin1");
}

async function works(store: StoreApi, folder: string): Promise<void> {
  const workspace = await store.open({ folder });
  writeFileSync(join(folder, "a"), "changed\n");
  await workspace.snapshot();
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.close();
}

describe("Truth 14: one of several workspaces", { timeout: 600_000 }, () => {
  it("a torn line of the log of which only the end is on disk is moved to quarantine by the next command", async () => {
    await using project = new Project();
    const { store, folder, id, at } = await two(project);
    const log = join(at, "events.wal");
    const sound = readFileSync(log);
    cpSync(project.configFolder, `${project.configFolder}.before`, { recursive: true });
    await store.archive(id);
    rmSync(project.configFolder, { recursive: true });
    cpSync(`${project.configFolder}.before`, project.configFolder, { recursive: true });
    const line = readFileSync(log).subarray(sound.length);
    // The page with the beginning of the line never reached the disk.
    line.fill(0, 0, line.indexOf('"record_id"') - 10);
    writeFileSync(log, Buffer.concat([sound, line]));
    rmSync(join(at, "index.db"));
    dropList(project);
    await works(store, folder("other"));
    await works(store, folder("one"));
    expect(readdirSync(join(at, "quarantine"))).toHaveLength(1);
    expect(await store.workspaces()).toEqual([
      expect.not.objectContaining({ problem: expect.anything() }),
      expect.not.objectContaining({ problem: expect.anything() }),
    ]);
  });

  it("a workspace whose own record is damaged is listed with the problem, and can be forgotten", async () => {
    await using project = new Project();
    const { store, folder, id, at } = await two(project);
    const log = join(at, "events.wal");
    const sound = readFileSync(log);
    damage(log);
    dropList(project);
    await works(store, folder("other"));
    const listed = await store.workspaces();
    expect(listed.find((one) => one.id === id)).toMatchObject({ path: "", problem: expect.stringContaining("line") });
    expect(listed.find((one) => one.id !== id)).not.toHaveProperty("problem");
    await expect(store.open({ folder: folder("one") })).rejects.toMatchObject({
      code: "NOT_FOUND",
      hint: expect.stringContaining(id),
    });
    // Once the log is put back from a copy, the workspace works again.
    writeFileSync(log, sound);
    await works(store, folder("one"));
    damage(log);
    dropList(project);
    await store.forget(id);
    expect((await store.workspaces()).map((one) => one.path)).toEqual([folder("other")]);
  });

  it("a workspace of a newer format does not stop the others", async () => {
    await using project = new Project();
    const { store, folder, id, at } = await two(project);
    writeFileSync(join(at, "workspace.json"), `${JSON.stringify({ format: 99, id })}\n`);
    dropList(project);
    await works(store, folder("other"));
    const shape = (await store.workspaces()).find((one) => one.id === id);
    expect(shape).toMatchObject({ problem: expect.stringContaining("99") });
    await expect(store.openById(id)).rejects.toMatchObject({ code: "FORMAT_UNSUPPORTED" });
  });
});
