import { expect, it } from "vitest";
import type { WorkspacePath } from "../../core/values/path.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { answer } from "../log/answer.ts";
import { changesBetween } from "../read/diff.ts";
import { provedState } from "./proved-state.ts";

const PATH = "d/b" as WorkspacePath;

async function rig(): Promise<ReplicaRig & { readonly seq: number }> {
  const replica = await ReplicaRig.open({ a: "A", "d/b": "B" });
  return Object.assign(replica, { seq: await replica.head() });
}

it("a proved state stays what it is when a later one is proved", async () => {
  await using replica = await rig();
  const { context, seq } = replica;
  const before = await answer(context, () => provedState(context, seq));
  const then = await before.at(PATH);
  await replica.apply({ applied: 2, changes: [await replica.change("d/b", await replica.file("d/b", "new"))] });
  const head = await replica.head();
  const after = await answer(context, () => provedState(context, head));
  expect([before.seq, after.seq]).toEqual([seq, head]);
  expect([await before.at(PATH), [...before.touched]]).toEqual([then, []]);
  expect((await after.at(PATH))?.hash).not.toBe(then?.hash);
});

it("changes between the head that was proved last and the present one need no new index", async () => {
  await using replica = await rig();
  const { context, seq } = replica;
  await answer(context, () => provedState(context, seq));
  await replica.apply({ applied: 2, changes: [await replica.change("d/b", await replica.file("d/b", "new"))] });
  const head = await replica.head();
  let resets = 0;
  const reset = context.index.reset.bind(context.index);
  Object.assign(context.index, { reset: () => ((resets += 1), reset()) });
  expect(await answer(context, () => changesBetween(context, seq, head))).toMatchObject([{ path: "d/b" }]);
  expect(resets).toBe(0);
});
