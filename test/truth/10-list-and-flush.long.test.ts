import { describe, expect, it } from "vitest";
import type { UndoShape } from "../../src/api/shapes.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Origins } from "../../src/compose/origins.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { HEARTBEAT_MS, RigOrigin, RigReplica, talk } from "../../src/testing/push-rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { Project } from "../helpers/project.ts";

describe("Truth 10: the way back from a snapshot in `list`", () => {
  it("leads to the state right before the changes that the snapshot recorded", async () => {
    await using project = new Project();
    project.write("a.txt", "0");
    const workspace = await project.init();
    project.write("a.txt", "by an action");
    await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, () => project.write("a.txt", "1"));
    project.write("a.txt", "2");
    project.write("b.txt", "2");
    const { id } = await workspace.snapshot({ message: "two" });
    project.write("a.txt", "3");
    await workspace.snapshot({ message: "three" });
    const { items } = await workspace.recent();
    const back = items.find((item) => item.id === id)?.back ?? "";
    expect(back).toMatch(/^chronicle restore seq:\d+$/);
    await workspace.restore(back.replace("chronicle restore ", ""));
    expect(project.read("a.txt")).toBe("1");
    expect(Object.keys(project.tree())).toEqual(["a.txt"]);
  });

  it("leads to the baseline from the baseline", async () => {
    await using project = new Project();
    project.write("a.txt", "0");
    const workspace = await project.init();
    const { items } = await workspace.recent();
    expect(items.map(({ back }) => back)).toEqual(["chronicle restore 0"]);
  });
});

/**
 * Makes a history with several kinds of undo and redo. `before` has the content of `a` before each operation, in order.
 */
async function turned(project: Project): Promise<{ workspace: WorkspaceApi; before: string[] }> {
  project.write("a", "0");
  const workspace = await project.init();
  const before: string[] = [];
  const step = async (work: () => Promise<unknown>): Promise<void> => {
    before.push(project.read("a"));
    await work();
  };
  const edit = (text: string) => () =>
    workspace.action({ type: "write_file", payload: { path: "a" } }, () => project.write("a", text));
  await step(edit("1"));
  const { id } = await workspace.beginTransaction();
  project.write("a", "2");
  await step(() => workspace.rollbackTransaction(id));
  await step(() => workspace.redo());
  await step(edit("3"));
  const [last] = (await workspace.recent(1)).items;
  await step(() => workspace.undo({ action: last?.id ?? "" }));
  await step(() => workspace.redo());
  await step(edit("4"));
  await step(() => workspace.undo());
  return { workspace, before };
}

describe("Truth 10: the way back from an operation in `list`", () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7])(
    "undoes it alone, or leads to the state before it: operation %i of a history with undos and redos",
    async (n) => {
      await using project = new Project();
      const { workspace, before } = await turned(project);
      const operations = (await workspace.recent()).items.filter(({ kind }) => kind !== "baseline").toReversed();
      expect(operations).toHaveLength(before.length);
      const { back = "", undone } = operations[n] ?? {};
      if (undone === true) return;
      const [, verb = "", argument] = back.split(" ");
      if (verb === "undo" && argument !== undefined) {
        // Later work on the same line stays: the undo makes a conflict, or is refused.
        const undone = await workspace.undo({ operation: argument }).catch((error: unknown) => error);
        expect(undone).toSatisfy((told) => told instanceof ChronicleError || (told as UndoShape).unmerged.length > 0);
        return;
      }
      if (verb === "undo") await workspace.undo();
      else if (verb === "redo") await workspace.redo();
      else await workspace.restore(argument ?? "");
      expect(`${back}: ${project.read("a")}`).toBe(`${back}: ${before[n]}`);
    },
  );

  it("works after a prune and gc, or is not given", async () => {
    await using project = new Project();
    const { workspace } = await turned(project);
    const watch = await workspace.watch();
    project.write("a", "watched");
    await watch.stop();
    project.write("a", "later");
    await workspace.snapshot({ name: "later" });
    await workspace.prune({ keepLast: 1, now: true });
    await workspace.gc();
    const { items } = await workspace.recent();
    expect(items.map(({ kind }) => kind)).toContain("watch");
    for (const { back, kind } of items) {
      if (back === "" || kind === "baseline") continue;
      const [, verb, argument] = back.split(" ");
      if (verb === "restore") await workspace.restore(argument ?? "", { dryRun: true });
      if (verb === "undo")
        await workspace.undo({ dryRun: true, ...(argument === undefined ? {} : { operation: argument }) });
    }
  });
});

describe("Truth 10: `sync flush`", () => {
  it("is answered once the origin has captured its folder, and not before", async () => {
    const { clock, origin, replica } = await pair();
    await origin.write("a", "one");
    let looks = 0;
    const look = async (): Promise<void> => {
      looks += 1;
      // The first capture fails. The replica gets no answer, and asks again.
      if (looks === 1) throw new Error("somebody holds the lock");
      await origin.write("a", "edited before the flush");
    };
    const going = talk(clock, origin, replica, { origin: { look } });
    let current = 0;
    void going.replica.barrier().then((seq) => (current = seq));
    await clock.run(clock.now + 10 * HEARTBEAT_MS, () => current > 0);
    expect([looks, current]).toEqual([2, 2]);
  });

  it("has the origin record what was edited in its folder", async () => {
    await using project = new Project();
    project.write("a.txt", "0");
    const { store, workspace } = await stored(project);
    const errors: unknown[] = [];
    await using origins = new Origins(partsOf(store), { onError: (error) => errors.push(error) });
    using lease = await origins.lease(workspace.id);
    project.write("a.txt", "edited");
    await lease.options.look?.();
    expect(await lease.options.history.head()).toMatchObject({ seq: 4 });
    expect(errors).toEqual([]);
  });
});

async function pair(): Promise<{ clock: VirtualClock; origin: RigOrigin; replica: RigReplica }> {
  return {
    clock: new VirtualClock(),
    origin: new RigOrigin(),
    replica: await RigReplica.start(RigReplica.emptyDisk()),
  };
}

async function stored(project: Project): Promise<{ store: StoreApi; workspace: WorkspaceApi }> {
  const store = await project.store();
  return { store, workspace: (await store.init({ roots: [project.folder] })).workspace };
}
