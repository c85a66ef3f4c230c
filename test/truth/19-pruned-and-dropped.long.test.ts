import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { listForgotten, unforget } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";

/** What a person prunes, or drops from the archive, is kept for 24 hours and comes back exactly as it was. */

const HOUR = 60;

interface Lived {
  readonly project: ClockedProject;
  readonly store: StoreApi;
  readonly workspace: WorkspaceApi;
}

/** A history of the contents `0` to `4`, each with a snapshot. */
async function lived(retention: { readonly max_snapshots?: number } = {}): Promise<Lived> {
  const project = new ClockedProject();
  project.write("a.txt", "0");
  const workspace = await project.init({ retention });
  for (const text of ["1", "2", "3", "4"]) await write(project, workspace, text);
  const store = await project.store();
  // Frees what is garbage before anything is pruned.
  await store.gc();
  return { project, store, workspace };
}

/** Writes within an action, so that there is a state before it. */
async function write(project: ClockedProject, workspace: WorkspaceApi, text: string): Promise<void> {
  project.pass(1);
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" } });
  project.write("a.txt", text);
  await workspace.finishAction(action?.id ?? "");
}

async function contentsOf(workspace: WorkspaceApi): Promise<string[]> {
  const texts: string[] = [];
  for (const { iteration } of await workspace.history("a.txt")) {
    const pieces: Uint8Array[] = [];
    for await (const piece of (await workspace.cat("a.txt", iteration)).pieces()) pieces.push(piece);
    texts.push(Buffer.concat(pieces).toString());
  }
  return texts;
}

async function freedBy(store: StoreApi): Promise<number> {
  return (await store.gc()).freed_blobs;
}

