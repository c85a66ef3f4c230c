import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { HeldLock } from "../../test/helpers/held-lock.ts";
import { Project } from "../../test/helpers/project.ts";

const MIB = 1024 * 1024;

test("a transaction that can be neither committed nor rolled back says so, and swallows none that comes after it", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  await (await project.init()).close();
  await using workspace = await (await project.store({ waitMs: 50 })).open({ folder: project.folder });
  let lock: HeldLock | undefined;
  let left = "";
  const failed = workspace.transaction(async ({ id }) => {
    left = id;
    project.write("a.txt", "half\n");
    lock = await HeldLock.take(project.home);
  });
  const told: unknown = await failed.catch((error: unknown) => error);
  expect(told).toMatchObject({
    code: "LOCKED",
    message: expect.stringContaining(left),
    hint: expect.stringContaining(`chronicle transaction rollback ${left.slice(0, 8)}`),
    data: { transaction: left, status: "active" },
  });
  const early = workspace.transaction(() => project.write("never.txt", "x\n"));
  await expect(early).rejects.toMatchObject({ code: "LOCKED", data: { transaction: left } });
  await lock?.release();
  await workspace.transaction(() => project.write("later.txt", "mine\n"));
  expect(Object.keys(project.tree())).toEqual(["a.txt", "later.txt"]);
  expect(project.read("a.txt")).toBe("before\n");
  const [first, second] = await workspace.transactions();
  expect([first?.status, second?.status, second?.parent]).toEqual(["rolled_back", "committed", undefined]);
});

test("a commit that fails for a moment is tried again", async () => {
  await using project = new Project();
  await (await project.init()).close();
  await using workspace = await (await project.store({ waitMs: 2_000 })).open({ folder: project.folder });
  let released: Promise<void> | undefined;
  await workspace.transaction(async () => {
    project.write("a.txt", "1\n");
    const lock = await HeldLock.take(project.home);
    released = new Promise((resolve) => setTimeout(resolve, 3_000)).then(() => lock.release());
  });
  await released;
  expect((await workspace.transactions()).map(({ status }) => status)).toEqual(["committed"]);
});

test("a transaction of which the changes have no room is rolled back, and says so", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  await (await project.init()).close();
  const store = await project.store({ retention: { max_store_bytes: MIB } });
  await using workspace = await store.open({ folder: project.folder });
  let id = "";
  const failed = workspace.transaction((transaction) => {
    id = transaction.id;
    project.write("a.txt", randomBytes(MIB));
  });
  const told: unknown = await failed.catch((error: unknown) => error);
  expect(told).toMatchObject({
    code: "LIMIT_EXCEEDED",
    message: expect.stringContaining("was rolled back"),
    data: { transaction: id, status: "rolled_back" },
  });
  expect(project.read("a.txt")).toBe("before\n");
});
