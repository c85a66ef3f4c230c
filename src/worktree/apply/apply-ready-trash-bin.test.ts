import { expect, test } from "vitest";
import { TrashBin } from "./apply-ready.ts";

test("what comes later waits for what came before, and for nobody who adds", async () => {
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

test("what could not go is told to who asks for it, once, and hinders nobody else", async () => {
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