describe("Truth 19: a pruning can be brought back for a day", { timeout: 600_000 }, () => {
  it("brings everything back exactly, by the command that prune names", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    for (const text of ["two\n", "three\n"]) {
      box.write("a.txt", text);
      await box.must(["snapshot"]);
    }
    await box.must(["gc"]);
    const before = (await box.json(["list", "--snapshots"])).value;
    const pruned = await box.must(["prune", "--keep-last", "0", "--min-age-hours", "0", "-y"]);
    const id = /`chronicle unforget (\S+)`/.exec(pruned.stdout)?.[1] ?? "?";
    expect((await box.json(["gc"])).value).toMatchObject({ freed_blobs: 0 });
    expect((await box.call(["restore", "1", "-y"])).code).not.toBe(0);
    const listed = (await box.json(["unforget"])).value;
    expect(listed).toMatchObject([{ id, what: "pruning", path: box.project, until: expect.any(String) }]);
    const { checks } = (await box.json(["doctor"])).value as { checks: { name: string; ok: boolean }[] };
    expect(checks.find(({ name }) => name === "forgotten")).toMatchObject({ ok: true });

    await box.must(["unforget", id]);
    expect((await box.json(["list", "--snapshots"])).value).toEqual(before);
    expect((await box.must(["verify"])).stdout).toMatch(/^ok/);
    await box.must(["restore", "1", "-y"]);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("two\n");
    expect((await box.json(["unforget"])).value).toEqual([]);
    expect((await box.call(["unforget", id])).code).toBe(3);
  });

  it("is final with the first gc after the day, and cannot be brought back then", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    await workspace.prune({ keepLast: 0 });
    const [one] = listForgotten(store);
    project.pass(24 * HOUR - 1);
    expect(await freedBy(store)).toBe(0);
    project.pass(2);
    await expect(unforget(store, one?.id ?? "?")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await freedBy(store)).toBeGreaterThan(0);
    expect(listForgotten(store)).toEqual([]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("is kept for a day of its own if an earlier pruning was brought back", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    await workspace.prune({ keepLast: 0 });
    project.pass(HOUR);
    await unforget(store, listForgotten(store)[0]?.id ?? "?");
    expect(await contentsOf(workspace)).toEqual(["0", "1", "2", "3", "4"]);
    project.pass(HOUR);
    await workspace.prune({ keepLast: 0 });
    project.pass(23 * HOUR);
    expect(await freedBy(store)).toBe(0);
    await unforget(store, listForgotten(store)[0]?.id ?? "?");
    expect(await contentsOf(workspace)).toEqual(["0", "1", "2", "3", "4"]);
    project.pass(48 * HOUR);
    expect(await freedBy(store)).toBe(0);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("stays brought back, whatever other pruning of that day is brought back after it", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    await workspace.prune({ keepLast: 3 });
    project.pass(HOUR);
    await workspace.prune({ keepLast: 1 });
    const [first, second] = listForgotten(store);
    const notes = join(project.base, "config/forgotten");
    cpSync(notes, `${notes}.before`, { recursive: true });
    await unforget(store, first?.id ?? "?");
    // The second came back with it.
    expect(listForgotten(store)).toEqual([]);
    expect(await contentsOf(workspace)).toEqual(["0", "1", "2", "3", "4"]);

    // A crash can leave the note of the second pruning.
    cpSync(`${notes}.before`, notes, { recursive: true });
    await unforget(store, second?.id ?? "?");
    project.pass(48 * HOUR);
    expect(await freedBy(store)).toBe(0);
    expect(await contentsOf(workspace)).toEqual(["0", "1", "2", "3", "4"]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("leaves, when brought back, the notes of the prunings that still give something up", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    await workspace.prune({ keepLast: 3 });
    project.pass(HOUR);
    await workspace.prune({ keepLast: 1 });
    const [first, second] = listForgotten(store);
    await unforget(store, second?.id ?? "?");
    expect(listForgotten(store)).toEqual([first]);
    await unforget(store, first?.id ?? "?");
    expect(await contentsOf(workspace)).toEqual(["0", "1", "2", "3", "4"]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("must be brought back before a later pruning can free at once what both give up", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    const { event } = await workspace.prune({ keepLast: 3 });
    project.pass(HOUR);
    const [first] = listForgotten(store);
    const refused = expect.objectContaining({ code: "REFUSED", hint: expect.stringContaining(first?.id ?? "?") });
    await expect(workspace.prune({ keepLast: 1, now: true })).rejects.toEqual(refused);
    await expect(workspace.prune({ keepLast: 1, now: true, dryRun: true })).rejects.toEqual(refused);
    expect(await freedBy(store)).toBe(0);
    expect(listForgotten(store)).toEqual([first]);

    const { pruned_actions: alone } = await workspace.prune({ keepLast: 1, dryRun: true });
    await unforget(store, first?.id ?? "?");
    const shape = await workspace.prune({ keepLast: 1, now: true });
    expect(shape.pruned_actions.length).toBeGreaterThan(alone.length);
    expect(shape.event).toBeGreaterThan(event ?? 0);
    expect(await freedBy(store)).toBeGreaterThan(0);
    expect(listForgotten(store)).toEqual([]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("brings back only what it gave up itself if an archive was dropped before", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    const { floor_seq: floor } = await workspace.prune({ keepLast: 2, now: true });
    await freedBy(store);
    await workspace.compact({ dropArchive: true });
    for (const text of ["5", "6", "7"]) await write(project, workspace, text);
    await workspace.prune({ keepLast: 1 });
    await unforget(store, listForgotten(store)[0]?.id ?? "?");
    const log = readFileSync(join(project.base, "store/workspaces", workspace.id, "events.wal"), "utf8");
    expect(/"cause":"brought-back".*"floor_seq":(\d+)/.exec(log)?.[1]).toBe(String(floor));
    expect((await workspace.verify()).problems).toEqual([]);
    expect((await contentsOf(workspace)).slice(-4)).toEqual(["4", "5", "6", "7"]);
  });

  it("can free at once again when the time of the earlier pruning is over", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    await workspace.prune({ keepLast: 3 });
    project.pass(24 * HOUR + 1);
    await workspace.prune({ keepLast: 1, now: true });
    expect(await freedBy(store)).toBeGreaterThan(0);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("is kept although the limits prune after it", async () => {
    const { project, store, workspace } = await lived({ max_snapshots: 20 });
    await using _project = project;
    await workspace.prune({ keepLast: 1 });
    const [one] = listForgotten(store);
    for (let n = 5; n < 40; n += 1) await write(project, workspace, String(n));
    expect((await workspace.log({ prefix: "prune:" })).length).toBeGreaterThan(1);
    expect(await freedBy(store)).toBe(0);
    await unforget(store, one?.id ?? "?");
    expect((await contentsOf(workspace)).slice(0, 5)).toEqual(["0", "1", "2", "3", "4"]);
  });

  it("is freed at once only by a person at a terminal, and while nobody is at work", async () => {
    const { project, store, workspace } = await lived();
    await using _project = project;
    const { id } = await workspace.beginTransaction();
    await expect(workspace.prune({ keepLast: 0, now: true })).rejects.toMatchObject({ code: "REFUSED" });
    await workspace.rollbackTransaction(id);
    await workspace.prune({ keepLast: 0, now: true });
    expect(listForgotten(store)).toEqual([]);
    expect(await freedBy(store)).toBeGreaterThan(0);

    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    for (const words of [["--now"], ["--now", "-y"], ["--now", "-y", "--json"]]) {
      const ran = await box.call(["prune", "--keep-last", "0", ...words]);
      expect([ran.code, ran.stderr + ran.stdout]).toEqual([6, expect.stringContaining("a person at a terminal")]);
    }
  });
});
