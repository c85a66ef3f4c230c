import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type SweepContext, type SweepResult } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

/**
 * Compaction on a disk that crashes before, in the middle of and after every operation, with every fate of unsynced
 * data, and with every errno. Afterwards:
 * - The log is the old one or the compacted one.
 * - Every acknowledged event is in the log, or before the sentinel with which the log begins.
 * - `verify` finds no problems.
 * - Snapshots that are not compacted away are restored exactly.
 * - The next compaction works.
 */

type Tree = Readonly<Record<string, string>>;

interface Fact {
  readonly seq: number;
  readonly hash: string;
}

async function withWorkspace<T>(
  disk: SimDisk,
  firstId: number,
  work: (workspace: WorkspaceApi) => Promise<T>,
): Promise<T> {
  const store = await openSimStore(disk, { firstId });
  try {
    const workspace = await store.open({ folder: "/proj", create: true });
    try {
      return await work(workspace);
    } finally {
      await workspace.close();
    }
  } finally {
    await store.close();
  }
}

function put(disk: SimDisk, path: string, text: string): void {
  if (disk.lstat(path) !== undefined) disk.unlink(path);
  const fd = disk.open(path, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.sync(fd);
  disk.close(fd);
  disk.syncFolder(path.slice(0, path.lastIndexOf("/")));
}

function project(disk: SimDisk): Tree {
  const present = Object.entries(disk.dump("/proj")).filter(([path]) => !path.includes(".chronicle-tmp"));
  return Object.fromEntries(present.map(([path, state]) => [path, state.replace(/^file (\d+) \d+/, "file $1")]));
}

interface Prepared {
  readonly disk: SimDisk;
  /** The tree of each snapshot, by number. */
  readonly trees: readonly Tree[];
  readonly facts: readonly Fact[];
}

/** Makes a history with a deletion, a restore and three snapshots. `compacted`: with a compaction, too. */
async function prepare(compacted: boolean): Promise<Prepared> {
  const disk = SimDisk.fromTree({
    "/proj/a.txt": "alpha\n",
    "/proj/dir/b.txt": "beta\n",
    "/store": { folder: 0o755 },
    "/config": { folder: 0o755 },
    "/root": { folder: 0o755 },
  });
  const trees = [project(disk)];
  const facts = await withWorkspace(disk, 0, async (workspace) => {
    put(disk, "/proj/a.txt", "ALPHA\n");
    disk.unlink("/proj/dir/b.txt");
    disk.removeFolder("/proj/dir");
    disk.syncFolder("/proj");
    await workspace.snapshot();
    trees.push(project(disk));
    if (compacted) await workspace.compact();
    put(disk, "/proj/c.txt", "gamma\n");
    await workspace.restore("baseline");
    await workspace.snapshot();
    trees.push(project(disk));
    return (await workspace.log()).map(({ seq, hash }) => ({ seq, hash }));
  });
  return { disk: disk.crash("keep"), trees, facts };
}

/** Checks that every acknowledged event is in the log, or before the sentinel with which the log begins. */
async function checkFacts(workspace: WorkspaceApi, facts: readonly Fact[]): Promise<void> {
  const log = new Map((await workspace.log()).map((event) => [event.seq, event]));
  const [first] = [...log.values()];
  for (const { seq, hash } of facts) {
    if (first === undefined) throw new Error("the log is empty");
    if (seq === first.seq - 1) expect((first.record as { head: string }).head).toBe(hash);
    if (seq >= first.seq && log.get(seq)?.hash !== hash) throw new Error(`event ${seq} is gone`);
  }
}

async function checkSnapshots(disk: SimDisk, workspace: WorkspaceApi, trees: readonly Tree[]): Promise<number> {
  const before = project(disk);
  let restorable = 0;
  for (const { number, compacted_by: gone } of await workspace.snapshots()) {
    const tree = trees[number];
    if (gone !== undefined) {
      await expect(workspace.restore(String(number))).rejects.toMatchObject({ code: "PRUNED" });
      continue;
    }
    restorable += 1;
    if (tree === undefined) continue;
    await workspace.restore(String(number));
    expect(project(disk)).toEqual(tree);
  }
  await workspace.restore("latest");
  expect(project(disk)).toEqual(before);
  return restorable;
}

async function check(disk: SimDisk, prepared: Prepared, context: SweepContext<Fact>): Promise<void> {
  const error = context.error;
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError)) {
    throw new Error("a bare system error reached the caller", { cause: error });
  }
  await withWorkspace(disk, 500_000, async (workspace) => {
    expect((await workspace.verify()).problems).toEqual([]);
    await checkFacts(workspace, [...prepared.facts, ...context.acknowledged]);
    expect((await workspace.status()).changes).toEqual([]);
    checks += 1;
    if (!full && checks % 4 !== 0) return;
    expect(await checkSnapshots(disk, workspace, prepared.trees)).toBeGreaterThan(0);
    put(disk, "/proj/next.txt", "next\n");
    await workspace.snapshot();
    await workspace.gc();
    expect((await workspace.compact()).events_archived).toBeGreaterThan(0);
    expect((await workspace.verify()).problems).toEqual([]);
  });
}

