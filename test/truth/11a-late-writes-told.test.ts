import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { put } from "../helpers/engine-sweep.ts";

const LATE = "by a program that goes on writing\n";

function newDisk(): SimDisk {
  const folder = { folder: 0o755 };
  return SimDisk.fromTree(
    { "/proj/live": "before\n", "/proj/other": "before\n", "/store": folder, "/config": folder, "/root": folder },
    { countsReads: false },
  );
}

/** Writes into the file that is there, as a program does that has it open: the inode stays. */
function overwrite(disk: SimDisk, path: string, text: string): void {
  const fd = disk.open(path, "update");
  disk.truncate(fd, 0);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

/** Writes to `live` once, right before a rename replaces it. */
function writeBeforeRename(disk: SimDisk): void {
  disk.plan = ({ name, path }) => {
    if (name !== "rename" || !path.endsWith("/live")) return "go";
    disk.plan = undefined;
    overwrite(disk, "/proj/live", LATE);
    return "go";
  };
}

function copiesIn(disk: SimDisk): string[] {
  return disk
    .list("/proj")
    .map(({ name }) => name.toString())
    .filter((name) => name.includes(".conflict-"));
}

function idle(): number {
  return 0;
}

async function withSim<T>(
  disk: SimDisk,
  command: () => number,
  work: (workspace: WorkspaceApi) => Promise<T>,
  { firstId = 1, told = [] }: { readonly firstId?: number; readonly told?: string[] } = {},
): Promise<T> {
  const store = await openSimStore(disk, { firstId, command, onNote: (note) => told.push(note) });
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

describe("Truth 11a: a program's write while a rollback replaces its file is kept beside it, and reported", () => {
  it("by the run that is rolled back, which does not count as rolled back", async () => {
    const disk = newDisk();
    const failing = (): number => {
      put(disk, "/proj/live", "after\n");
      put(disk, "/proj/other", "after\n");
      return 3;
    };
    const ran = await withSim(disk, failing, (workspace): Promise<RunShape> =>
      workspace.run({ command: ["fail"], rollbackOnFailure: true, onStart: () => writeBeforeRename(disk) }),
    );
    const [copy = "", ...more] = copiesIn(disk);
    expect([disk.content(`/proj/${copy}`)?.toString(), more]).toEqual([LATE, []]);
    expect(ran.conflicts).toEqual([{ path: "live", kept_at: copy }]);
    expect(ran).toMatchObject({
      rolled_back: false,
      not_rolled_back: { paths: [copy], reason: expect.stringContaining("written") as unknown },
    });
  });

  it("by the rollback of a transaction", async () => {
    const disk = newDisk();
    const rolled = await withSim(disk, idle, async (workspace) => {
      const { id } = await workspace.beginTransaction({ pid: null });
      put(disk, "/proj/live", "after\n");
      writeBeforeRename(disk);
      return workspace.rollbackTransaction(id);
    });
    expect(rolled.undo.conflicts).toEqual([{ path: "live", kept_at: copiesIn(disk)[0] }]);
  });

  it("by the command that rolls back a transaction whose process is gone", async () => {
    const disk = newDisk();
    await withSim(disk, idle, async (workspace) => {
      await workspace.beginTransaction({});
      put(disk, "/proj/live", "after\n");
      await workspace.snapshot();
    });
    const told: string[] = [];
    writeBeforeRename(disk);
    await withSim(disk, idle, (workspace) => workspace.snapshot(), { firstId: 1_000, told });
    expect(told).toContain(
      `live was written during this operation: a copy of what was written is kept as ${copiesIn(disk)[0] ?? "none"}`,
    );
  });
});
