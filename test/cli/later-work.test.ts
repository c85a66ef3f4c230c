import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("restore latest says how much recorded work is later than the last snapshot", async () => {
  using box = new Sandbox();
  box.write("a", "1");
  box.write("b", "1");
  await box.must(["init"]);
  box.write("a", "2");
  await box.must(["snapshot"]);
  const told = async (...args: readonly string[]): Promise<string | undefined> =>
    /^the last snapshot .*$/m.exec((await box.must(["restore", ...args])).stdout)?.[0];
  expect(await told("latest", "--dry-run")).toBeUndefined();
  box.write("a", "3");
  await box.must(["restore", "0"]);
  const sentence = expect.stringMatching(
    /^the last snapshot is from \d\d:\d\d; 2 later pieces of work are taken back with it$/,
  ) as string;
  expect(await told("latest", "--dry-run")).toEqual(sentence);
  expect(await told("latest", "b", "--dry-run")).toBeUndefined();
  expect(await told("1", "--dry-run")).toBeUndefined();
  expect(JSON.parse((await box.must(["restore", "latest", "--dry-run", "--json"])).stdout)).toMatchObject({
    changes: [{ path: "a" }],
  });
  expect(await told("latest")).toEqual(sentence);
  expect((await box.must(["diff", "1", "--", "a"])).stdout).toContain("no difference");
});

it("restore latest works after the events of the snapshot were dropped", async () => {
  using box = new Sandbox();
  box.write("a", "1");
  await box.must(["init"]);
  await box.must(["run", "--", "sh", "-c", "echo 2 > a"]);
  await box.must(["compact", "--drop-archive", "--yes"]);
  box.write("a", "3");
  expect((await box.must(["restore", "latest"])).stdout).toContain("restored: 1 modified");
  expect((await box.must(["cat", "a"])).stdout).toBe("2\n");
});
