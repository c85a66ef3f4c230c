import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { put } from "../../../test/helpers/engine-sweep.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { nodeProcesses } from "../../store/node-processes.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { openSimStore, simBackends } from "../../testing/sim-store.ts";
import type { Processes } from "./context.ts";
import { isHere } from "./owner-process.ts";

const FOLDER = { folder: 0o755 };

/** Kills a process during `work`. Another process, which has the same number, then opens the workspace. */
async function takenOver(
  work: (workspace: WorkspaceApi, disk: SimDisk) => Promise<unknown>,
): Promise<{ readonly disk: SimDisk; readonly workspace: WorkspaceApi }> {
  const before = SimDisk.fromTree({ "/proj/a.txt": "1\n", "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  const killed = await openSimStore(before, { firstId: 0 });
  await work(await killed.open({ folder: "/proj", create: true }), before);
  const disk = before.crash("keep");
  const store = await openSimStore(disk, { firstId: 100_000 });
  return { disk, workspace: await store.open({ folder: "/proj" }) };
}

it("the action of a killed process is abandoned, and later changes do not belong to it", async () => {
  const { disk, workspace } = await takenOver((killed) =>
    killed.snapshotAction({ type: "run_command", payload: { command: "make" }, session: "s" }),
  );
  put(disk, "/proj/b.txt", "a person's\n");
  await workspace.snapshot();
  expect(await workspace.list()).toMatchObject([{ state: "abandoned", changed: 0 }]);
});

it("the watch of a killed process is abandoned", async () => {
  const { workspace } = await takenOver((killed) => killed.watch());
  await workspace.snapshot();
  expect(await workspace.sessions()).toMatchObject([{ state: "abandoned" }]);
});

it("the transaction of a killed process is rolled back, without later changes", async () => {
  const { disk, workspace } = await takenOver(async (killed, before) => {
    await killed.beginTransaction();
    put(before, "/proj/a.txt", "half\n");
    await killed.snapshot();
  });
  put(disk, "/proj/b.txt", "a person's\n");
  await workspace.snapshot();
  expect(await workspace.transactions()).toMatchObject([{ status: "rolled_back" }]);
  expect(disk.list("/proj").map(({ name }) => String(name))).toContain("b.txt");
  expect((await workspace.diff("0", "latest")).changes.map(({ path }) => path)).toEqual(["b.txt"]);
});

it("the work off the record of a killed process ends, and later changes are recorded", async () => {
  const { disk, workspace } = await takenOver(async (killed) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void killed.offRecord(() => {
      resolve();
      return new Promise(() => {});
    });
    await promise;
  });
  await workspace.snapshot();
  put(disk, "/proj/b.txt", "a person's\n");
  await workspace.snapshot();
  expect((await workspace.diff("0", "latest")).changes.map(({ path }) => path)).toEqual(["b.txt"]);
});

/** The processes of each backend. */
const BACKENDS: readonly (readonly [string, Processes])[] = [
  ["this machine's", nodeProcesses(new NodeDisk())],
  ["a simulated machine's", simBackends(SimDisk.fromTree({}), { firstId: 0 }).processes],
];

it.for(BACKENDS)("%s processes: the present process is alive, and keeps its mark", ([, processes]) => {
  const { pid } = processes;
  expect([processes.isAlive(pid), processes.markOf(pid)]).toEqual([true, processes.markOf(pid)]);
});

it.for(BACKENDS)("%s processes: a record without the number of a process belongs to no process", ([, processes]) => {
  for (const pid of [0, -1]) expect(isHere({ processes }, { pid })).toBe(false);
});

it.skipIf(!existsSync("/proc/self/stat"))("processes that start at the same moment have different marks", async () => {
  const processes = nodeProcesses(new NodeDisk());
  const children = Array.from({ length: 20 }, () => spawn("sleep", ["60"]));
  await Promise.all(children.map((child) => once(child, "spawn")));
  expect(new Set(children.map(({ pid = 0 }) => processes.markOf(pid))).size).toBe(20);
  for (const child of children) child.kill("SIGKILL");
});

it.skipIf(!existsSync("/proc/self/stat"))("a process has a mark of its own as long as it is alive", async () => {
  const processes = nodeProcesses(new NodeDisk());
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  const mark = processes.markOf(pid);
  expect(mark).toMatch(/^[0-9a-f]{16}$/);
  expect(processes.markOf(pid)).toBe(mark);
  expect(mark).not.toBe(processes.markOf(process.pid));
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  expect([processes.isAlive(pid), processes.markOf(pid)]).toEqual([false, undefined]);
});
