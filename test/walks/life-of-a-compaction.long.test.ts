import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { parseLine, sealEvents } from "../../src/core/log/chain.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";

/**
 * Life of a compaction: settle → the state at the head as a base, read back and verified → the log is sealed into the
 * archive → a new one begins with the sentinel. With the archive nothing else changes; without it the history begins
 * at the sentinel.
 */

/** Everything that a workspace answers about its past. */
async function answers(workspace: WorkspaceApi, upTo: number): Promise<unknown> {
  const snapshots = await workspace.snapshots();
  const manifests = [];
  for (const { number } of snapshots) manifests.push(await workspace.manifest(String(number)));
  const histories = [];
  for (const path of ["a.txt", "dir", "dir/b.txt", "gone.txt", "new.txt"])
    histories.push(await workspace.history(path));
  return {
    snapshots,
    manifests,
    histories,
    log: await workspace.log({ to: upTo }),
    sessions: await workspace.sessions(),
    operations: await workspace.operations(),
    // The compaction is an event of its own, so that the history is longer afterwards.
    recent: { ...(await workspace.recent()), seq: 0 },
    diff: await workspace.diff("baseline", "latest", { patch: true }),
    old: (await Array.fromAsync((await workspace.cat("a.txt", 1)).pieces())).map((piece) =>
      Buffer.from(piece).toString(),
    ),
  };
}

/** A history with a baseline, snapshots, a run, a restore and an undo. */
async function lived(project: Project): Promise<WorkspaceApi> {
  project.write("a.txt", "alpha\n");
  project.write("dir/b.txt", "beta\n");
  project.write("gone.txt", "gone\n");
  const workspace = await project.init();
  project.write("a.txt", "ALPHA\n");
  project.remove("gone.txt");
  await workspace.snapshot({ name: "one" });
  await workspace.run({ command: ["sh", "-c", "echo new > new.txt; rm dir/b.txt"], cwd: project.folder });
  await workspace.restore("baseline");
  await workspace.undo();
  project.write("dir/c.txt", "gamma\n");
  await workspace.snapshot();
  return workspace;
}

/** `one` reads and continues the history while `other` compacts it, and later drops the archive. */
async function followsCompactions(one: WorkspaceApi, other: WorkspaceApi, edit: (text: string) => void): Promise<void> {
  const numbers = async (): Promise<(number | undefined)[]> => (await one.history("a.txt")).map((row) => row.iteration);
  const before = await numbers();
  await other.compact();
  expect(await numbers()).toEqual(before);
  edit("two more\n");
  await one.snapshot();
  await other.compact();
  edit("three more\n");
  await one.snapshot();
  expect(await numbers()).toEqual([...before, before.length + 1, before.length + 2]);
  expect((await one.verify()).problems).toEqual([]);
  await one.restore("baseline");
  await other.compact({ dropArchive: true });
  expect(await numbers()).toEqual([before.length + 3]);
  await expect(one.restore("0")).resolves.toMatchObject({ changes: [] });
  edit("four more\n");
  await one.snapshot();
  await expect(one.restore("latest~1")).resolves.toMatchObject({ changes: [{ path: "a.txt" }] });
  for (const each of [one, other]) expect((await each.verify()).problems).toEqual([]);
}

