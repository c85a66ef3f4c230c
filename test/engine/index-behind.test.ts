import { beforeEach, expect, test } from "vitest";
import { put } from "../helpers/engine-sweep.ts";
import { TwoProcesses } from "../helpers/two-processes.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";

/**
 * Another process records events, and is killed before it can bring them into the index. The next operation of this
 * process knows them all the same, because the log is the truth.
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
  // The other process changes the file, restores the baseline, and is gone. This process was open all the time.
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

test.each([{ dryRun: true }, { dryRun: false }])(
  "undo undoes the other process's last operation: %o",
  async (options) => {
    const { changes } = await processes.workspace.undo(options);
    expect(changes.map(({ path }) => path)).toEqual(["a"]);
    expect(content("/proj/a")).toBe(options.dryRun ? "1" : "3");
  },
);

test.each([{ dryRun: true }, { dryRun: false }])("restore finds the other process's snapshots: %o", async (options) => {
  const { changes } = await processes.workspace.restore("2", options);
  expect(changes.map(({ path }) => path)).toEqual(["a"]);
  expect(content("/proj/a")).toBe(options.dryRun ? "1" : "3");
});

test("a snapshot of the other process can be pinned", async () => {
  await expect(processes.workspace.pin("2")).resolves.toBeUndefined();
});

test("restore and verify work without an archive that the other process has dropped", async () => {
  await processes.swap();
  await processes.workspace.compact({ dropArchive: true });
  await processes.swap();
  expect((await processes.workspace.restore("latest")).changes).toEqual([]);
  expect((await processes.workspace.verify()).problems).toEqual([]);
});

test.each([false, true])(
  "files that the other process recorded as gone, and that are back, are recorded again: archive dropped %s",
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
