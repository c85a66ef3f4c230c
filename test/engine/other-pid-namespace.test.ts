import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { expect, it } from "vitest";
import { put } from "../helpers/engine-sweep.ts";
import { Project } from "../helpers/project.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

/** A container (or a sandbox) and its host share a store. A pid of one means another process, or none, on the other. */

const FOLDER = { folder: 0o755 };
const HOUR = 3_600_000;

interface Shared {
  readonly disk: SimDisk;
  readonly host: WorkspaceApi;
  readonly later: (hours: number) => void;
}

/** Begins `work` in a process of one PID namespace. Then the process `pid` of another namespace opens the workspace. */
async function sharedBy(work: (inside: WorkspaceApi, disk: SimDisk) => Promise<unknown>, pid: number): Promise<Shared> {
  const disk = SimDisk.fromTree({ "/proj/a.txt": "1\n", "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  let ms = Date.parse("2030-01-01T00:00:00Z");
  const clock = (): number => (ms += 1);
  const container = await openSimStore(disk, { firstId: 0, pid: 7, pidSpace: "4026532178", clock });
  await work(await container.open({ folder: "/proj", create: true }), disk);
  const store = await openSimStore(disk, { firstId: 100_000, pid, pidSpace: "4026531836", clock });
  return { disk, host: await store.open({ folder: "/proj" }), later: (hours) => (ms += hours * HOUR) };
}

const NUMBERS = [
  ["nobody", 4711],
  ["another process", 7],
] as const;

it.each(NUMBERS)(
  "a transaction of another PID namespace stays active for a day, if %s has its owner's pid here",
  async (_who, pid) => {
    const { host, later } = await sharedBy(async (inside, before) => {
      await inside.beginTransaction();
      put(before, "/proj/a.txt", "half\n");
      await inside.snapshot();
    }, pid);
    await host.snapshot();
    expect(await host.transactions()).toMatchObject([{ status: "active" }]);
    // A transaction that begins here is no savepoint of the one in the other namespace.
    const { id: own } = await host.beginTransaction();
    expect((await host.transactions()).find(({ id }) => id === own)?.parent).toBeUndefined();
    await host.commitTransaction(own);
    later(25);
    await host.snapshot();
    expect((await host.transactions()).map(({ status }) => status)).toEqual(["rolled_back", "committed"]);
    expect((await host.diff("0", "latest")).changes).toEqual([]);
  },
);

it.each(NUMBERS)(
  "a watch and work off the record of another PID namespace are over, if %s has their owner's pid here",
  async (_who, pid) => {
    const { disk, host } = await sharedBy(async (inside) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      void inside.offRecord(() => {
        resolve();
        return new Promise(() => {});
      });
      await promise;
      await inside.watch();
    }, pid);
    await host.snapshot();
    expect((await host.sessions()).map(({ state }) => state)).not.toContain("running");
    put(disk, "/proj/b.txt", "recorded\n");
    await host.snapshot();
    expect((await host.diff("0", "latest")).changes.map(({ path }) => path)).toEqual(["b.txt"]);
  },
);

it.each(NUMBERS)(
  "an action of another PID namespace is abandoned at once, and says why, if %s has its owner's pid here",
  async (_who, pid) => {
    let id = "";
    const { host } = await sharedBy(async (inside) => {
      const action = await inside.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, pid: 7 });
      id = action?.id ?? "";
    }, pid);
    await host.snapshot();
    expect(await host.showAction(id)).toMatchObject({
      state: "abandoned",
      reason:
        "its process belongs to another PID namespace, and so counts as ended, without having finished the action",
    });
  },
);

it("a transaction of an ended process is rolled back, if its PID namespace is ours or was not recorded", async () => {
  const disk = SimDisk.fromTree({ "/proj/a.txt": "1\n", "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  for (const [firstId, space] of [
    [0, "1"],
    [50_000, undefined],
  ] as const) {
    const more = space === undefined ? {} : { pidSpace: space };
    const killed = await openSimStore(disk, { firstId, ...more });
    await (await killed.open({ folder: "/proj", create: true })).beginTransaction({ name: String(space) });
  }
  const store = await openSimStore(disk, { firstId: 100_000, pidSpace: "1" });
  const workspace = await store.open({ folder: "/proj" });
  await workspace.snapshot();
  const statuses = (await workspace.transactions()).map(({ status }) => status);
  expect(statuses).toEqual(["rolled_back", "rolled_back"]);
});

const UNSHARE = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const canUnshare = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
if (!canUnshare) console.warn("no PID namespace can be made here: the test with a real one is left out");

/** A program in a PID namespace of its own that begins a transaction, says so, and commits it once a line comes. */
async function inNamespace(project: Project): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const program = join(project.base, "inside.ts");
  const open = JSON.stringify(join(import.meta.dirname, "../../src/open.ts"));
  const places = JSON.stringify({ home: project.home, configFolder: project.configFolder, waitMs: 5_000 });
  writeFileSync(
    program,
    `import { openStore } from ${open};
const workspace = await (await openStore(${places})).open({ folder: ${JSON.stringify(project.folder)} });
const { id } = await workspace.beginTransaction();
console.log("begun by " + process.pid);
await new Promise((resolve) => process.stdin.once("data", resolve));
await workspace.commitTransaction(id);
process.exit(0);
`,
  );
  return spawn("unshare", [...UNSHARE, process.execPath, program], { stdio: ["pipe", "pipe", "inherit"] });
}

it.skipIf(!canUnshare)(
  "a transaction of a process in a real PID namespace stays active for a process outside of it",
  async () => {
    await using project = new Project();
    project.write("a.txt", "1\n");
    const workspace = await project.init();
    const child = await inNamespace(project);
    try {
      const [said] = (await once(child.stdout, "data")) as [Buffer];
      expect(String(said)).toBe("begun by 1\n");
      project.write("a.txt", "half\n");
      await workspace.snapshot();
      expect(await workspace.transactions()).toMatchObject([{ status: "active" }]);
      expect(project.read("a.txt")).toBe("half\n");
      const ended = once(child, "exit");
      child.stdin.write("commit\n");
      expect(await ended).toEqual([0, null]);
      expect(await workspace.transactions()).toMatchObject([{ status: "committed" }]);
    } finally {
      child.kill("SIGKILL");
    }
  },
);