function archiveOf(disk: SimDisk): string[] {
  return Object.keys(disk.dump("/store")).filter((path) => /archive\/.*\.wal/.test(path));
}

function report(name: string, { points, runs, checks }: SweepResult): void {
  process.stdout.write(`crash sweep of ${name}: ${points} points, ${runs} runs, ${checks} checks\n`);
}

/** SWEEP=full: every point is tested with the whole check, which takes three minutes. */
const full = process.env["SWEEP"] === "full";
const thinned = full ? {} : { every: 4, fates: ["forget", "keep", { seed: 1 }] as const };
let checks = 0;

describe("crash sweep", () => {
  for (const compacted of [false, true]) {
    it(`compact (${compacted ? "again" : "for the first time"})`, async () => {
      const prepared = await prepare(compacted);
      const result = await sweepCrashes<Fact>({
        ...thinned,
        prepare: () => prepared.disk,
        run: (disk, acknowledge) =>
          withWorkspace(disk, 1_000, async (workspace) => {
            const { seq } = await workspace.compact();
            const [event] = await workspace.log({ from: seq, to: seq });
            if (event?.op === "compact") acknowledge({ seq, hash: event.hash });
          }),
        check: (disk, context) => check(disk, prepared, context),
      });
      report("compact", result);
      expect(result.points).toBeGreaterThan(15);
    });
  }

  it("compact --drop-archive", async () => {
    const prepared = await prepare(true);
    const result = await sweepCrashes<Fact>({
      ...thinned,
      prepare: () => prepared.disk,
      run: (disk, acknowledge) =>
        withWorkspace(disk, 1_000, async (workspace) => {
          const { seq, dropped } = await workspace.compact({ dropArchive: true });
          expect(dropped).toBe(seq - 1);
          const [event] = await workspace.log();
          if (event !== undefined) acknowledge({ seq: event.seq, hash: event.hash });
        }),
      check: async (disk, context) => {
        // Once the compaction has reported the lines as removed, they are removed.
        if (context.acknowledged.length > 0) expect(archiveOf(disk)).toEqual([]);
        await check(disk.fork(), prepared, context);
        // The next call finishes a compaction that was cut off.
        await withWorkspace(disk, 600_000, async (workspace) => {
          await workspace.compact({ dropArchive: true });
          expect((await workspace.log())[0]?.op).toBe("compact");
          expect((await workspace.verify()).problems).toEqual([]);
        });
        expect(archiveOf(disk)).toEqual([]);
      },
    });
    report("compact --drop-archive", result);
    expect(result.points).toBeGreaterThan(20);
  });
});
