import { expect, it } from "vitest";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { rebuildFromLog } from "./catch-up.ts";

it("a rebuild holds the lock until the index is filled", async () => {
  await using replica = await ReplicaRig.open({ a: "1" });
  const { context } = replica;
  const told: string[] = [];
  const exclusive = context.lock.exclusive.bind(context.lock);
  Object.assign(context.lock, {
    exclusive: async (ms: number) => {
      const held = await exclusive(ms);
      return {
        [Symbol.dispose]: () => {
          told.push("released");
          held[Symbol.dispose]();
        },
      };
    },
  });
  const apply = context.index.apply.bind(context.index);
  Object.assign(context.index, {
    apply: async (...given: Parameters<typeof apply>) => {
      await apply(...given);
      told.push("filled");
    },
  });
  await rebuildFromLog(context);
  expect([told.at(-1), told.includes("filled")]).toEqual(["released", true]);
});
