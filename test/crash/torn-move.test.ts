import { expect, it } from "vitest";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

/** The machine stops in the middle of a move in a hosted workspace. A later reader sees the move done or not begun. */

const folder = { folder: 0o700 };

async function stoppedAt(nth: number) {
  const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder });
  const store = await openSimStore(disk, { firstId: 1 });
  const { workspace } = await store.create();
  await workspace.putFile("a/x", Buffer.from("before"));
  const begin = disk.operations;
  disk.plan = ({ index }) => (index - begin === nth ? "stop-torn" : "go");
  await workspace.moveFile("a", "z").catch(() => undefined);
  return { disk, id: workspace.id };
}

it.each(["keep", "forget"] as const)(
  "a move that is cut off anywhere is done or not begun (unsynced data: %s)",
  async (fate) => {
    let stops = 0;
    for (let nth = 0; ; nth += 1) {
      const { disk, id } = await stoppedAt(nth);
      if (!disk.stopped) break;
      stops += 1;
      const store = await openSimStore(disk.crash(fate), { firstId: 1_000 });
      const workspace = await store.openById(id);
      const { files } = await workspace.files();
      expect(["a,a/x", "z,z/x"]).toContain(files.map(({ path }) => path).join());
      expect((await workspace.verify()).problems).toEqual([]);
      await workspace.close();
      await store.close();
    }
    expect(stops).toBeGreaterThan(1);
  },
);
