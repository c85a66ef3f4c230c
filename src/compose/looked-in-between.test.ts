import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { Project } from "../../test/helpers/project.ts";
import { capture, type Capture } from "../workspace/capture.ts";
import type { Context } from "../workspace/context.ts";
import { readRange } from "../workspace/read-events.ts";
import { readyWrite } from "../workspace/ready-write.ts";
import { writeTogether } from "../workspace/write-together.ts";
import { openContext, type OpenedContext } from "./open-context.ts";
import { partsOf } from "./parts-of.ts";
import { storeTasks } from "./store-tasks.ts";

/** The engine of a workspace as one more process would open it. */
async function engine(project: Project, id: string): Promise<OpenedContext> {
  const parts = partsOf(await project.store());
  return openContext(parts, id, { tasks: storeTasks(parts, id) });
}

/** Puts a file; what it changes lands only after `meanwhile`, when it is decided. */
async function writeSlowly({ worktree, ...rest }: Context, meanwhile: () => Promise<void>): Promise<void> {
  const apply: typeof worktree.apply = (request) =>
    worktree.apply({
      ...request,
      begin: async () => {
        await request.begin?.();
        await meanwhile();
      },
    });
  const slow = new Proxy(worktree, { get: (on, key) => (key === "apply" ? apply : bound(on, key)) });
  const context: Context = { worktree: slow, ...rest };
  const put = { kind: "put", path: "a", content: Buffer.from("two"), options: {} } as const;
  const [outcome] = await writeTogether(context, [await readyWrite(context, put, { actor: "host" })]);
  expect(outcome).toHaveProperty("answer");
}

function bound(on: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(on, key);
  return typeof value === "function" ? value.bind(on) : value;
}

test("a write that is decided, and not in the folder yet, is nobody's edit to another process that looks just then", async () => {
  await using project = new Project();
  project.write("a", "one");
  const { id } = await project.init();
  await using closing = new AsyncDisposableStack();
  const open = async (): Promise<Context> => {
    const opened = await engine(project, id);
    closing.defer(() => opened.close());
    return opened.context;
  };
  const [writer, other] = [await open(), await open()];
  await capture(other, { cause: "capture" });
  const { seq } = await writer.index.head();
  let looking: Promise<Capture> | undefined;
  await writeSlowly(writer, async () => {
    looking = capture(other, { cause: "capture" });
    // It has looked by then, found what was there before, and waits for its turn.
    await setTimeout(200);
  });
  expect((await looking)?.changes).toEqual([]);
  const names: string[] = [];
  for await (const { recordId } of readRange(writer, seq + 1, (await writer.index.head()).seq)) names.push(recordId);
  expect(names.map((name) => name.split(":")[0])).toEqual(["intent", "file", "intent"]);
  expect(project.read("a")).toBe("two");
});
