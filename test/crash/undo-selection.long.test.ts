import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { type CrashSweep, sweepCrashes } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { acknowledgedHead, checkOldOrNew, type Fact, project, put, withWorkspace } from "../helpers/engine-sweep.ts";

/**
 * A crash at any operation of the undo of a run's work, or of its redo. The undo merges one file, leaves a conflict in
 * another, removes a created file and brings a deleted one back. Afterwards, the undo is there with its files and its
 * conflict, or not at all. No content that the conflict names is lost, even if gc runs before the repair.
 */

const ALL = process.env["SWEEP_ALL"] !== undefined;
const BASE = "one\ntwo\nthree\nfour\nfive\n";

/** What the run does. */
function work(disk: SimDisk): number {
  put(disk, "/proj/merged", BASE.replace("one", "ONE"));
  put(disk, "/proj/both", BASE.replace("one", "ONE").replace("five", "FIVE"));
  put(disk, "/proj/created", "created\n");
  disk.unlink("/proj/deleted");
  disk.syncFolder("/proj");
  return 0;
}

/** What somebody does later. */
function later(disk: SimDisk): void {
  put(disk, "/proj/merged", BASE.replace("one", "ONE").replace("five", "later"));
  put(disk, "/proj/both", BASE.replace("one", "ONE").replace("five", "later"));
}

async function prepared(): Promise<{ readonly disk: SimDisk; readonly session: string }> {
  const folder = { folder: 0o755 };
  const disk = SimDisk.fromTree({
    "/proj/merged": BASE,
    "/proj/both": BASE,
    "/proj/deleted": "deleted\n",
    "/store": folder,
    "/config": folder,
    "/root": folder,
  });
  const store = await openSimStore(disk, { firstId: 0, command: () => work(disk) });
  const workspace = await store.open({ folder: "/proj", create: true });
  const { session } = await workspace.run({ command: ["work"] });
  later(disk);
  await workspace.snapshot();
  await workspace.close();
  await store.close();
  return { disk: disk.crash("keep"), session: session.session_id };
}

/** Checks that the contents that the open conflict names are in the store, although gc has run. */
async function contentsThere(workspace: WorkspaceApi): Promise<void> {
  const [conflict] = await workspace.conflicts();
  expect(conflict?.path).toBe("both");
  await workspace.resolve("both", { keep: "undo" });
  const { files } = await workspace.manifest(`seq:${(await workspace.head()).seq}`);
  expect(files["both"]?.hash).toBe(conflict?.undo_hash);
  expect((await workspace.verify()).problems).toEqual([]);
}

/** Runs gc before anything is repaired. If the log ends in a torn line, gc refuses and frees nothing. */
async function collect(workspace: WorkspaceApi): Promise<void> {
  try {
    await workspace.gc();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
  }
}

async function sweepOf(
  { disk, session }: Awaited<ReturnType<typeof prepared>>,
  redone: boolean,
): Promise<CrashSweep<Fact>> {
  const start = disk.crash("keep");
  if (redone) await withWorkspace(start, 1_000, (workspace) => workspace.undo({ session }));
  const step = (workspace: WorkspaceApi) => (redone ? workspace.redo() : workspace.undo({ session }));
  const begin = start.crash("keep");
  const done = begin.crash("keep");
  await withWorkspace(done, 2_000, step);
  const trees = { after: project(begin), before: project(done) };
  expect(trees.after).not.toEqual(trees.before);
  return {
    prepare: () => begin,
    run: (copy, acknowledge) =>
      withWorkspace(copy, 2_000, async (workspace) => {
        await step(workspace);
        acknowledge(await acknowledgedHead(workspace));
      }),
    check: async (copy, context) => {
      await withWorkspace(copy, 300_000, collect);
      await checkOldOrNew(copy, context, trees);
      await withWorkspace(copy, 600_000, async (workspace) => {
        const isDone = JSON.stringify(project(copy)) === JSON.stringify(trees.before);
        const open = (await workspace.conflicts()).length;
        expect(open).toBe(isDone === redone ? 0 : 1);
        if (open > 0) await contentsThere(workspace);
      });
    },
  };
}

it.each([
  ["undo of a run's work", false],
  ["redo of it", true],
])("crash sweep of the %s", async (name, redone) => {
  const result = await sweepCrashes({ ...(await sweepOf(await prepared(), redone)), ...(ALL ? {} : { every: 11 }) });
  process.stdout.write(
    `crash sweep of the ${name}: ${result.points} points, ${result.runs} runs, ${result.checks} checks\n`,
  );
  expect(result.points).toBeGreaterThan(30);
});
