import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { BACKEND_SETS, type BackendSet, storageOf } from "../helpers/backend-sets.ts";
import { optional } from "../../src/util/optional.ts";
import { modelRuns } from "./model-runs.ts";
import { TwoProcesses } from "../helpers/two-processes.ts";

/**
 * Random histories of one to three roots, compared with a plain map. Whatever is done to the files:
 *
 * - A restore brings back exactly the bytes, modes and links that a snapshot has seen.
 * - An undo brings back exactly the files before the operation.
 * - The records of users are those that were put.
 * - `verify` finds no problem.
 */

type Tree = Readonly<Record<string, string>>;

const NAMES = ["a", "b", "c", "é", "\u{1F600}", "x y", "--f"];
const name = fc.constantFrom(...NAMES);
/** The number of a root, and a path in it, as `<number>:<path>`. */
const path = fc
  .tuple(fc.constantFrom(0, 0, 1, 2), fc.array(name, { minLength: 1, maxLength: 3 }))
  .map(([root, parts]) => `${root}:${parts.join("/")}`);
const ROOTS = ["/proj", "/two", "/single/c"];

/**
 * Returns where a step's path lies on the disk. Roots are counted modulo their number. In a root that is a file, a path
 * means that file or something in its place.
 */
function placeOf(path: string, roots: readonly string[]): string {
  const colon = path.indexOf(":");
  const root = roots[Number(path.slice(0, colon)) % roots.length] ?? "";
  const inner = path.slice(colon + 1);
  if (!root.startsWith("/single/")) return `${root}/${inner}`;
  const slash = inner.indexOf("/");
  return slash < 0 ? root : `${root}${inner.slice(slash)}`;
}
const content = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom("", "same", "x".repeat(5_000)));

type Step =
  | { readonly kind: "write"; readonly path: string; readonly content: string }
  | { readonly kind: "mkdir" | "remove"; readonly path: string }
  | { readonly kind: "chmod"; readonly path: string; readonly mode: number }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  | { readonly kind: "rename"; readonly path: string; readonly to: string }
  | { readonly kind: "snapshot" | "undo" | "redo" | "reopen" | "other-process" | "forget-cache" | "wait" | "gc" }
  | { readonly kind: "compact" | "drop" | "rebuild" }
  | { readonly kind: "restore"; readonly pick: number }
  | { readonly kind: "put"; readonly id: string; readonly value: number }
  | { readonly kind: "delete"; readonly id: string }
  | { readonly kind: "migrate" };

const recordId = fc.constantFrom("r", "é", "file:a", "\u{1F600}");

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      id: recordId,
      value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), id: recordId }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("migrate" as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("write" as const), path, content }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("mkdir" as const, "remove" as const), path }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("chmod" as const),
      path,
      mode: fc.constantFrom(0o600, 0o644, 0o755, 0o700),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("symlink" as const),
      path,
      target: fc.constantFrom("a", "/etc/passwd", "../..", "b/c"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rename" as const), path, to: path }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("other-process" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("snapshot" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restore" as const), pick: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("compact" as const, "compact" as const, "rebuild" as const, "drop" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "undo" as const,
        "redo" as const,
        "reopen" as const,
        "forget-cache" as const,
        "wait" as const,
        "gc" as const,
      ),
    }),
  },
);

