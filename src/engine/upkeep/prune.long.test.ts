import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import { flipByte } from "../../../test/helpers/rot.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { StoreOptions } from "../../api/store-api.ts";

const FIVE_MB = 5_000_000;

async function started(
  retention: StoreOptions["retention"] = {},
): Promise<{ project: Project; workspace: WorkspaceApi }> {
  const project = new Project();
  project.write("a.txt", "0");
  const store = await project.store({ retention });
  const { workspace } = await store.init({ roots: [project.folder] });
  return { project, workspace };
}

async function write(project: Project, workspace: WorkspaceApi, text: string, more: object = {}): Promise<string> {
  const request = { type: "write_file", payload: { path: "a.txt" }, ...more };
  const action = await workspace.snapshotAction(request);
  project.write("a.txt", text);
  await workspace.finishAction(action?.id ?? "");
  return action?.id ?? "";
}

async function drain(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

describe("the limits", () => {
  it("leave no more actions than `max_snapshots`; the oldest one can be rolled back, and the history verifies", async () => {
    const { project, workspace } = await started({ max_snapshots: 3 });
    await using _project = project;
    for (const text of ["1", "2", "3", "4", "5"]) await write(project, workspace, text);
    const actions = await workspace.list();
    expect(actions).toHaveLength(3);
    const found = await workspace.verify();
    expect(found.problems).toEqual([]);
    expect(found.notes.join()).toMatch(/pruned 1\.\.\d+ by event \d+/);
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.rollback(actions[0]?.id ?? "");
    expect(project.read("a.txt")).toBe("2");
    await workspace.close();
  });

  it("hold after every single action, the first of a session included", async () => {
    const { project, workspace } = await started({ max_snapshots: 10 });
    await using _project = project;
    const listed: number[] = [];
    for (let n = 0; n < 40; n += 1) {
      await write(project, workspace, String(n), { session: "s" });
      listed.push((await workspace.list()).length);
    }
    expect(Math.max(...listed)).toBe(10);
    expect(Math.min(...listed.slice(10))).toBe(9);
    await workspace.close();
  });

  it.each([
    ["damaged", "LOG_DAMAGED"],
    ["not signed", "REFUSED"],
  ])("fail no action if another workspace of the store is %s, and note this once", async (what, code) => {
    await using project = new Project();
    const notes: string[] = [];
    const store = await project.store({ retention: { max_snapshots: 2 }, onNote: (note) => notes.push(note) });
    project.write("a.bin", randomBytes(FIVE_MB));
    const { workspace } = await store.init({ roots: [project.folder] });
    const { workspace: other } = await store.create({ name: "other" });
    await other.putFile("b.txt", Buffer.from("b"), {});
    await other.close();
    const log = join(project.home, "workspaces", other.id, "events.wal");
    if (what === "damaged") flipByte(log, statSync(log).size >> 1);
    else rmSync(join(project.configFolder, "heads", other.id));
    const begun: string[] = [];
    for (let n = 1; n <= 10; n += 1) {
      const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.bin" } });
      begun.push(action?.id ?? "");
      project.write("a.bin", randomBytes(FIVE_MB));
      await workspace.finishAction(action?.id ?? "");
    }
    expect((await workspace.list()).map(({ id }) => id)).toEqual(begun.slice(-2));
    expect(notes).toEqual([expect.stringMatching(`nothing was freed, because of workspace ${other.id}: .*${what}`)]);
    expect((await workspace.verify()).problems).toEqual([]);
    await expect(workspace.gc()).rejects.toMatchObject({ code });
    await workspace.close();
  });

  it("never prune a pinned action or the first action of a session", async () => {
    const { project, workspace } = await started({ max_snapshots: 4 });
    await using _project = project;
    const pinned = await write(project, workspace, "pinned");
    await workspace.pin(pinned);
    const first = await write(project, workspace, "first", { session: "s1" });
    for (const text of ["1", "2", "3", "4", "5"]) await write(project, workspace, text, { session: "s1" });
    const listed = (await workspace.list()).map((one) => one.id);
    expect(listed.slice(0, 2)).toEqual([pinned, first]);
    expect(listed).toHaveLength(5);
    await workspace.gc();
    await workspace.rollback(pinned);
    expect(project.read("a.txt")).toBe("0");
    await workspace.undo();
    await workspace.rollback(first);
    expect(project.read("a.txt")).toBe("pinned");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });

  it("never prune what an open transaction needs: a transaction of more actions than the limit can be rolled back", async () => {
    const { project, workspace } = await started({ max_snapshots: 2 });
    await using _project = project;
    await write(project, workspace, "before it");
    const { id } = await workspace.beginTransaction();
    for (const text of ["1", "2", "3", "4", "5", "6"]) await write(project, workspace, text);
    expect((await workspace.list()).filter((one) => one.transaction_id === id)).toHaveLength(6);
    await workspace.prune({ keepLast: 0 });
    await workspace.gc();
    await workspace.rollbackTransaction(id);
    expect(project.read("a.txt")).toBe("before it");
    for (const text of ["7", "8", "9"]) await write(project, workspace, text);
    expect((await workspace.list()).length).toBeLessThanOrEqual(2);
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });

  it("never prune the contents of an open conflict", async () => {
    const { project, workspace } = await started({ max_snapshots: 2 });
    await using _project = project;
    const mine = await write(project, workspace, "mine");
    await write(project, workspace, "theirs");
    await workspace.undo({ action: mine });
    const [conflict] = await workspace.conflicts();
    for (const text of ["1", "2", "3", "4", "5"]) await write(project, workspace, text);
    await workspace.prune({ keepLast: 0 });
    await workspace.gc();
    expect((await workspace.verify()).problems).toEqual([]);
    project.write("a.txt", "theirs");
    await workspace.resolve(conflict?.id ?? "", { keep: "undo" });
    expect(project.read("a.txt")).toBe("0");
    await workspace.close();
  });

  it("are applied by a new process, too, and no longer keep an action that was unpinned", async () => {
    const { project, workspace } = await started({ max_snapshots: 3 });
    await using _project = project;
    const pinned = await write(project, workspace, "pinned");
    await workspace.pin(pinned);
    for (const text of ["1", "2", "3", "4"]) await write(project, workspace, text);
    await workspace.pin(pinned, false);
    await workspace.close();
    const again = await (await project.store({ retention: { max_snapshots: 3 } })).open({ folder: project.folder });
    await write(project, again, "5");
    const listed = (await again.list()).map((one) => one.id);
    expect(listed).toHaveLength(3);
    expect(listed).not.toContain(pinned);
    await again.close();
  });
});

describe("what is pruned", () => {
  it("is refused with PRUNED by cat, restore, diff and rollback, and the kept states stay readable", async () => {
    const { project, workspace } = await started({ max_snapshots: 1 });
    await using _project = project;
    await write(project, workspace, "first and lost");
    const lost = await write(project, workspace, "2nd");
    for (const text of ["3", "4", "5"]) await write(project, workspace, text);
    await workspace.gc();
    const history = await workspace.history("a.txt");
    const prunings = (await workspace.log({ prefix: "prune:" })).map((one) => one.seq);
    expect(history[1]).toMatchObject({ iteration: 2, pruned_by: prunings[1] });
    expect(history[0]?.pruned_by).toBeUndefined();
    const pruned = { code: "PRUNED", message: expect.stringMatching(/pruned by event \d+/) };
    await expect(workspace.cat("a.txt", 2)).rejects.toMatchObject(pruned);
    await expect(workspace.restore(`seq:${history[1]?.seq}`)).rejects.toMatchObject(pruned);
    await expect(workspace.diff(`seq:${history[1]?.seq}`, "now")).rejects.toMatchObject(pruned);
    await expect(workspace.rollback(lost)).rejects.toMatchObject(pruned);
    expect(await drain((await workspace.cat("a.txt", 1)).pieces())).toBe("0");
    await workspace.restore("baseline");
    expect(project.read("a.txt")).toBe("0");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });

  it("does not include damage: verify reports a missing content that was not pruned as a problem", async () => {
    const { project, workspace } = await started({ max_snapshots: 1 });
    await using _project = project;
    for (const text of ["1", "2", "3"]) await write(project, workspace, text);
    await workspace.gc();
    await workspace.close();
    rmSync(join(project.home, "blobs"), { recursive: true });
    const again = await project.open();
    expect((await again.verify()).problems.map((one) => one.kind)).toContain("blob-missing");
    await again.close();
  });
});

describe("prune", () => {
  it("does what its dry run shows, and frees the contents", async () => {
    const { project, workspace } = await started();
    await using _project = project;
    for (const text of ["1", "22", "333"]) await write(project, workspace, text);
    const named = await workspace.snapshot({ name: "kept" });
    await write(project, workspace, "4444");
    const plain = await workspace.snapshot();
    await write(project, workspace, "55555");
    const seen = await workspace.prune({ keepLast: 1, dryRun: true });
    expect((await workspace.list()).length).toBe(5);
    const done = await workspace.prune({ keepLast: 1, now: true });
    expect({ ...done, dry_run: true, event: null }).toEqual(seen);
    expect(done.pruned_actions).toHaveLength(4);
    expect(done.pruned_snapshots).toEqual([plain.number]);
    expect(done).toMatchObject({ kept_actions: 1, kept_snapshots: 2, freed_contents: 2, freed_bytes: 3 });
    expect((await workspace.snapshots()).find((one) => one.number === plain.number)?.pruned_by).toBeUndefined();
    await workspace.gc();
    await workspace.restore("kept");
    expect(project.read("a.txt")).toBe("333");
    expect(named.pinned).toBe(false);
    expect((await workspace.verify()).problems).toEqual([]);
    expect((await workspace.prune({ keepLast: 9 })).event).toBeNull();
    await workspace.close();
  });

  it("counts contents that it gives up after a dropped archive as pending bytes", async () => {
    const { project, workspace } = await started();
    await using _project = project;
    for (const text of ["1", "22"]) await write(project, workspace, text);
    await workspace.compact({ dropArchive: true });
    const big = "3".repeat(1_000);
    for (const text of [big, "4", "5"]) await write(project, workspace, text);
    await workspace.prune({ keepLast: 1, now: true });
    const log = readFileSync(join(project.home, "workspaces", workspace.id, "events.wal"), "utf8");
    expect(Number(/"pending_bytes":(\d+)/.exec(log)?.[1])).toBeGreaterThanOrEqual(big.length);
    await workspace.close();
  });

  it("stays valid after compactions with and without their archive, and after a rebuild of the index", async () => {
    const { project, workspace } = await started({ max_snapshots: 2 });
    await using _project = project;
    for (const text of ["1", "2", "3", "4"]) await write(project, workspace, text);
    await workspace.compact();
    await workspace.gc();
    await write(project, workspace, "5");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.rebuild();
    expect(await workspace.list()).toHaveLength(2);
    await workspace.compact({ dropArchive: true });
    await workspace.gc();
    await write(project, workspace, "6");
    await write(project, workspace, "7");
    await write(project, workspace, "8");
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });
});

it("a pruning at once is refused while work is open, and so is its dry run", async () => {
  const { project, workspace } = await started();
  await using _project = project;
  for (const text of ["1", "2"]) await write(project, workspace, text);
  const open = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" } });
  const asked = { keepLast: 0, now: true };
  await expect(workspace.prune(asked)).rejects.toMatchObject({ code: "REFUSED" });
  await expect(workspace.prune({ ...asked, dryRun: true })).rejects.toMatchObject({ code: "REFUSED" });
  await workspace.finishAction(open?.id ?? "");
  expect((await workspace.prune({ ...asked, dryRun: true })).pruned_actions.length).toBeGreaterThan(0);
});
