import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { Project } from "../helpers/project.ts";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import { catchUp } from "../../src/engine/log/catch-up.ts";
import { capture, type Capture } from "../../src/engine/capture/capture.ts";
import type { Context } from "../../src/engine/log/context.ts";
import { operate } from "../../src/engine/capture/operate.ts";
import { readRange } from "../../src/engine/log/read-events.ts";
import { readyWrite } from "../../src/engine/write/ready-write.ts";
import { writeTogether } from "../../src/engine/write/write-together.ts";
import { openContext, type OpenedContext } from "../../src/compose/open-context.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";

/** The engine of a workspace as one more process would open it. */
async function engine(project: Project, id: string): Promise<OpenedContext> {
  const parts = partsOf(await project.store());
  return openContext(parts, id, { tasks: storeTasks(parts, id) });
}

/** The engine with another way to change files. */
function changingBy(apply: Context["worktree"]["apply"], { worktree, ...rest }: Context): Context {
  return { worktree: new Proxy(worktree, { get: (on, key) => (key === "apply" ? apply : bound(on, key)) }), ...rest };
}

/** Puts a file. Once the write is decided, `meanwhile` runs, and only then the file changes. */
async function writeSlowly(fast: Context, meanwhile: () => Promise<void>): Promise<void> {
  const begun = (begin: (() => Promise<void>) | undefined) => async () => {
    await begin?.();
    await meanwhile();
  };
  const context = changingBy((request) => fast.worktree.apply({ ...request, begin: begun(request.begin) }), fast);
  const put = { kind: "put", path: "a", content: Buffer.from("two"), options: {} } as const;
  const [outcome] = await writeTogether(context, [await readyWrite(context, put, { role: "person", actor: "host" })]);
  expect(outcome).toHaveProperty("answer");
}

function bound(on: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(on, key);
  return typeof value === "function" ? value.bind(on) : value;
}

/** Two processes that have one folder open. */
async function twoEngines(project: Project): Promise<{ both: readonly [Context, Context] } & AsyncDisposable> {
  await using closing = new AsyncDisposableStack();
  const { id } = await project.init();
  const open = async (): Promise<Context> => {
    const opened = await engine(project, id);
    closing.defer(() => opened.close());
    return opened.context;
  };
  const both = [await open(), await open()] as const;
  const kept = closing.move();
  return { both, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const [A, B] = ["a" as WorkspacePath, "b" as WorkspacePath];
/** After this time, the other process has looked at the folder, and waits for its turn. */
const LOOKED_MS = 200;

test("a process that looks between the decision of a write and its change of the file records no edit", async () => {
  await using project = new Project();
  project.write("a", "one");
  await using engines = await twoEngines(project);
  const [writer, other] = engines.both;
  await capture(other, { cause: "capture" });
  const { seq } = await writer.index.head();
  let looking: Promise<Capture> | undefined;
  await writeSlowly(writer, async () => {
    looking = capture(other, { cause: "capture" });
    await setTimeout(LOOKED_MS);
  });
  expect((await looking)?.changes).toEqual([]);
  const names: string[] = [];
  for await (const { recordId } of readRange(writer, seq + 1, (await writer.index.head()).seq)) names.push(recordId);
  expect(names.map((name) => name.split(":")[0])).toEqual(["intent", "file", "intent"]);
  expect(project.read("a")).toBe("two");
});

test("a process that reads between the beginning and the end of a write indexes the beginning, without a rebuild", async () => {
  await using project = new Project();
  project.write("a", "one");
  await using engines = await twoEngines(project);
  const [{ index, ...rest }, other] = engines.both;
  let resets = 0;
  const reset = (): Promise<void> => ((resets += 1), index.reset());
  const counting = new Proxy(index, { get: (on, key) => (key === "reset" ? reset : bound(on, key)) });
  const writer: Context = { index: counting, ...rest };
  let known = 0;
  await writeSlowly(writer, async () => {
    const { seq } = await index.head();
    const { head } = await catchUp(other, { recover: false });
    known = head.seq - seq;
  });
  expect([known, resets]).toEqual([2, 0]);
  const { head } = await catchUp(other, { recover: false });
  expect(await index.head()).toEqual(head);
  expect((await writer.log.refresh()).seq).toBe(head.seq);
});

test("a process that looks between a change of a file and its reversal records no edit", async () => {
  await using project = new Project();
  project.write("a", "one");
  project.write("b", "one");
  await using engines = await twoEngines(project);
  const [writer, other] = engines.both;
  await capture(other, { cause: "capture" });
  const { seq } = await writer.index.head();
  let looking: Promise<Capture> | undefined;
  // Does what an apply does that changes one file, and may not change the other.
  const context = changingBy(async ({ begin }) => {
    await begin?.();
    project.write("a", "two");
    looking = capture(other, { cause: "capture" });
    await setTimeout(LOOKED_MS);
    project.write("a", "one");
    return { applied: [], blocked: [{ path: B, reason: "not-permitted", detail: "" }], conflicts: [] };
  }, writer);
  const changes = (await writer.index.iterationsAt([A, B], seq)).map((row, i) => {
    return { path: [A, B][i] as WorkspacePath, before: row?.entry, after: undefined };
  });
  const { id } = await operate(context, { kind: "restore", summary: "all gone", changes, onBlocked: "fail" });
  expect(id).toBeUndefined();
  expect((await looking)?.changes).toEqual([]);
  expect(await writer.index.touched(seq, (await writer.index.head()).seq)).toEqual([]);
});
