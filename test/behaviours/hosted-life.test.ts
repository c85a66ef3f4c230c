import { expect, it } from "vitest";
import { SimDisk } from "../../src/disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

it("begins, is opened by name, is listed", async () => {
  const disk = SimDisk.fromTree({
    "/store": { folder: 0o755 },
    "/config": { folder: 0o755 },
    "/root": { folder: 0o755 },
  });
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace, result } = await store.create({ name: "one" });
  expect(result).toMatchObject({ workspace: workspace.id, path: "", created: true, snapshot: { number: 0 } });
  await workspace.close();
  await expect(store.create({ name: "one" })).rejects.toMatchObject({ code: "REFUSED" });
  const again = await store.openById("one", { exact: true });
  await again.snapshot();
  await again.close();
  const fork = await store.create({ from: { workspace: "one" } });
  await fork.workspace.close();
  await store.archive("one");
  const third = await store.openById("one");
  await expect(third.snapshot()).rejects.toMatchObject({ code: "READ_ONLY" });
  expect(await third.snapshots()).toHaveLength(2);
  await third.close();
  await store.archive("one", false);
  await store.close();
});
