import { expect, it } from "vitest";
import { markOf } from "../../core/log/commit-mark.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { parsePath } from "../../core/values/path.ts";
import { catchUp } from "../log/catch-up.ts";
import { withCommit } from "../commit/commit.ts";
import { nearestRoot } from "./stated-root.ts";
import { rootAtHead } from "../log/tree.ts";
import { verify } from "../upkeep/verify.ts";

it("the nearest root at or before the last event of a commit is stated by that event, and is right", async () => {
  await using replica = await ReplicaRig.open({ a: "A", "d/b": "B" });
  const { context } = replica;
  const begun = await replica.head();
  await replica.apply({ applied: 2, changes: [await replica.change("d/b", await replica.file("d/b", "new"))] });
  const end = await replica.head();
  const nearest = await nearestRoot(context, end);
  expect(nearest).toMatchObject({ seq: end, root: await rootAtHead(context, end) });
  expect((await nearestRoot(context, end - 1))?.seq).toBeLessThanOrEqual(begun);
  expect(await nearestRoot(context, 2)).toBe(undefined);
  expect((await nearestRoot(context, 3))?.seq).toBe(3);
  const [last] = await replica.events(end);
  expect(last === undefined ? undefined : markOf(last)).toEqual({ first: expect.any(Number), root: nearest?.root });
  expect((await verify(context)).problems).toEqual([]);
});

it("at least one commit in 1,000 events states the root, and each one knows its first and last event", async () => {
  await using replica = await ReplicaRig.open({ a: "A" });
  const { context } = replica;
  const start = await replica.head();
  for (let n = 0; n < 250; n += 1) {
    await withCommit(context, async (commit) => {
      const drafts = Array.from({ length: 9 }, (_, i) => ({
        op: "upsert" as const,
        recordId: `user:${n}-${i}`,
        record: { commit: "mine" },
      }));
      // The commit ends with an event of its own, which is not returned to the caller.
      expect(await commit.append(drafts)).toHaveLength(9);
    });
  }
  const end = await replica.head();
  expect(end).toBe(start + 2_500);
  for (let seq = start; seq <= end; seq += 123) {
    expect(seq - ((await nearestRoot(context, seq))?.seq ?? 0)).toBeLessThan(1_010);
    const commit = await context.index.commitFrom(seq + 1);
    if (seq < end)
      expect([commit?.first, (commit?.last ?? 0) - (commit?.first ?? 0)]).toEqual([
        start + 10 * Math.floor((seq - start) / 10) + 1,
        9,
      ]);
  }
  expect(await context.index.commitFrom(end + 1)).toBe(undefined);
  expect((await verify(context)).problems).toEqual([]);
});

it("folder hashes are stored even if a reader put the events of the commit into the index first", async () => {
  await using replica = await ReplicaRig.open({ "d/a": "A", "e/b": "B" });
  const { context } = replica;
  const append = context.log.append.bind(context.log);
  const write = async (path: string, text: string): Promise<void> => {
    await replica.apply({
      applied: await replica.head(),
      changes: [await replica.change(path, await replica.file(path, text))],
    });
  };
  context.log.append = async (events) => {
    await append(events);
    await catchUp(context, { recover: false });
  };
  await write("d/a", "overtaken");
  context.log.append = append;
  expect(await context.index.treeSeq()).toBe(await replica.head());
  await write("e/b", "later");
  expect((await verify(context)).problems).toEqual([]);
  const stored = await context.index.treeHashAt(parsePath("d"), await replica.head());
  expect(await rootAtHead(context, await replica.head())).toBe(
    (await nearestRoot(context, await replica.head()))?.root,
  );
  await context.index.reset();
  await catchUp(context, { recover: false });
  await rootAtHead(context, await replica.head());
  expect(await context.index.treeHashAt(parsePath("d"), await replica.head())).toBe(stored);
});

it("an index that was made anew in between gives the right root", async () => {
  await using replica = await ReplicaRig.open({ "d/a": "A", "e/b": "B" });
  const { context } = replica;
  const write = async (path: string, text: string): Promise<void> => {
    await replica.apply({
      applied: await replica.head(),
      changes: [await replica.change(path, await replica.file(path, text))],
    });
  };
  await write("d/a", "one");
  await context.index.reset();
  await catchUp(context, { recover: false });
  await write("e/b", "two");
  const head = await replica.head();
  expect(await rootAtHead(context, head)).toBe((await nearestRoot(context, head))?.root);
  expect((await verify(context)).problems).toEqual([]);
});
