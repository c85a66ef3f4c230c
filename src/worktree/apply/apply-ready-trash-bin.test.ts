import { expect, test } from "vitest";
import { TrashBin } from "./apply-ready.ts";

test("removals run one after another in the order of `add`, which does not wait for them", async () => {
  const bin = new TrashBin();
  const first = Promise.withResolvers<undefined>();
  const done: string[] = [];
  bin.add("one", async () => {
    await first.promise;
    done.push("one");
  });
  bin.add("two", async () => void done.push("two"));
  expect(done).toEqual([]);
  first.resolve(undefined);
  expect(await bin.emptied("two")).toBe(true);
  expect(done).toEqual(["one", "two"]);
  expect([await bin.emptied("one"), await bin.emptied("one"), await bin.emptied("none")]).toEqual([true, false, false]);
});

test("a failed removal is reported once, to the caller that asks for its token, and stops no other removal", async () => {
  const bin = new TrashBin();
  const trouble = Object.assign(new Error("EIO"), { code: "EIO" });
  bin.add("one", () => Promise.reject(trouble));
  // Two roots of one apply.
  bin.add("one", async () => undefined);
  bin.add("two", async () => undefined);
  await bin.end();
  expect(await bin.emptied("two")).toBe(true);
  await expect(bin.emptied("one")).rejects.toBe(trouble);
  expect(await bin.emptied("one")).toBe(false);
});
