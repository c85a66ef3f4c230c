import { describe, expect, it } from "vitest";
import type { Processes } from "../log/context.ts";
import { openFileStore } from "../../compose/file-store.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { simBackends } from "../../testing/sim-store.ts";

const FOLDER = { folder: 0o755 };
const PLACES = { home: "/store", configFolder: "/config", userHome: "/root", waitMs: 1_000 };

/** A machine whose processes have the given marks; a process without a mark is gone. */
class Machine {
  readonly disk = SimDisk.fromTree({ "/proj/a.txt": "1\n", "/store": FOLDER, "/config": FOLDER, "/root": FOLDER });
  readonly marks = new Map<number, string>();
  readonly stopped = new Set<number>();
  #ids = 0;

  /** Opens the workspace in the process `pid`. */
  async open(pid: number, more: Partial<Processes> = {}) {
    if (!this.marks.has(pid)) this.marks.set(pid, `began-as-${pid}`);
    const backends = simBackends(this.disk, { firstId: (this.#ids += 10_000), pid });
    const processes: Processes = {
      ...backends.processes,
      isAlive: (one) => this.marks.has(one),
      isStopped: (one) => this.stopped.has(one),
      markOf: (one) => this.marks.get(one),
      ...more,
    };
    const store = await openFileStore(PLACES, { ...backends, processes });
    return { store, workspace: await store.open({ folder: "/proj", create: true }) };
  }
}

describe("whether anybody records at present", () => {
  it("a watch counts as long as its process is alive", async () => {
    const machine = new Machine();
    const watching = await machine.open(7);
    const looking = await machine.open(8);
    expect(await looking.workspace.recording()).toEqual({ state: "nothing", by: [], reason: null, hint: null });
    const recording = await watching.workspace.watch();
    const found = await looking.workspace.recording();
    expect(found).toMatchObject({ state: "everything", by: [{ kind: "watch", pid: 7, session: recording.sessionId }] });
    expect((await looking.workspace.status()).recording).toEqual(found);
    machine.marks.delete(7);
    expect(await looking.workspace.recording()).toMatchObject({ state: "nothing", by: [] });
  });

  it("a later process with the number of the watch does not count, nor does one of another machine", async () => {
    const machine = new Machine();
    const watching = await machine.open(7);
    const looking = await machine.open(8);
    await watching.workspace.watch();
    machine.marks.set(7, "another process");
    expect((await looking.workspace.recording()).state).toBe("nothing");
    machine.marks.set(7, "began-as-7");
    expect((await looking.workspace.recording()).state).toBe("everything");
    const elsewhere = await machine.open(9, { markOf: (pid) => `of another boot: ${pid}` });
    expect((await elsewhere.workspace.recording()).state).toBe("nothing");
  });

  it("a stopped watch records nothing, and the answer says how to continue it", async () => {
    const machine = new Machine();
    const watching = await machine.open(7);
    const looking = await machine.open(8);
    await watching.workspace.watch();
    machine.stopped.add(7);
    const found = await looking.workspace.recording();
    expect(found).toMatchObject({ state: "nothing", by: [{ kind: "watch", pid: 7 }] });
    expect([found.reason, found.hint]).toEqual([
      expect.stringContaining("process 7, which records the folder, is stopped"),
      expect.stringContaining("kill -CONT 7"),
    ]);
  });

  it("an agent's session counts for its tool calls only, and only while its process is alive", async () => {
    const machine = new Machine();
    const { workspace } = await machine.open(7);
    machine.marks.set(21, "the agent");
    await workspace.startSession({ actor: "claude", pid: 21 });
    await workspace.startSession({ actor: "nobody knows" });
    expect(await workspace.recording()).toMatchObject({
      state: "tool_calls",
      by: [{ kind: "agent", actor: "claude", pid: 21 }],
    });
    machine.marks.delete(21);
    expect(await workspace.recording()).toMatchObject({ state: "nothing", by: [] });
  });

  it("a followed folder is recorded only if the process records, and not only notes what changes", async () => {
    const machine = new Machine();
    const { workspace } = await machine.open(7);
    await workspace.follow();
    expect((await workspace.recording()).state).toBe("nothing");
    await workspace.follow({ record: true });
    expect(await workspace.recording()).toMatchObject({ state: "everything", by: [{ kind: "server", pid: 7 }] });
  });

  it("while a command runs off the record, and in an archived workspace, nothing is recorded", async () => {
    const machine = new Machine();
    const { store, workspace } = await machine.open(7);
    await workspace.watch();
    await workspace.offRecord(async () => {
      const found = await workspace.recording();
      expect([found.state, found.reason]).toEqual(["nothing", "a command is running off the record (process 7)"]);
    });
    expect((await workspace.recording()).state).toBe("everything");
    await store.archive(workspace.id);
    expect(await workspace.recording()).toMatchObject({
      state: "nothing",
      reason: expect.stringContaining("archived since") as unknown,
      hint: expect.stringContaining("unarchive") as unknown,
    });
  });

  it("in a workspace without a folder, every write is recorded", async () => {
    const { store } = await new Machine().open(7);
    const { workspace } = await store.create();
    expect(await workspace.recording()).toEqual({
      state: "everything",
      by: [{ kind: "writes", actor: null, since: null, pid: null }],
      reason: null,
      hint: null,
    });
  });
});