describe("life of a compaction", () => {
  it("with the archive every answer stays the same, before and after a rebuild", async () => {
    await using project = new Project();
    const workspace = await lived(project);
    const { seq } = await workspace.head();
    const before = await answers(workspace, seq);
    const tree = project.tree();
    const done = await workspace.compact();
    expect(done).toMatchObject({ events_archived: seq, seq: seq + 1, dropped: 0 });
    expect(done.archive).toBe(`${"1".padStart(16, "0")}-${String(seq).padStart(16, "0")}.wal`);
    expect(await answers(workspace, seq)).toEqual(before);
    expect(await workspace.verify()).toMatchObject({ ok: true, problems: [], events: seq + 1 });
    await workspace.rebuild();
    expect(await answers(workspace, seq)).toEqual(before);
    expect(await workspace.compact()).toMatchObject({ events_archived: 0, archive: null, seq: seq + 1 });
    await workspace.close();
    const again = await project.open();
    expect(await answers(again, seq)).toEqual(before);
    expect((await again.status()).changes).toEqual([]);
    await again.gc();
    await again.restore("baseline");
    expect(Object.keys(project.tree())).toContain("gone.txt");
    await again.undo();
    expect(project.tree()).toEqual(tree);
    await again.compact();
    expect((await again.verify()).problems).toEqual([]);
    await again.rebuild();
    expect((await answers(again, seq)) as object).toMatchObject({ log: (before as { log: unknown }).log });
  });

  it("an earlier head verifies while the archive is kept, and is reported as not checkable once it is dropped", async () => {
    await using project = new Project();
    const workspace = await lived(project);
    const early = await workspace.head();
    project.write("a.txt", "later\n");
    await workspace.snapshot();
    const atSize = await workspace.head();
    await workspace.compact();
    const expectHead = (head: unknown) => workspace.verify({ expect: JSON.stringify(head) });
    expect(await expectHead(early)).toMatchObject({ ok: true, notes: [] });
    expect(await expectHead(atSize)).toMatchObject({ ok: true, notes: [] });
    const forged = { ...early, log_root: "0".repeat(64), note: undefined, key: undefined };
    expect((await expectHead(forged)).ok).toBe(false);
    const size = (await workspace.head()).seq;
    await workspace.compact({ dropArchive: true });
    const after = await expectHead(early);
    expect(after).toMatchObject({ ok: false, problems: [{ kind: "head-unheld", where: "--expect" }] });
    expect(after.problems[0]?.detail).toMatch(/event \d+ was compacted away .* can no longer be checked/);
    expect(after.notes.join("\n")).toContain(`events 1..${size}`);
    expect(await workspace.verify()).toMatchObject({ ok: true });
    expect(await expectHead(await workspace.head())).toMatchObject({ ok: true, expected: { ok: true } });
  });

  it("with the archive dropped, the history begins at the base, numbers continue, and nothing else breaks", async () => {
    await using project = new Project();
    const workspace = await lived(project);
    const tree = project.tree();
    const before = await workspace.snapshots();
    const history = await workspace.history("gone.txt");
    const { seq } = await workspace.head();
    const done = await workspace.compact({ dropArchive: true });
    expect(done).toMatchObject({ events_archived: seq, dropped: seq, archive: null, seq: seq + 1 });
    expect(readdirSync(join(project.home, "workspaces", workspace.id, "archive"))).toEqual([]);
    const check = async (again: WorkspaceApi): Promise<void> => {
      const listed = await again.snapshots();
      expect(listed.map(({ number, id, root }) => ({ number, id, root }))).toEqual(
        before.map(({ number, id, root }) => ({ number, id, root })),
      );
      expect(listed.map((one) => one.compacted_by)).toEqual([...before.slice(1).map(() => seq + 1), undefined]);
      for (const moment of ["0", "one", "baseline", "seq:3", "latest~1"]) {
        await expect(again.restore(moment)).rejects.toMatchObject({ code: "PRUNED" });
      }
      await expect(again.undo()).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(await again.operations()).toEqual([]);
      expect((await again.sessions()).length).toBe(1);
      expect((await again.log()).map((event) => event.op)).toEqual(["compact"]);
      expect(await again.history("gone.txt")).toMatchObject([{ iteration: history.at(-1)?.iteration, deleted: true }]);
      expect((await again.status()).changes).toEqual([]);
      expect((await again.restore("latest")).changes).toEqual([]);
      const verified = await again.verify();
      expect(verified.problems).toEqual([]);
      expect(verified.notes).toEqual([
        expect.stringContaining(`events 1..${seq} were compacted away by event ${seq + 1}`),
      ]);
    };
    await check(workspace);
    await workspace.rebuild();
    await check(workspace);
    await workspace.gc();
    await workspace.close();
    rmSync(join(project.home, "cache"), { recursive: true });
    for (const file of ["index.db", "index.db-wal", "index.db-shm"]) {
      rmSync(join(project.home, "workspaces", workspace.id, file), { force: true });
    }
    const again = await project.open();
    await check(again);
    project.write("gone.txt", "back\n");
    await again.run({ command: ["sh", "-c", "echo x >> a.txt"], cwd: project.folder });
    expect((await again.history("gone.txt")).at(-1)?.iteration).toBe((history.at(-1)?.iteration ?? 0) + 1);
    expect((await again.snapshot()).changed).toBe(0);
    await again.undo();
    await again.restore(`seq:${seq + 1}`);
    expect(project.tree()).toEqual(tree);
    expect(await again.compact({ dropArchive: true })).toMatchObject({ archive: null });
    expect((await again.verify()).problems).toEqual([]);
    expect((await again.history("gone.txt")).at(-1)?.iteration).toBe((history.at(-1)?.iteration ?? 0) + 2);
  });

  it("another opened workspace of the history follows compactions", async () => {
    await using project = new Project();
    const shared = await lived(project);
    const other = await project.open();
    await followsCompactions(other, shared, (text) => project.write("a.txt", text));
  });

  it("a forged history is not accepted as a compacted one, because the head that was kept before contradicts it", async () => {
    await using project = new Project();
    const first = await lived(project);
    const { seq } = await first.head();
    await first.close();
    const folder = join(project.home, "workspaces", first.id);
    const kept = join(project.configFolder, "heads", first.id);
    const [note, log] = [readFileSync(kept), join(folder, "events.wal")];
    const second = await project.open();
    expect(await second.compact({ dropArchive: true })).toMatchObject({ seq: seq + 1 });
    await second.close();
    const rewind = (line: string): void => {
      writeFileSync(kept, note);
      writeFileSync(log, `${line}\n`);
      for (const name of ["index.db", "index.db-wal", "index.db-shm"]) rmSync(join(folder, name), { force: true });
    };
    const sound = readFileSync(log, "utf8").trimEnd();
    rewind(sound);
    const third = await project.open();
    expect(await third.verify()).toMatchObject({ ok: true, anchored_to: seq });
    await third.snapshot();
    await third.close();
    const { record } = parseLine(Buffer.from(sound));
    const [forged] = sealEvents(
      { seq, hash: sha256("forged") },
      [{ op: "compact", recordId: `compact:${first.id}`, record: { ...record, head: sha256("forged") } }],
      "2026-01-31T09:30:00.000Z",
    );
    rewind(forged?.line ?? "");
    const fourth = await project.open();
    expect((await fourth.verify()).problems).toMatchObject([{ kind: "log-replaced" }]);
    await expect(fourth.snapshot()).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
  });

  it("damage in the archive or to the sentinel is named, and never cut off", async () => {
    await using project = new Project();
    const workspace = await lived(project);
    await workspace.compact();
    project.write("a.txt", "after\n");
    await workspace.snapshot();
    const folder = join(project.home, "workspaces", workspace.id);
    const [archive = ""] = readdirSync(join(folder, "archive"));
    await workspace.close();
    const garble = async (file: string, from: string, to: string): Promise<string[]> => {
      const sound = readFileSync(join(folder, file), "utf8");
      expect(sound).toContain(from);
      writeFileSync(join(folder, file), sound.replace(from, to));
      for (const name of ["index.db", "index.db-wal", "index.db-shm"]) rmSync(join(folder, name), { force: true });
      renameSync(project.configFolder, `${project.configFolder}.away`);
      const again = await project.open();
      const { problems } = await again.verify();
      project.write("a.txt", `more ${file}\n`);
      await expect(again.snapshot()).rejects.toMatchObject({ code: "LOG_DAMAGED" });
      await expect(again.compact({ dropArchive: true })).rejects.toMatchObject({ code: "LOG_DAMAGED" });
      expect(existsSync(join(folder, "quarantine"))).toBe(false);
      await again.close();
      writeFileSync(join(folder, file), sound);
      renameSync(`${project.configFolder}.away`, project.configFolder);
      return problems.map(({ kind, where }) => `${kind} ${where}`);
    };
    expect(await garble(`archive/${archive}`, '"iteration":2', '"iteration":3')).toContain(
      `line-bad-hash ${archive}:4`,
    );
    expect(await garble("events.wal", '"drops_archive":false', '"drops_archive":true')).toContain(
      "line-bad-hash events.wal:1",
    );
    const whole = await project.open();
    await whole.snapshot();
    expect((await whole.verify()).problems).toEqual([]);
  });

  it("a missing archive that nobody dropped is damage, and the rest can still be read", async () => {
    await using project = new Project();
    const workspace = await lived(project);
    await workspace.compact();
    const archive = join(project.home, "workspaces", workspace.id, "archive");
    renameSync(archive, `${archive}.away`);
    expect((await workspace.verify()).problems).toMatchObject([{ kind: "archive-missing" }]);
    expect((await workspace.snapshots()).at(-1)?.compacted_by).toBe(undefined);
    expect((await workspace.restore("latest")).changes).toEqual([]);
    await expect(workspace.restore("baseline")).rejects.toMatchObject({ code: "PRUNED" });
    await expect(workspace.compact({ dropArchive: true })).rejects.toMatchObject({ code: "REFUSED" });
    renameSync(`${archive}.away`, archive);
    expect((await workspace.verify()).problems).toEqual([]);
    expect((await workspace.snapshots()).map((one) => one.compacted_by)).not.toContainEqual(expect.any(Number));
    expect((await workspace.restore("baseline", { dryRun: true })).changes.length).toBeGreaterThan(0);
    expect((await workspace.operations()).length).toBeGreaterThan(2);
  });
});
