import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { type SweepContext, sweepCrashes } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { text } from "../helpers/content-text.ts";
import { newDisk, withWorkspace } from "../helpers/engine-sweep.ts";

/**
 * A crash at any operation of writes that are asked for at once: each write is there completely or not at all, the
 * acknowledged ones are there, and the same requests, sent again, are done once.
 */

const ALL = process.env["SWEEP_ALL"] !== undefined;

/** The writes of a sweep, by their requests. */
const WRITES: Readonly<Record<string, (workspace: WorkspaceApi) => Promise<unknown>>> = {
  replaced: (workspace) => workspace.putFile("a.txt", Buffer.from("written\n"), { requestId: "replaced" }),
  made: (workspace) => workspace.putFile("new/deep/f.txt", Buffer.from("made\n"), { requestId: "made" }),
  moved: (workspace) => workspace.moveFile("dir", "moved/here", { requestId: "moved" }),
  deleted: (workspace) => workspace.deleteFile("run.sh", { requestId: "deleted" }),
};

/** The names of the writes that are done, judged by the files. Throws if a write is half done. */
function doneIn(files: Readonly<Record<string, string>>): ReadonlySet<string> {
  const done = new Set<string>();
  const has = (...paths: string[]): number => paths.filter((path) => path in files).length;
  expect(["alpha\n", "written\n"]).toContain(files["a.txt"]);
  if (files["a.txt"] === "written\n") done.add("replaced");
  const made = has("new", "new/deep", "new/deep/f.txt");
  const [from, to] = [
    has("dir", "dir/b.txt", "dir/c.txt"),
    has("moved", "moved/here", "moved/here/b.txt", "moved/here/c.txt"),
  ];
  expect([0, 3]).toContain(made);
  expect([
    [3, 0],
    [0, 4],
  ]).toContainEqual([from, to]);
  if (made > 0) done.add("made");
  if (to > 0) done.add("moved");
  if (has("run.sh") === 0) done.add("deleted");
  return done;
}

async function filesOf(workspace: WorkspaceApi): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { path } of (await workspace.files()).files) found[path] = await text(await workspace.file(path));
  return found;
}

async function writeAll(workspace: WorkspaceApi, acknowledge: (name: string) => void): Promise<void> {
  const all = Object.entries(WRITES).map(async ([name, write]) => {
    await write(workspace);
    acknowledge(name);
  });
  const failed = (await Promise.allSettled(all)).find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

type Opened = <T>(disk: SimDisk, firstId: number, work: (workspace: WorkspaceApi) => Promise<T>) => Promise<T>;

async function check(disk: SimDisk, { acknowledged, error }: SweepContext<string>, opened: Opened): Promise<void> {
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError))
    throw new Error("a bare system error reached the caller", { cause: error });
  await opened(disk, 500_000, async (workspace) => {
    // The next change finishes what the crash interrupted.
    await workspace.putFile("next", Buffer.from("next"));
    const done = doneIn(await filesOf(workspace));
    for (const name of acknowledged) expect(done, `${name} was acknowledged`).toContain(name);
    const history = await workspace.history("a.txt");
    await writeAll(workspace, () => undefined);
    expect(doneIn(await filesOf(workspace)).size).toBe(4);
    if (done.has("replaced")) expect((await workspace.history("a.txt")).length).toBe(history.length);
    expect((await workspace.status()).changes).toEqual([]);
    expect((await workspace.verify()).problems.filter((one) => one.kind !== "torn-tail")).toEqual([]);
  });
}

it("crash sweep of writes beside a folder", async () => {
  const disk = newDisk();
  await withWorkspace(disk, 0, async () => undefined);
  const start = disk.crash("keep");
  const result = await sweepCrashes<string>({
    prepare: () => start,
    run: (copy, acknowledge) => withWorkspace(copy, 1_000, (workspace) => writeAll(workspace, acknowledge)),
    check: (copy, context) => check(copy, context, withWorkspace),
    ...(ALL ? {} : { every: 7 }),
  });
  expect(result.points).toBeGreaterThan(30);
});

it("crash sweep of a write whose file a capture sees first: the change still belongs to the write", async () => {
  const disk = newDisk();
  await withWorkspace(disk, 0, async () => undefined);
  const start = disk.crash("keep");
  let [found, takenBack] = [0, 0];
  await sweepCrashes<string>({
    prepare: () => start,
    run: (copy) => withWorkspace(copy, 1_000, async (workspace) => void (await WRITES["replaced"]?.(workspace))),
    check: (copy) =>
      withWorkspace(copy, 500_000, async (workspace) => {
        await workspace.record(["a.txt"]);
        const history = await workspace.history("a.txt");
        expect(history.map(({ cause }) => cause)).toEqual(["baseline", "write", "write"].slice(0, history.length));
        if (history.length === 1) return;
        if (history.length === 3) {
          // The write was decided, but its content could not be put into place, so it was undone.
          takenBack += 1;
          expect([history[2]?.hash, await text(await workspace.file("a.txt"))]).toEqual([history[0]?.hash, "alpha\n"]);
          expect(await workspace.operations()).toEqual([]);
          return;
        }
        found += 1;
        // This finishes the interrupted write: an undo that finds one only finishes it, and does nothing more.
        await workspace.putFile("next", Buffer.from("next"));
        const [operation] = await workspace.operations();
        await workspace.undo({ operation: operation?.id ?? "" });
        expect(await text(await workspace.file("a.txt"))).toBe("alpha\n");
      }),
  });
  expect(found).toBeGreaterThan(0);
  expect(takenBack).toBeGreaterThan(0);
});

const inHosted: Opened = async (disk, firstId, work) => {
  const store = await openSimStore(disk, { firstId });
  try {
    const workspace = await store.openById("w");
    try {
      return await work(workspace);
    } finally {
      await workspace.close();
    }
  } finally {
    await store.close();
  }
};

it("crash sweep of writes without a folder", async () => {
  const disk = newDisk();
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace } = await store.create({ name: "w" });
  const files = { "a.txt": "alpha\n", "dir/b.txt": "beta\n", "dir/c.txt": "gamma\n", "run.sh": "echo\n" };
  for (const [path, content] of Object.entries(files)) await workspace.putFile(path, Buffer.from(content));
  await workspace.close();
  await store.close();
  const start = disk.crash("keep");
  const result = await sweepCrashes<string>({
    prepare: () => start,
    run: (copy, acknowledge) => inHosted(copy, 1_000, (opened) => writeAll(opened, acknowledge)),
    check: (copy, context) => check(copy, context, inHosted),
  });
  expect(result.points).toBeGreaterThan(10);
});
