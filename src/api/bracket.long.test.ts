import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HeldLock } from "../../test/helpers/held-lock.ts";
import { Project } from "../../test/helpers/project.ts";
import { TransactionBracket } from "./bracket.ts";
import type { WorkspaceApi } from "./workspace-api.ts";

const MIB = 1024 * 1024;

test("a transaction that can be neither committed nor rolled back says this, and contains no later transaction", async () => {
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

test("a commit that fails because the store is locked for a moment is tried again", async () => {
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

test("a transaction whose changes exceed the store's limit is rolled back, and the error says this", async () => {
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

describe("an error that is not a ChronicleError is reported as one with the code IO", () => {
  /**
   * Returns a bracket on a real workspace. The methods in `names` fail with a `RangeError`, as after a fault in the
   * program.
   */
  function failing(workspace: WorkspaceApi, ...names: readonly (keyof WorkspaceApi)[]): TransactionBracket {
    const fail = (): Promise<never> => Promise.reject(new RangeError("out of range"));
    return new TransactionBracket(
      new Proxy(workspace, {
        get: (target, name: keyof WorkspaceApi) => {
          if (names.includes(name)) return fail;
          const member: unknown = target[name];
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        },
      }),
    );
  }

  test.each([
    ["the commit", ["commitTransaction"], "could not be committed, and was rolled back: out of range", "rolled_back"],
    ["the commit and then of the rollback", ["commitTransaction", "rollbackTransaction"], "is still open", "active"],
  ] as const)("after a failure of %s", async (_, names, message, status) => {
    await using project = new Project();
    await using workspace = await project.init();
    let id = "";
    const failed = failing(workspace, ...names).run((transaction) => {
      id = transaction.id;
    });
    const told: unknown = await failed.catch((error: unknown) => error);
    expect(told).toMatchObject({
      code: "IO",
      message: expect.stringContaining(message),
      data: { transaction: id, status },
      cause: expect.any(RangeError),
    });
  });

  test("after a failure of the work and then of the rollback", async () => {
    await using project = new Project();
    await using workspace = await project.init();
    const work = new Error("no such target");
    const failed = failing(workspace, "rollbackTransaction").run(() => {
      throw work;
    });
    await expect(failed).rejects.toMatchObject({
      code: "IO",
      message: expect.stringContaining("was not rolled back: out of range"),
      cause: work,
    });
  });
});

describe("an action whose end cannot be recorded", () => {
  const RUN = { type: "run_command", payload: { command: "make" } } as const;

  /** Opens a workspace in a store that is almost full. */
  async function full(project: Project): Promise<WorkspaceApi> {
    await (await project.init()).close();
    return (await project.store({ retention: { max_store_bytes: MIB } })).open({ folder: project.folder });
  }

  test("is closed all the same and fails with LIMIT_EXCEEDED, and later changes do not belong to it", async () => {
    await using project = new Project();
    await using workspace = await full(project);
    const failed = workspace.action(RUN, () => project.write("large.bin", randomBytes(2 * MIB)));
    await expect(failed).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    project.remove("large.bin");
    project.write("mine.txt", "a person's\n");
    await workspace.snapshot();
    expect(await workspace.list()).toMatchObject([{ state: "done" }]);
    expect((await workspace.history("mine.txt")).map(({ actor }) => actor)).toEqual(["human"]);
  });

  test("does not hide why its work failed", async () => {
    await using project = new Project();
    await using workspace = await full(project);
    const failed = workspace.action(RUN, () => {
      project.write("large.bin", randomBytes(2 * MIB));
      throw new Error("no such target");
    });
    await expect(failed).rejects.toThrow(/^no such target$/);
    expect(await workspace.list()).toMatchObject([
      { state: "failed", reason: expect.stringMatching(/^no such target; .*max_store_bytes/) },
    ]);
  });

  test("is ended before the next action begins, if nothing could be written at its end", async () => {
    await using project = new Project();
    await (await project.init()).close();
    await using workspace = await (await project.store({ waitMs: 50 })).open({ folder: project.folder });
    let lock: HeldLock | undefined;
    const failed = workspace.action(RUN, async () => {
      lock = await HeldLock.take(project.home);
      throw new Error("no such target");
    });
    await expect(failed).rejects.toMatchObject({ code: "LOCKED", cause: { message: "no such target" } });
    await expect(workspace.action(RUN, () => {})).rejects.toMatchObject({ code: "LOCKED" });
    await lock?.release();
    await workspace.action(RUN, () => project.write("a.txt", "1\n"));
    expect(await workspace.list()).toMatchObject([{ state: "failed" }, { state: "done" }]);
    expect((await workspace.history("a.txt")).map(({ actor }) => actor)).toEqual(["agent"]);
  });
});
