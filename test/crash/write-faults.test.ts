import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

/**
 * Writes that are asked for at once, on a disk of which any one operation fails (it is full once, or has an error). A
 * write that was acknowledged is there. All are then asked for again with the same ids, and each is done once.
 */

const folder = { folder: 0o700 };
const NAMES = ["a", "b/c", "d"];

interface Ground {
  readonly disk: SimDisk;
  readonly id: string;
}

async function prepared(kind: "hosted" | "folder"): Promise<Ground> {
  const disk = SimDisk.fromTree({ "/store": folder, "/config": folder, "/root": folder, "/proj": folder });
  const store = await openSimStore(disk, { firstId: 1 });
  const { workspace } = kind === "hosted" ? await store.create() : await store.init({ roots: ["/proj"] });
  await workspace.putFile("a", Buffer.from("before"));
  const { id } = workspace;
  await workspace.close();
  await store.close();
  return { disk, id };
}

async function opened({ disk, id }: Ground, firstId: number) {
  const store = await openSimStore(disk, { firstId });
  const workspace = await store.openById(id);
  return {
    workspace,
    [Symbol.asyncDispose]: async () => {
      await workspace.close().catch(() => undefined);
      await store.close().catch(() => undefined);
    },
  };
}

const putAll = (workspace: WorkspaceApi) =>
  Promise.allSettled(
    NAMES.map((name) => workspace.putFile(name, Buffer.from(`now ${name}`), { requestId: `r-${name}` })),
  );

/**
 * Asks for the writes while the nth operation on the disk fails, then once more. Returns the number of operations of
 * the first time, and what is wrong afterwards.
 */
async function once(ground: Ground, nth: number, errno: string): Promise<{ operations: number; wrong: string[] }> {
  const { disk } = ground;
  const wrong: string[] = [];
  let operations = 0;
  let failed = "";
  let told: readonly boolean[] = [];
  {
    await using first = await opened(ground, 10_000);
    const begin = disk.operations;
    disk.plan = ({ index, name, path, reads }) => {
      if (index - begin !== nth || reads) return "go";
      failed = `${nth} ${name} ${path}`;
      return { errno };
    };
    told = (await putAll(first.workspace)).map(({ status }) => status === "fulfilled");
    operations = disk.operations - begin;
    disk.plan = undefined;
    for (const [i, name] of NAMES.entries()) {
      const file = await first.workspace.file(name).catch(() => undefined);
      if (told[i] === true && file?.size !== `now ${name}`.length)
        wrong.push(`${failed}: ${name} was told, and is not there`);
    }
  }
  {
    await using second = await opened(ground, 20_000);
    const { workspace } = second;
    for (const [i, name] of NAMES.entries()) {
      const file = await workspace.file(name).catch(() => undefined);
      if (told[i] === true && file?.size !== `now ${name}`.length) wrong.push(`${failed}: ${name} is lost`);
    }
    for (const [i, one] of (await putAll(workspace)).entries())
      if (one.status === "rejected") wrong.push(`${failed}: ${NAMES[i]}: ${String(one.reason)}`);
    for (const name of NAMES) {
      const history = await workspace.history(name);
      const times = history.filter(({ size }) => size === `now ${name}`.length).length;
      if (times !== 1) wrong.push(`${failed}: ${name} was written ${times} times`);
      if (history.at(-1)?.size !== `now ${name}`.length && history[0]?.size !== `now ${name}`.length)
        wrong.push(`${failed}: ${name} is another one`);
    }
    const { problems } = await workspace.verify();
    if (problems.length > 0) wrong.push(`${failed}: ${JSON.stringify(problems)}`);
  }
  return { operations, wrong };
}

it.each([
  ["hosted", "EIO"],
  ["hosted", "ENOSPC"],
  ["folder", "EIO"],
  ["folder", "ENOSPC"],
  ["folder", "EINVAL"],
] as const)(
  "acknowledged writes stay, and each write is done once (%s, any one operation fails with %s)",
  async (kind, errno) => {
    const wrong: string[] = [];
    for (let nth = 0, operations = 1; nth < operations; nth += 1) {
      const found = await once(await prepared(kind), nth, errno);
      operations = Math.max(operations, found.operations);
      wrong.push(...found.wrong);
    }
    expect(wrong).toEqual([]);
  },
);

it.each([
  ["EILSEQ", "link", "d:x"],
  ["EINVAL", "link", "d:x"],
  ["ENAMETOOLONG", "link", "d:x"],
  ["EINVAL", "open", "new/d:x"],
  ["EFBIG", "write", "large"],
])("a write that the file system always refuses (%s of %s %s) stops no other write", async (errno, what, target) => {
  const ground = await prepared("folder");
  await using first = await opened(ground, 10_000);
  const { disk } = ground;
  disk.plan = ({ name, path }) => {
    const isHit = name === what && (what === "write" ? path.includes("/fd/") : path.endsWith("/d:x"));
    return isHit ? { errno } : "go";
  };
  await expect(first.workspace.putFile(target, Buffer.from("1"))).rejects.toMatchObject({ code: "REFUSED" });
  if (what === "write") disk.plan = undefined;
  await first.workspace.putFile("e", Buffer.from("1"));
  expect((await first.workspace.files()).files.map((one) => one.path)).toEqual(["a", "e"]);
  expect(disk.content("/proj/e")?.toString()).toBe("1");
});
