import { setTimeout as pass } from "node:timers/promises";
import { expect, test } from "vitest";
import { put } from "../../../test/helpers/engine-sweep.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import type { WatchHint, Worktree } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { Recorder } from "./recorder.ts";

const FOLDER = { folder: 0o755 };

/** A context whose folder is watched by the test: it says itself what was seen. */
function watchedByHand(context: Context): { readonly context: Context; readonly hint: (hint: WatchHint) => void } {
  let onHint: (hint: WatchHint) => void = () => undefined;
  const watch: Worktree["watch"] = (given) => {
    onHint = given;
    return Promise.resolve({
      degraded: false,
      settled: () => Promise.resolve(true),
      close: () => Promise.resolve(),
    });
  };
  const worktree = new Proxy(context.worktree, {
    get: (target, key) => {
      const value: unknown = key === "watch" ? watch : Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  return { context: { ...context, worktree, waitMs: 10_000 }, hint: (hint) => onHint(hint) };
}

test("once it is stopped, nothing is looked at any more, also where hints came during its last look", async () => {
  const disk = SimDisk.fromTree({
    "/proj/a": "1",
    "/proj/b": "1",
    "/store": FOLDER,
    "/config": FOLDER,
    "/root": FOLDER,
  });
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace } = await store.init({ roots: ["/proj"] });
  const { id } = workspace;
  await workspace.close();
  await using engine = await SimEngine.open(disk, id, { firstId: 10_000 });
  const { context, hint } = watchedByHand(engine.context);
  const recorder = new Recorder(context, { cause: "run" });
  await recorder.start();
  const held = await context.lock.exclusive(1_000);
  put(disk, "/proj/a", "2");
  hint({ paths: [parsePath("a")] });
  // Its look waits for the lock.
  await pass(200);
  hint({ paths: [parsePath("b")] });
  const stopped = recorder.stop();
  held.release();
  await stopped;
  put(disk, "/proj/b", "a person's");
  const { seq } = await context.index.head();
  await pass(1_500);
  expect((await context.index.head()).seq).toBe(seq);
});
