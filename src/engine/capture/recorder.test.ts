import { setTimeout as pass } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { put } from "../../../test/helpers/engine-sweep.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import type { WatchHint, Worktree } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { historyOf } from "../read/history.ts";
import { Recorder } from "./recorder.ts";

const FOLDER = { folder: 0o755 };

/** Returns a context whose watcher the test replaces: the test gives the hints itself. */
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

/** Makes a recorded folder with the files `a` and `b`, to whose recorder the test gives the hints. */
async function recordedFolder() {
  const files = { "/proj/a": "1", "/proj/b": "1" };
  const disk = SimDisk.fromTree({ ...files, "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace } = await store.init({ roots: ["/proj"] });
  const { id } = workspace;
  await workspace.close();
  const engine = await SimEngine.open(disk, id, { firstId: 10_000 });
  return { disk, engine, ...watchedByHand(engine.context), [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

const contents = async (context: Context, path: string): Promise<(string | undefined)[]> =>
  (await historyOf(context, path)).map(({ hash }) => hash);

test("the paths of a failed capture are recorded with the next capture, not only at the end", async () => {
  await using folder = await recordedFolder();
  const { disk, context, hint } = folder;
  const recorder = new Recorder({ ...context, waitMs: 50 }, { cause: "run" });
  await recorder.start();
  const held = await context.lock.exclusive(1_000);
  put(disk, "/proj/a", "2");
  hint({ paths: [parsePath("a")] });
  await vi.waitFor(() => expect(recorder.failure).toMatchObject({ code: "LOCKED" }), { timeout: 5_000 });
  held.release();
  put(disk, "/proj/b", "2");
  hint({ paths: [parsePath("b")] });
  await vi.waitFor(async () => expect(await contents(context, "a")).toEqual([sha256("1"), sha256("2")]), {
    timeout: 5_000,
  });
  await recorder.stop();
});

test("intermediate states of a file that is written continuously are recorded", async () => {
  await using folder = await recordedFolder();
  const { disk, context, hint } = folder;
  const recorder = new Recorder(context, { cause: "run" });
  await recorder.start();
  const until = performance.now() + 5_000;
  let text = "1";
  for (; (await contents(context, "a")).length < 4 && performance.now() < until; await pass(10)) {
    put(disk, "/proj/a", (text += "."));
    hint({ paths: [parsePath("a")] });
  }
  expect((await contents(context, "a")).length).toBeGreaterThanOrEqual(4);
  await recorder.stop();
  expect((await contents(context, "a")).at(-1)).toBe(sha256(text));
});

test("a change without a hint is recorded at the end", async () => {
  await using folder = await recordedFolder();
  const { disk, context, hint } = folder;
  const recorder = new Recorder(context, { cause: "run" });
  await recorder.start();
  put(disk, "/proj/a", "2");
  put(disk, "/proj/b", "2");
  hint({ paths: [parsePath("a")] });
  await vi.waitFor(async () => expect(await contents(context, "a")).toHaveLength(2), { timeout: 5_000 });
  expect(await contents(context, "b")).toHaveLength(1);
  await recorder.stop();
  expect(await contents(context, "b")).toHaveLength(2);
});

test("a stopped recorder captures nothing more, even if hints came during its last capture", async () => {
  await using folder = await recordedFolder();
  const { disk, context, hint } = folder;
  const recorder = new Recorder(context, { cause: "run" });
  await recorder.start();
  const held = await context.lock.exclusive(1_000);
  put(disk, "/proj/a", "2");
  hint({ paths: [parsePath("a")] });
  // The recorder's capture waits for the lock.
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
