import { expect, test } from "vitest";
import type { VerifyShape } from "../../api/shapes.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { type RecordHost, userRecords } from "./user-records.ts";

const host: RecordHost = {
  read: (work) => work(),
  change: (work) => work(),
  compact: () => expect.unreachable(),
  verify: () => expect.unreachable(),
};

test.each([false, true])("the lock of a workspace is held while its records are copied", async (readOnly) => {
  await using rig = await ReplicaRig.open({ a: "A" });
  const context = { ...rig.context, readOnly };
  const names: string[] = [];
  const store: typeof context.store = {
    ...context.store,
    newFolder: async (_folder, name) => {
      names.push(name);
      await expect(context.lock.exclusive(0)).rejects.toMatchObject({ code: "LOCKED" });
      return name;
    },
  };
  await userRecords({ ...context, store }, host).backup("copies");
  expect(names).toEqual([`records-${(await context.index.head()).seq}`]);
  (await context.lock.exclusive(0)).release();
});

test("the head that a verification returns is the last event that it has verified", async () => {
  await using rig = await ReplicaRig.open({ a: "A" });
  const { context } = rig;
  const verified = (await context.index.head()).seq;
  const records = userRecords(context, {
    ...host,
    verify: async () => {
      await records.upsert("later", { value: 1 });
      return { ok: true, events: verified, problems: [], notes: [] } as unknown as VerifyShape;
    },
  });
  expect(await records.verify()).toMatchObject({ events: verified, head: { seq: verified } });
});
