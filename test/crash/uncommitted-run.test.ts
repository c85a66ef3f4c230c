import { expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { optional } from "../../src/util/optional.ts";
import { put } from "../helpers/engine-sweep.ts";

/**
 * Runs with `rollbackOnFailure` whose transaction the run itself does not commit: either the disk is full at some
 * operation after the command, or somebody else has committed the transaction meanwhile.
 */

const folder = { folder: 0o700 };

interface Opening {
  readonly firstId: number;
  /** The pid of the process that opens the store. Default: a new process; all earlier ones have ended. */
  readonly pid?: number;
  /** What the command does besides its work. Returns the command's exit code. Default: 0. */
  readonly command?: (workspace: WorkspaceApi) => Promise<number> | void;
}

async function opened<T>(
  disk: SimDisk,
  { firstId, pid, command }: Opening,
  work: (workspace: WorkspaceApi) => Promise<T>,
): Promise<T> {
  const store = await openSimStore(disk, {
    firstId,
    ...optional({ pid }),
    command: async () => {
      put(disk, "/proj/a", "after\n");
      put(disk, "/proj/new", "new\n");
      return (await command?.(workspace)) ?? 0;
    },
  });
  const workspace = await store.open({ folder: "/proj", create: true });
  try {
    return await work(workspace);
  } finally {
    await workspace.close().catch(() => undefined);
    await store.close().catch(() => undefined);
  }
}

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj/a": "before\n" });
}

/**
 * Runs a command with `rollbackOnFailure`. The nth operation of the disk after the command fails. Also returns the
 * number of operations after the command.
 */
async function runWith(
  disk: SimDisk,
  nth: number,
  lasting: boolean,
): Promise<{ readonly run: RunShape; readonly operations: number }> {
  let begin = 0;
  const command = (): void => {
    begin = disk.operations;
    disk.plan = ({ index, reads }) => (index - begin === nth && !reads ? { errno: "ENOSPC", lasting } : "go");
  };
  return opened(disk, { firstId: 1_000, command }, async (workspace) => {
    const run = await workspace.run({ command: ["work"], rollbackOnFailure: true });
    const operations = disk.operations - begin;
    disk.plan = undefined;
    return { run, operations };
  });
}

function contentsOf(disk: SimDisk): (string | undefined)[] {
  return ["/proj/a", "/proj/new"].map((path) => disk.content(path)?.toString());
}

it.each([
  ["once", false],
  ["from then on", true],
])(
  "a disk that is full %s: the run's work stays, and its transaction is committed, if need be by the hint",
  async (_when, lasting) => {
    const wrong: string[] = [];
    const wanted = JSON.stringify(["after\n", "new\n"]);
    let uncommitted = 0;
    for (let nth = 0, operations = 1; nth < operations; nth += 1) {
      const full = newDisk();
      const found = await runWith(full, nth, lasting);
      const disk = full.crash("keep");
      const { run } = found;
      operations = Math.max(operations, found.operations);
      if (run.rolled_back || run.not_rolled_back !== null) wrong.push(`${nth}: ${JSON.stringify(run)}`);
      if (run.not_committed !== undefined) {
        uncommitted += 1;
        expect(run.not_committed.reason).toMatch(
          /^its transaction could not be committed \(.*ENOSPC.* the next change/,
        );
        const [, id] = /^chronicle transaction commit (\w+)$/.exec(run.not_committed.hint) ?? [];
        await opened(disk, { firstId: 20_000 }, (workspace) => workspace.commitTransaction(id ?? ""));
      }
      await opened(disk, { firstId: 30_000 }, async (workspace) => {
        await workspace.snapshot();
        const states = (await workspace.transactions()).map(({ status }) => status);
        if (states.join() !== "committed") wrong.push(`${nth}: the transaction is ${states.join()}`);
        if (JSON.stringify(contentsOf(disk)) !== wanted) wrong.push(`${nth}: ${contentsOf(disk).join()}`);
        const { problems } = await workspace.verify();
        if (problems.length > 0) wrong.push(`${nth}: ${JSON.stringify(problems)}`);
      });
    }
    expect(wrong).toEqual([]);
    expect(uncommitted).toBeGreaterThan(0);
  },
);

/** A run whose transaction is committed through a second handle on the store while the command runs. */
async function committedMeanwhile(disk: SimDisk, code: number): Promise<RunShape> {
  const pid = 7;
  const command = async (workspace: WorkspaceApi): Promise<number> => {
    const [active] = await workspace.transactions();
    await opened(disk, { firstId: 2_000, pid }, (other) => other.commitTransaction(active?.id ?? ""));
    return code;
  };
  return opened(disk, { firstId: 1_000, pid, command }, (workspace) =>
    workspace.run({ command: ["work"], rollbackOnFailure: true }),
  );
}

it("a run whose transaction somebody committed meanwhile reports neither not_committed nor not_rolled_back", async () => {
  const disk = newDisk();
  const run = await committedMeanwhile(disk, 0);
  expect(run).toMatchObject({ exit_code: 0, not_rolled_back: null, rolled_back: false });
  expect(run.not_committed).toBeUndefined();
  expect(contentsOf(disk)).toEqual(["after\n", "new\n"]);
});

it("a failed run whose transaction somebody committed names the restore command that brings the files back", async () => {
  const disk = newDisk();
  const { not_rolled_back: left } = await committedMeanwhile(disk, 7);
  expect(left).toMatchObject({ paths: ["a", "new"], reason: expect.stringContaining("was committed already") });
  const [, moment] = /^chronicle restore (seq:\d+)$/.exec(left?.hint ?? "") ?? [];
  await opened(disk, { firstId: 30_000 }, (workspace) => workspace.restore(moment ?? ""));
  expect(contentsOf(disk)).toEqual(["before\n", undefined]);
});
