import { beforeEach, expect, test } from "vitest";
import { put } from "../helpers/engine-sweep.ts";
import { TwoProcesses } from "../helpers/two-processes.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";

/**
 * What another process has recorded, and was killed before it could bring it into the index, is known to whoever changes
 * something next: the log is the truth.
 */

const folder = { folder: 0o755 };
let disk: SimDisk;
let processes: TwoProcesses;

beforeEach(async () => {
  let ms = Date.parse("2030-01-01T00:00:00Z");
  const clock = (): number => (ms += 3_000);
  disk = SimDisk.fromTree(
    { "/proj/a": "1", "/store": folder, "/config": folder, "/root": folder },
    { clock: () => BigInt(clock()) * 1_000_000n },
  );
  processes = new TwoProcesses(disk, clock);
  await processes.open();
  put(disk, "/proj/a", "2");
  await processes.workspace.snapshot();
  // The other one takes it back, and is gone; this one was open all the while.
  await processes.swap();
  put(disk, "/proj/a", "3");
  await processes.workspace.snapshot();
  await processes.workspace.restore("0");
  await processes.swap();
});

function content(path: string): string {
  const fd = disk.open(path, "read");
  const bytes = Buffer.alloc(disk.fstat(fd).size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return bytes.toString();
}

test.each([{ dryRun: true }, { dryRun: false }])("undo takes its operation back: %o", async (options) => {
  const { changes } = await processes.workspace.undo(options);
  expect(changes.map(({ path }) => path)).toEqual(["a"]);
  expect(content("/proj/a")).toBe(options.dryRun ? "1" : "3");
});

test.each([{ dryRun: true }, { dryRun: false }])("its snapshots can be gone back to: %o", async (options) => {
  const { changes } = await processes.workspace.restore("2", options);
  expect(changes.map(({ path }) => path)).toEqual(["a"]);
  expect(content("/proj/a")).toBe(options.dryRun ? "1" : "3");
});

test("what it has recorded can be pinned", async () => {
  await expect(processes.workspace.pin("2")).resolves.toBeUndefined();
});

test("once it has dropped the archive, nothing is looked for in it", async () => {
  await processes.swap();
  await processes.workspace.compact({ dropArchive: true });
  await processes.swap();
  expect((await processes.workspace.restore("latest")).changes).toEqual([]);
  expect((await processes.workspace.verify()).problems).toEqual([]);
});

test.each([false, true])(
  "what it has recorded as gone, and is there again as before, is recorded: archive dropped %s",
  async (drop) => {
    disk.makeFolder("/proj/kept");
    put(disk, "/proj/kept/y", "same");
    await processes.workspace.snapshot();
    await processes.workspace.snapshot();
    await processes.swap();
    disk.rename("/proj/kept", "/proj/away");
    await processes.workspace.snapshot();
    if (drop) await processes.workspace.compact({ dropArchive: true });
    disk.rename("/proj/away", "/proj/kept");
    await processes.swap();
    await processes.workspace.snapshot();
    const { files } = await processes.workspace.manifest("latest");
    expect(Object.keys(files)).toEqual(["a", "kept", "kept/y"]);
  },
);
