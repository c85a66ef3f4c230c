import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Project } from "../helpers/project.ts";

const ACTIONS = 5_000;
const MIB = 1024 * 1024;

/** Bytes that do not compress, the same for the same seed. */
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
    "5,000 actions with max_snapshots 50: disk use is bounded, verify is clean, nothing referenced is missing",
    { timeout: 120_000 },
    async () => {
      // Fifteen thousand syncs of a real disk would be a test of that disk.
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
      // 80 MiB were written. At most some 16 MiB wait to be freed, beside what the 50 need.
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
