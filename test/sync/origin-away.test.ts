import { expect, it } from "vitest";
import { FolderRig } from "../../src/testing/folder-rig.ts";

it("a replica reports that the origin's folder is away, also if it connects then, until the folder is back", async () => {
  const rig = await FolderRig.start({ a: "1" });
  const { desk, host } = rig;
  await rig.flush();
  const told = (): unknown => [desk.sync.shape.origin_away_since, desk.sync.shape.degraded];
  expect(told()).toEqual([undefined, undefined]);
  host.awaySince = Date.UTC(2030, 0, 2);
  await rig.pass(500);
  const away = ["2030-01-02T00:00:00.000Z", expect.stringContaining("missing since 2030-01-02T00:00:00.000Z")];
  expect(told()).toEqual(away);

  desk.cut();
  await rig.until(() => desk.sync.shape.state === "offline");
  expect(told()).toEqual([undefined, undefined]);
  desk.heal();
  await rig.until(() => desk.sync.shape.state === "in-sync");
  await rig.pass(10);
  expect(told()).toEqual(away);

  host.awaySince = undefined;
  await rig.pass(500);
  expect(told()).toEqual([undefined, undefined]);
  await rig.close();
});

it("a flush that takes too long says what is in the way", async () => {
  const rig = await FolderRig.start({ a: "1" });
  await rig.flush();
  rig.desk.cut();
  rig.desk.edit("a", "2");
  await rig.until(() => rig.desk.sync.shape.state === "offline");
  await expect(rig.during(rig.desk.sync.flush({ timeoutMs: 1_000 }))).rejects.toThrow(
    "the sync did not come to rest within 1000 ms: the network is cut",
  );
  rig.desk.heal();
  await rig.flush();
  await rig.close();
});
