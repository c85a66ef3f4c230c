import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { RestoreShape } from "../../src/api/shapes.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { SimPlan } from "../../src/testing/sim-disk/sim-faults.ts";
import { put, withWorkspace } from "../helpers/engine-sweep.ts";

const NAMES = ["a", "b", "dir/c", "dir/d"];
const LOG = "dir/log";
const FOREIGN = "by another program\n";

const IDS = { action: "", transaction: "" };

/** Returns the disk of a workspace with one action that has changed all files, in a transaction if `inTransaction`. */
async function prepared(inTransaction: boolean): Promise<SimDisk> {
  const folder = { folder: 0o755 };
  const files = Object.fromEntries([...NAMES, LOG].map((name) => [`/proj/${name}`, "before\n"]));
  const disk = SimDisk.fromTree(
    { ...files, "/store": folder, "/config": folder, "/root": folder },
    { countsReads: true },
  );
  await withWorkspace(disk, 1, async (workspace) => {
    if (inTransaction) IDS.transaction = (await workspace.beginTransaction({ pid: null })).id;
    const request = { type: "write_file", payload: { paths: [...NAMES, LOG] }, session: "s" };
    await workspace.action(request, (action) => {
      IDS.action = action?.id ?? "";
      for (const name of [...NAMES, LOG]) put(disk, `/proj/${name}`, "after\n");
    });
  });
  return disk;
}

type Step = (workspace: WorkspaceApi) => Promise<RestoreShape>;

const STEPS: Readonly<Record<string, Step>> = {
  "plain undo": (workspace) => workspace.undo(),
  "undo of an action": (workspace) => workspace.undo({ action: IDS.action }),
  rollback: (workspace) => workspace.rollback(IDS.action),
  "transaction rollback": async (workspace) => (await workspace.rollbackTransaction(IDS.transaction)).undo,
  restore: (workspace) => workspace.restore("0"),
};

/** Writes the log file directly before the n-th operation on the disk. */
class WriteAt {
  readonly #disk: SimDisk;
  #left: number;

  constructor(disk: SimDisk, n: number) {
    this.#disk = disk;
    this.#left = n;
    disk.plan = this.#plan;
  }

  get isWritten(): boolean {
    return this.#left === 0;
  }

  readonly #plan: SimPlan = () => {
    this.#left -= 1;
    if (this.#left > 0) return "go";
    this.#disk.plan = undefined;
    overwrite(this.#disk, `/proj/${LOG}`, FOREIGN);
    return "go";
  };
}

/** Writes the file in place, as a program does that has it open: the inode stays. */
function overwrite(disk: SimDisk, path: string, text: string): void {
  const fd = disk.open(path, "update");
  disk.truncate(fd, 0);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

function read(disk: SimDisk, name: string): string | undefined {
  return disk.content(`/proj/${name}`)?.toString();
}

/** The outcome of one step, with a write to the log file before one operation on the disk. */
type Outcome = "refused before" | "left" | "kept beside" | "written after" | "written before";

async function outcomeOf(disk: SimDisk, step: Step, at: number): Promise<Outcome | undefined> {
  let outcome: Outcome | undefined;
  await withWorkspace(disk, 1_000, async (workspace) => {
    const write = new WriteAt(disk, at);
    const done = await step(workspace).catch((error: unknown) => {
      if (error instanceof ChronicleError && error.code === "REFUSED") return error;
      throw error;
    });
    disk.plan = undefined;
    if (!write.isWritten) return;
    if (done instanceof ChronicleError) {
      // The write came before the capture, so that it is an edit like any other.
      expect(done.data).toMatchObject({ edited: [{ path: LOG }] });
      expect(NAMES.map((name) => read(disk, name))).toEqual(NAMES.map(() => "after\n"));
      outcome = "refused before";
      return;
    }
    expect(NAMES.map((name) => read(disk, name))).toEqual(NAMES.map(() => "before\n"));
    const now = read(disk, LOG);
    if (done.skipped.length > 0) {
      expect([now, done.skipped]).toMatchObject([FOREIGN, [{ path: LOG, reason: "changed-meanwhile" }]]);
      outcome = "left";
    } else if (done.conflicts.length > 0) {
      expect(read(disk, done.conflicts[0]?.kept_at ?? "")).toBe(FOREIGN);
      outcome = "kept beside";
    } else if (now === FOREIGN) outcome = "written after";
    else {
      const recorded = await workspace.history(LOG);
      expect(recorded.some(({ size }) => size === FOREIGN.length)).toBe(true);
      outcome = "written before";
    }
    expect((await workspace.verify()).ok).toBe(true);
  });
  return outcome;
}

describe("Truth 11a: a write comes between the plan of an undo and its end", () => {
  it.each(Object.keys(STEPS))(
    "%s is refused or undoes all other files, and the written content is never lost",
    { timeout: 300_000 },
    async (name) => {
      const step = STEPS[name];
      if (step === undefined) throw new Error(name);
      const base = await prepared(name.startsWith("transaction"));
      const found = new Set<Outcome>();
      for (let at = 1; ; at += 1) {
        const outcome = await outcomeOf(base.fork({ countsReads: true }), step, at);
        if (outcome === undefined) break;
        found.add(outcome);
      }
      expect(found).toContain("left");
    },
  );
});
