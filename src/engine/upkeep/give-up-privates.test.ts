import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { RecordBody } from "../../core/values/event.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { SimEngine } from "../../testing/sim-engine.ts";
import { openSimStore } from "../../testing/sim-store.ts";
import { startTurn } from "../actions/start-turn.ts";
import { privateBound, privateUse } from "../facts/private-use.ts";
import type { Context } from "../log/context.ts";
import { askForBudget } from "../log/private-room.ts";
import { withCommit } from "../commit/commit.ts";
import { readEvent } from "../log/read-events.ts";
import { keepToBudget } from "./private-budget.ts";
import { verify } from "./verify.ts";

const FOLDER = { folder: 0o755 };

/** Text that does not compress well. */
function longText(): string {
  return randomBytes(2_000).toString("hex");
}

/** Opens the engine of a workspace in which the prompts `1` to `4` are kept. */
async function promptsKept(): Promise<SimEngine> {
  const disk = SimDisk.fromTree({ "/proj/a": "1", "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  const store = await openSimStore(disk, { firstId: 0 });
  const { workspace } = await store.init({ roots: ["/proj"] });
  for (const turn of ["1", "2", "3", "4"]) await workspace.startTurn({ session: "s", turn, prompt: longText() });
  await workspace.close();
  return SimEngine.open(disk, workspace.id, { firstId: 10_000 });
}

function withBudget(context: Context, bytes: number): Context {
  const limits = { ...context.retention.limits, max_private_bytes: bytes };
  return { ...context, retention: { ...context.retention, limits } };
}

async function lastPrune(context: Context): Promise<RecordBody> {
  const row = await context.index.record(`prune:${context.workspaceId}`);
  if (row === undefined) throw new Error("nothing was pruned");
  return (await readEvent(context, row)).record;
}

/** Returns a context in which other work happens during the first call of a method of the index. */
function meanwhile(context: Context, method: keyof Context["index"], work: () => Promise<void>): Context {
  let isOver = false;
  const index = new Proxy(context.index, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (key !== method || isOver) return value.bind(target) as unknown;
      isOver = true;
      return async (...given: unknown[]) => {
        const answer: unknown = await Reflect.apply(value, target, given);
        await work();
        return answer;
      };
    },
  });
  return { ...context, index };
}

it("what another process records during a look at the budget is counted at the next look", async () => {
  await using engine = await promptsKept();
  const { context } = engine;
  const busy = meanwhile(context, "withContents", async () => {
    await startTurn(context, { session: "s", turn: "5", prompt: longText() });
  });
  askForBudget(context);
  await keepToBudget(busy);
  const { bytes } = await privateUse(context);
  expect(bytes).toBeGreaterThan(10_000);
  expect((await privateBound(context))?.bytes).toBeGreaterThanOrEqual(bytes);
});

it("nothing is given up once an operation has begun, even right before the lock is held", async () => {
  await using engine = await promptsKept();
  const context = withBudget(engine.context, 4_000);
  const pruned = () => context.index.record(`prune:${context.workspaceId}`);
  let isBegun = false;
  const busy = meanwhile(context, "openRecords", async () => {
    isBegun = true;
  });
  const [turn] = await context.index.records("turn:");
  const index = new Proxy(busy.index, {
    get: (target, key) => {
      if (key === "openRecords" && isBegun) return () => Promise.resolve([turn]);
      const value: unknown = Reflect.get(target, key, target);
      return value;
    },
  });
  askForBudget(context);
  await keepToBudget({ ...busy, index });
  expect([isBegun, await pruned()]).toEqual([true, undefined]);
  askForBudget(context);
  await keepToBudget(context);
  expect(await pruned()).toBeDefined();
});

it("a pruning by an earlier version brings nothing back that was given up", async () => {
  await using engine = await promptsKept();
  const first = withBudget(engine.context, 6_000);
  askForBudget(first);
  await keepToBudget(first);
  const { private: privates, ...record } = await lastPrune(first);
  await withCommit(first, (commit) =>
    commit.append([{ op: "upsert", recordId: `prune:${first.workspaceId}`, record }]),
  );
  const { problems, notes } = await verify(first);
  expect(problems).toEqual([]);
  expect(notes.join()).toContain("private contents of 2 runs and actions");
  const use = await privateUse(first);
  expect(use.items).toHaveLength(2);
  const second = withBudget(engine.context, 3_000);
  askForBudget(second);
  await keepToBudget(second);
  expect(privates).toMatchObject({ records: 2 });
  expect(await lastPrune(second)).toMatchObject({ private: { records: 3 } });
  expect((await verify(second)).problems).toEqual([]);
});
