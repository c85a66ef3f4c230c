import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { put } from "../helpers/engine-sweep.ts";
import { Project } from "../helpers/project.ts";

const ACTIONS = 5_000;
const MIB = 1024 * 1024;

/** Bytes that cannot be compressed. The same seed gives the same bytes. */
function noise(seed: number, length: number): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i * 32 < length; i += 1) parts.push(createHash("sha256").update(`${seed} ${i}`).digest());
  return Buffer.concat(parts).subarray(0, length);
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a flood of actions", () => {
  it(
    "with max_snapshots 50, 5,000 actions use bounded disk space, and verify finds no problems",
    { timeout: 120_000 },
    async () => {
      // The test uses memory instead of a disk, because 15,000 syncs of a real disk would mostly test that disk.
      if (existsSync("/dev/shm")) vi.stubEnv("TMPDIR", "/dev/shm");
      await using project = new Project();
      for (let i = 0; i < 10; i += 1) project.write(`file-${i}.bin`, noise(i, 16_384));
      const store = await project.store({ retention: { max_snapshots: 50 } });
      const { workspace } = await store.init({ roots: [project.folder] });
      let most = 0;
      let listed = 0;
      for (let n = 1; n <= ACTIONS; n += 1) {
        const path = `file-${n % 10}.bin`;
        const action = await workspace.snapshotAction({ type: "write_file", payload: { path }, session: "flood" });
        project.write(path, noise(n * 100, 16_384));
        await workspace.finishAction(action?.id ?? "");
        if (n % 250 !== 0) continue;
        most = Math.max(most, (await workspace.du()).blobs.stored_bytes);
        listed = Math.max(listed, (await workspace.list()).length);
      }
      // 80 MiB were written. About 16 MiB at most wait to be freed, in addition to the contents of the 50 actions.
      expect(most).toBeLessThan(24 * MIB);
      expect(listed).toBeLessThanOrEqual(50);
      const found = await workspace.verify();
      expect(found.problems).toEqual([]);
      expect(found.notes.join("\n")).toMatch(/pruned 1\.\.\d+ by event \d+/);
      await workspace.gc();
      expect((await workspace.verify()).problems).toEqual([]);
      expect((await workspace.du()).blobs.stored_bytes).toBeLessThan(2 * MIB);
      const [first, second] = await workspace.list();
      for (const id of [second?.id, first?.id]) await workspace.rollback(id ?? "");
      expect(project.read("file-1.bin")).toBe(noise(1, 16_384).toString("utf8"));
      await workspace.restore("baseline");
      for (let i = 0; i < 10; i += 1) expect(project.read(`file-${i}.bin`)).toBe(noise(i, 16_384).toString("utf8"));
      await workspace.close();
    },
  );
});

describe("the time of the log", () => {
  const DAY = 24 * 3_600_000;
  const START = Date.parse("2030-01-01T00:00:00Z");

  /** Makes three actions, one a day, then one at each of `times`. Returns the number of listed actions after each. */
  async function listedAt(times: readonly number[]): Promise<number[]> {
    const folder = { folder: 0o755 };
    const disk = SimDisk.fromTree({ "/proj/a.txt": "0", "/store": folder, "/config": folder, "/root": folder });
    let now = START;
    const store = await openSimStore(disk, { firstId: 0, clock: () => now, retention: { max_age_days: 30 } });
    const workspace = await store.open({ folder: "/proj", create: true });
    const listed: number[] = [];
    for (const at of [0, DAY, 2 * DAY, ...times]) {
      now = START + at;
      const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" } });
      put(disk, "/proj/a.txt", String(at));
      await workspace.finishAction(action?.id ?? "");
      listed.push((await workspace.list()).length);
    }
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
    await store.close();
    return listed;
  }

  it("actions that are older than max_age_days are pruned", async () => {
    expect(await listedAt([31.5 * DAY, 33 * DAY])).toEqual([1, 2, 3, 2, 2]);
  });

  it("W13 a clock that jumps deletes nothing: into the year 2100, back again, and backwards", async () => {
    const far = Date.parse("2100-01-01T00:00:00Z") - START;
    expect(await listedAt([far, far + DAY, 3 * DAY, 4 * DAY, -9_000 * DAY])).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
