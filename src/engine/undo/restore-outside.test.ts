import { expect, test } from "vitest";
import { put } from "../../../test/helpers/engine-sweep.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import { DiskOutsideFiles } from "../../worktree/outside/disk-outside-files.ts";
import { finishAction } from "../actions/finish-action.ts";
import { snapshotAction } from "../actions/snapshot-action.ts";
import { listActions } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { rollback } from "./restore.ts";

const FOLDER = { folder: 0o755 };

/** Returns a context in which no outside path can be replaced, because `error` is thrown. */
function failing(context: Context, error: Error): Context {
  const replace = (): Promise<never> => Promise.reject(error);
  const outside = new Proxy(context.outside, {
    get: (target, key) => {
      const value: unknown = key === "replace" ? replace : Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { ...context, outside };
}

/** Opens the engine of a workspace on a disk with these files outside of the workspace. */
async function opened(outside: Readonly<Record<string, string>>) {
  const tree = { ...outside, "/proj/a": "1", "/store": FOLDER, "/config": FOLDER, "/root": FOLDER };
  const disk = SimDisk.fromTree(tree);
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace } = await store.init({ roots: ["/proj"] });
  const { id } = workspace;
  await workspace.close();
  const engine = await SimEngine.open(disk, id, { firstId: 10_000 });
  const { context } = engine;
  return { disk, context, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

test("a rollback of outside paths that fails ends its action with the reason for the failure", async () => {
  await using machine = await opened({ "/etc/conf": "was" });
  const { disk, context } = machine;
  const action = await snapshotAction(context, { type: "write_file", payload: { path: "/etc/conf" } });
  put(disk, "/etc/conf", "is");
  await finishAction(context, action?.id ?? "");
  const error = new TypeError("a defect of Chronicle's");
  const outside = ["/etc/conf"];
  await expect(rollback(failing(context, error), action?.id ?? "", { outside })).rejects.toBe(error);
  const own = (await listActions(context)).at(-1);
  expect(own).toMatchObject({ type: "restore_outside", state: "failed", reason: "a defect of Chronicle's" });
});

test("a dry run lists exactly the existing files beyond the limits as skipped", async () => {
  const names = ["a", "b", "c", "d", "e"];
  await using machine = await opened(Object.fromEntries(names.map((name) => [`/etc/d/${name}`, "was"])));
  const { disk, context } = machine;
  const action = await snapshotAction(context, { type: "run_command", payload: { command: "rm -rf /etc/d" } });
  for (const name of names) put(disk, `/etc/d/${name}`, "is");
  disk.unlink("/etc/d/e");
  await finishAction(context, action?.id ?? "");
  const limits = { maxEntries: 3, maxFileSize: 1_000, maxBytes: 1_000 };
  const outside = new DiskOutsideFiles({ disk, own: [], roots: ["/proj"], limits });
  const how = { outside: ["/etc/d"], dryRun: true };
  const { changes, skipped } = await rollback({ ...context, outside }, action?.id ?? "", how);
  expect(changes).toMatchObject([
    { path: "/etc/d/a", change_type: "modified" },
    { path: "/etc/d/b", change_type: "modified" },
    { path: "/etc/d/e", change_type: "created" },
  ]);
  expect(skipped.map(({ path }) => path)).toEqual(["/etc/d/c", "/etc/d/d"]);
});

test("a file outside that comes back without its setuid bit is listed as skipped, and then nothing else is left to do", async () => {
  await using machine = await opened({ "/etc/tool": "was" });
  const { disk, context } = machine;
  const fd = disk.open("/etc/tool", "read");
  disk.chmod(fd, 0o4755);
  disk.close(fd);
  const action = await snapshotAction(context, { type: "write_file", payload: { path: "/etc/tool" } });
  disk.unlink("/etc/tool");
  await finishAction(context, action?.id ?? "");
  const told = async (dryRun: boolean) => {
    const { changes, skipped } = await rollback(context, action?.id ?? "", { outside: ["/etc/tool"], dryRun });
    return { made: changes.map(({ change_type: type }) => type), left: skipped.map(({ reason }) => reason) };
  };
  const left = ["special-bits"];
  expect(await told(true)).toEqual({ made: ["created"], left });
  expect(await told(false)).toEqual({ made: ["created"], left });
  expect(disk.lstat("/etc/tool")?.mode).toBe(0o755);
  expect(await told(false)).toEqual({ made: [], left });
});
