import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { put, withWorkspace } from "../helpers/engine-sweep.ts";
import { pruneSoon } from "../helpers/grace.ts";

/**
 * Prune and gc on a disk that crashes before, in the middle of and after every operation, with every fate of unsynced
 * data, and with every errno. Afterwards, the history is either whole or pruned: `verify` finds no problems, every
 * listed action and snapshot can be restored exactly, and another prune and gc work.
 */

const folder = { folder: 0o755 };

/** `contents`: the state of `a.txt` before each action, by id, and at each snapshot, by number. */
interface Prepared {
  readonly disk: SimDisk;
  readonly contents: ReadonlyMap<string, string>;
  readonly seq: number;
}

function read(disk: SimDisk): string {
  return disk.dump("/proj")["/proj/a.txt"] ?? "";
}

async function act(disk: SimDisk, workspace: WorkspaceApi, text: string): Promise<string> {
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, session: "s" });
  put(disk, "/proj/a.txt", text);
  await workspace.finishAction(action?.id ?? "");
  return action?.id ?? "";
}

async function prepare(): Promise<Prepared> {
  const disk = SimDisk.fromTree({ "/proj/a.txt": "0\n", "/store": folder, "/config": folder, "/root": folder });
  const contents = new Map<string, string>();
  const seq = await withWorkspace(disk, 0, async (workspace) => {
    for (let n = 1; n <= 6; n += 1) {
      const before = read(disk);
      contents.set(await act(disk, workspace, `${"x".repeat(2_000 + n)}\n`), before);
      if (n % 3 !== 0) continue;
      const { number } = await workspace.snapshot(n === 3 ? { name: "kept" } : {});
      contents.set(String(number), read(disk));
    }
    // Ends the session, because a prune with `now` needs that no work is open.
    await workspace.endSession("s");
    return (await workspace.status()).seq;
  });
  return { disk: disk.crash("keep"), contents, seq };
}

/** Checks that every listed action and snapshot restores its state. */
async function checkListed(disk: SimDisk, workspace: WorkspaceApi, { contents }: Prepared): Promise<void> {
  for (const { id } of await workspace.list()) {
    await workspace.rollback(id);
    if (contents.has(id)) expect(read(disk)).toBe(contents.get(id));
  }
  for (const { number, pruned_by: by } of await workspace.snapshots()) {
    if (by !== undefined) continue;
    await workspace.restore(String(number));
    if (contents.has(String(number))) expect(read(disk)).toBe(contents.get(String(number)));
  }
}

let checks = 0;
const full = process.env["SWEEP"] === "full";
const thinned = full ? {} : { every: 5, fates: ["forget", "keep", { seed: 1 }] as const };

async function check(disk: SimDisk, prepared: Prepared, { error, acknowledged }: SweepContext<number>): Promise<void> {
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError)) {
    throw new Error("a bare system error reached the caller", { cause: error });
  }
  await withWorkspace(disk, 500_000, async (workspace) => {
    expect((await workspace.verify()).problems).toEqual([]);
    const { seq } = await workspace.status();
    expect(seq).toBeGreaterThanOrEqual(Math.max(prepared.seq, ...acknowledged));
    checks += 1;
    if (!full && checks % 3 !== 0) return;
    await checkListed(disk, workspace, prepared);
    await pruneSoon(workspace, { keepLast: 1 });
    await workspace.gc();
    await checkListed(disk, workspace, prepared);
    expect((await workspace.verify()).problems).toEqual([]);
  });
}

describe("crash sweep", () => {
  it("prune, then gc", async () => {
    const prepared = await prepare();
    const result = await sweepCrashes<number>({
      ...thinned,
      prepare: () => prepared.disk,
      run: (disk, acknowledge) =>
        withWorkspace(disk, 1_000, async (workspace) => {
          const { event } = await workspace.prune({ keepLast: 2, now: true });
          acknowledge(event ?? 0);
          await workspace.gc();
          await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, session: "s" });
        }),
      check: (disk, context) => check(disk, prepared, context),
    });
    process.stdout.write(
      `crash sweep of prune: ${result.points} points, ${result.runs} runs, ${result.checks} checks\n`,
    );
    expect(result.points).toBeGreaterThan(20);
  });
});
