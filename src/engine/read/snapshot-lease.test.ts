import { expect, it } from "vitest";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { takeSnapshot } from "./snapshot.ts";

it("the contents of a snapshot are protected from the collector until the snapshot is recorded", async () => {
  await using replica = await ReplicaRig.open({ a: "1" });
  const { context } = replica;
  let leases = 0;
  const lease = context.blobs.lease.bind(context.blobs);
  Object.assign(context.blobs, {
    lease: async () => {
      const held = await lease();
      leases += 1;
      return {
        [Symbol.dispose]: () => {
          leases -= 1;
          held[Symbol.dispose]();
        },
      };
    },
  });
  const held: [string, boolean][] = [];
  const append = context.log.append.bind(context.log);
  Object.assign(context.log, {
    append: async (events: Parameters<typeof append>[0]) => {
      held.push([events[0]?.recordId.split(":")[0] ?? "", leases > 0]);
      return append(events);
    },
  });
  await takeSnapshot(context, { name: "named" });
  expect(held.at(-1)).toEqual(["snapshot", true]);
  expect(leases).toBe(0);
});