/** A machine whose disk and engines share a clock. */
class Machine {
  ms = Date.parse("2030-01-01T00:00:00Z");
  readonly disk: SimDisk = SimDisk.fromTree(
    {
      "/proj": { folder: 0o755 },
      "/two/b": "of the second root",
      "/single/c": "a root by itself",
      "/single/other": "in no root",
      "/root": { folder: 0o700 },
    },
    { clock: () => BigInt(this.#tick()) * 1_000_000n },
  );
  readonly roots: readonly string[];
  readonly processes: TwoProcesses;
  #looks = 0;

  constructor(roots: number, set: BackendSet) {
    this.roots = ROOTS.slice(0, roots);
    const storage = storageOf(set, this.disk);
    this.processes = new TwoProcesses(this.disk, () => this.#tick(), { roots: this.roots, ...optional({ storage }) });
  }

  /**
   * Returns the time, which advances by 4 ms at every fourth look. It is as coarse as a kernel's clock, so several
   * operations get the same time.
   */
  #tick(): number {
    this.#looks += 1;
    if (this.#looks % 4 === 0) this.ms += 4;
    return this.ms;
  }

  tree(): Tree {
    const entries = ["/proj", "/two", "/single"].flatMap((folder) =>
      Object.entries(this.disk.dump(folder)).map(([at, state]) => [`${folder}/${at}`, state] as const),
    );
    return Object.fromEntries(entries.map(([at, state]) => [at, state.replace(/^file (\d+) \d+/, "file $1")]));
  }
}

/** Changes the files. Does nothing if the file system refuses the change. */
function touch({ disk, roots }: Machine, done: Extract<Step, { readonly path: string }>): void {
  const at = placeOf(done.path, roots);
  try {
    if (done.kind === "write") write(disk, at, done.content);
    else if (done.kind === "mkdir") disk.makeFolder(at, 0o755);
    else if (done.kind === "remove") remove(disk, at);
    else if (done.kind === "symlink") disk.symlink(Buffer.from(done.target), at);
    else if (done.kind === "rename") disk.rename(at, placeOf(done.to, roots));
    else if (done.kind === "chmod") chmod(disk, at, done.mode);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

function write(disk: SimDisk, at: string, text: string): void {
  const fd = disk.open(at, "update", 0o644);
  disk.truncate(fd, 0);
  disk.write(fd, Buffer.from(text), 0);
  disk.close(fd);
}

function remove(disk: SimDisk, at: string): void {
  const kind = disk.lstat(at)?.kind;
  if (kind !== "dir") {
    disk.unlink(at);
    return;
  }
  for (const item of disk.list(at)) remove(disk, `${at}/${item.name.toString()}`);
  disk.removeFolder(at);
}

function chmod(disk: SimDisk, at: string, mode: number): void {
  const kind = disk.lstat(at)?.kind;
  if (kind === "symlink") return;
  const fd = disk.open(at, kind === "dir" ? "folder" : "read");
  disk.chmod(fd, mode);
  disk.close(fd);
}

/**
 * The plain map: the files that each snapshot has seen, and those before each operation that can be undone or redone.
 */
class Model {
  readonly snapshots = new Map<number, Tree>();
  undo: Tree[] = [];
  redo: Tree[] = [];
  /** The records of users. No undo, restore or compaction changes them. */
  readonly records = new Map<string, { value: number; moved?: number }>();
}

async function isRefused(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "NOT_FOUND" || error.code === "REFUSED"))
      return true;
    throw error;
  }
}

/**
 * Updates the model after the archive was dropped. Only snapshots that equal the present files can still be restored,
 * and nothing can be undone.
 */
async function forgetDropped(workspace: WorkspaceApi, model: Model, now: Tree): Promise<void> {
  const listed = await workspace.snapshots();
  for (const { number, compacted_by: gone } of listed) {
    const saw = model.snapshots.get(number);
    if (saw !== undefined) expect([number, gone === undefined]).toEqual([number, isDeepStrictEqual(saw, now)]);
    if (gone === undefined) model.snapshots.set(number, now);
    else model.snapshots.delete(number);
  }
  expect(listed.at(-1)?.compacted_by).toBeUndefined();
  model.undo = [];
  model.redo = [];
}

async function actOnRecords(
  { workspace, model }: { readonly workspace: WorkspaceApi; readonly model: Model },
  done: Extract<Step, { readonly kind: "put" | "delete" | "migrate" }>,
): Promise<void> {
  if (done.kind === "put") {
    // Canonical JSON has no minus zero.
    const record = { value: done.value === 0 ? 0 : done.value };
    await workspace.records.upsert(done.id, record);
    model.records.set(done.id, record);
  } else if (done.kind === "delete") {
    const event = await workspace.records.delete(done.id);
    expect(event !== undefined).toBe(model.records.delete(done.id));
  } else {
    expect(await workspace.records.migrate((record) => ({ ...record, moved: 1 }))).toBe(model.records.size);
    for (const record of model.records.values()) record.moved = 1;
  }
}

async function actOnProcesses(
  { disk, processes }: Machine,
  kind: "reopen" | "other-process" | "forget-cache",
): Promise<void> {
  if (kind === "other-process") return processes.swap();
  const cache = `/store/workspaces/${processes.workspace.id}/stat.cache`;
  await processes.close();
  if (kind === "forget-cache" && disk.lstat(cache) !== undefined) disk.unlink(cache);
  await processes.open();
}

async function act(machine: Machine, model: Model, done: Step): Promise<void> {
  const { workspace } = machine.processes;
  const before = machine.tree();
  switch (done.kind) {
    case "snapshot": {
      const { number } = await workspace.snapshot();
      model.snapshots.set(number, before);
      expect(machine.tree()).toEqual(before);
      return;
    }
    case "restore": {
      const numbers = [...model.snapshots.keys()];
      const number = numbers[done.pick % numbers.length] ?? 0;
      const { undo_id: undoId } = await workspace.restore(String(number));
      expect(machine.tree()).toEqual(model.snapshots.get(number));
      if (undoId !== null) {
        model.undo.push(before);
        model.redo = [];
      }
      return;
    }
    case "undo":
    case "redo": {
      const stack = model[done.kind];
      const expected = stack.at(-1);
      const direction: "undo" | "redo" = done.kind;
      const refused = await isRefused(() => workspace[direction]());
      // The engine refuses if there is nothing to undo, or if a path was edited since. Then no file has changed.
      if (refused) expect(machine.tree()).toEqual(before);
      else {
        expect(expected).toBeDefined();
        stack.pop();
        model[done.kind === "undo" ? "redo" : "undo"].push(before);
      }
      return;
    }
    case "reopen":
    case "other-process":
    case "forget-cache":
      return actOnProcesses(machine, done.kind);
    case "gc":
      await workspace.gc();
      return;
    case "rebuild":
      await workspace.rebuild();
      return;
    case "compact":
      await workspace.compact();
      expect(machine.tree()).toEqual(before);
      return;
    case "drop":
      await workspace.compact({ dropArchive: true });
      expect(machine.tree()).toEqual(before);
      await forgetDropped(workspace, model, before);
      return;
    case "put":
    case "delete":
    case "migrate":
      await actOnRecords({ workspace, model }, done);
      return;
    case "wait":
      machine.ms += 10_000;
      return;
    default:
      touch(machine, done);
      return;
  }
}

describe.each(BACKEND_SETS)("random histories in %s", (set) => {
  it("agree with a plain map", async () => {
    let histories = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { minLength: 5, maxLength: 40 }),
        async (roots, steps) => {
          histories += 1;
          const machine = new Machine(roots, set);
          write(machine.disk, "/proj/first", "first");
          await machine.processes.open();
          const model = new Model();
          model.snapshots.set(0, machine.tree());
          for (const done of steps) await act(machine, model, done);
          const { workspace } = machine.processes;
          expect(Object.fromEntries(await workspace.records.all())).toEqual(Object.fromEntries(model.records));
          const { number } = await workspace.snapshot();
          model.snapshots.set(number, machine.tree());
          expect((await workspace.status()).changes).toEqual([]);
          expect((await workspace.verify()).problems).toEqual([]);
          for (const [at, tree] of model.snapshots) {
            await workspace.restore(String(at));
            expect(machine.tree()).toEqual(tree);
          }
          expect((await workspace.verify()).problems).toEqual([]);
          await machine.processes.closeAll();
          expect(machine.disk.openDescriptors).toBe(0);
        },
      ),
      modelRuns(60, "1"),
    );
    process.stdout.write(`model: ${histories} random histories in ${set}\n`);
  }, 3_600_000);
});
