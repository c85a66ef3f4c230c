import { expect, test } from "vitest";
import { put } from "../../../test/helpers/engine-sweep.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import { finishAction } from "../actions/finish-action.ts";
import { snapshotAction } from "../actions/snapshot-action.ts";
import { listActions } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { rollback } from "./restore.ts";

const FOLDER = { folder: 0o755 };

/** A context in which no outside path can be replaced, because this error is thrown. */
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

test("a rollback of outside paths that fails ends its action with the reason for which it failed", async () => {
  const files = { "/proj/a": "1", "/etc/conf": "was" };
  const disk = SimDisk.fromTree({ ...files, "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace } = await store.init({ roots: ["/proj"] });
  const { id } = workspace;
  await workspace.close();
  await using engine = await SimEngine.open(disk, id, { firstId: 10_000 });
  const { context } = engine;
  const action = await snapshotAction(context, { type: "write_file", payload: { path: "/etc/conf" } });
  put(disk, "/etc/conf", "is");
  await finishAction(context, action?.id ?? "");
  const error = new TypeError("a defect of Chronicle's");
  const outside = ["/etc/conf"];
  await expect(rollback(failing(context, error), action?.id ?? "", { outside })).rejects.toBe(error);
  const own = (await listActions(context)).at(-1);
  expect(own).toMatchObject({ type: "restore_outside", state: "failed", reason: "a defect of Chronicle's" });
});
