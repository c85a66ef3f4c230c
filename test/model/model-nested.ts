import fc from "fast-check";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { memoryLocks } from "../../src/storage/memory/memory-lock.ts";
import { simBackends } from "../../src/testing/sim-store.ts";
import { writeText } from "./model-tree.ts";

/**
 * Random runs within runs. Each is a process of its own on one simulated disk, and starts the runs that are within it.
 * `expectedOf` computes what a run must leave, and `Machine` runs it with the engine.
 */

/** One thing that the command of a run does. */
export type Deed =
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "run"; readonly run: ModelRun };

/** A run: what its command does in this order, its exit code, and whether it is to be rolled back if it fails. */
export interface ModelRun {
  readonly deeds: readonly Deed[];
  readonly code: number;
  readonly rollback: boolean;
  /** If true, the run is started by `workspace.run` within an action of the same process. */
  readonly inAction: boolean;
}

const PATHS = ["a", "b", "c"];

export const { run: modelRun } = fc.letrec<{ run: ModelRun; deed: Deed }>((tie) => ({
  deed: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({
      kind: fc.constant("write" as const),
      path: fc.constantFrom(...PATHS),
      text: fc.stringMatching(/^[xyz]{1,2}$/),
    }),
    fc.record({ kind: fc.constant("remove" as const), path: fc.constantFrom(...PATHS) }),
    fc.record({ kind: fc.constant("run" as const), run: tie("run") }),
  ),
  run: fc.record({
    deeds: fc.array(tie("deed"), { maxLength: 4 }),
    code: fc.constantFrom(0, 0, 3),
    rollback: fc.boolean(),
    inAction: fc.boolean(),
  }),
}));

/** The contents of the files, by their paths. */
export type Files = ReadonlyMap<string, string>;

/** The files that a run must leave, the paths that it must report as changed, and whether it is rolled back. */
export interface Expected {
  readonly after: Files;
  readonly changed: readonly string[];
  readonly isTaken: boolean;
}

/**
 * Computes what a run does to the files. The deeds are done in order. If the run fails and is to be rolled back, the
 * files are as before, but the changed paths are still reported.
 */
export function expectedOf({ deeds, code, rollback }: ModelRun, before: Files): Expected {
  let files: Files = before;
  for (const deed of deeds) files = afterDeed(deed, files);
  const changed = PATHS.filter((path) => files.get(path) !== before.get(path));
  const isTaken = rollback && code !== 0;
  return { after: isTaken ? before : files, changed, isTaken };
}

function afterDeed(deed: Deed, before: Files): Files {
  if (deed.kind === "run") return expectedOf(deed.run, before).after;
  const files = new Map(before);
  if (deed.kind === "write") files.set(deed.path, deed.text);
  else files.delete(deed.path);
  return files;
}

/** A simulated machine whose processes start one another and share the locks. */
export class Machine {
  readonly disk: SimDisk;
  /** Every run that has ended, with the files before it and the answer of the engine. */
  readonly told: { readonly run: ModelRun; readonly before: Files; readonly shape: RunShape }[] = [];
  readonly #locks = memoryLocks();
  readonly #parents = new Map<number, number>();
  readonly #alive = new Set<number>();
  #ms = Date.parse("2030-01-01T00:00:00Z");
  #pid = 1;

  constructor() {
    const clock = (): bigint => BigInt((this.#ms += 4)) * 1_000_000n;
    const folder = { folder: 0o755 };
    const tree = { "/proj/a": "a", "/proj/b": "b", "/store": folder, "/config": folder, "/root": { folder: 0o700 } };
    this.disk = SimDisk.fromTree(tree, { clock });
  }

  get files(): Files {
    return new Map(
      PATHS.flatMap((path) => {
        const content = this.disk.content(`/proj/${path}`);
        return content === undefined ? [] : [[path, content.toString()] as const];
      }),
    );
  }

  /**
   * Runs `work` in a process of its own, started by `parent`, that has the workspace open. `command`: what a run in it
   * does.
   */
  async process<T>(
    parent: number,
    work: (workspace: WorkspaceApi, pid: number) => Promise<T>,
    command: () => Promise<number> = () => Promise.resolve(0),
  ): Promise<T> {
    const pid = (this.#pid += 1);
    this.#parents.set(pid, parent);
    this.#alive.add(pid);
    const store = await this.#open(pid, command);
    try {
      const { workspace } = await store.init({ roots: ["/proj"] });
      try {
        return await work(workspace, pid);
      } finally {
        await workspace.close();
      }
    } finally {
      await store.close();
      this.#alive.delete(pid);
    }
  }

  #open(pid: number, command: () => Promise<number>): ReturnType<typeof openFileStore> {
    const clock = (): number => (this.#ms += 4);
    const backends = simBackends(this.disk, { firstId: pid * 10_000, pid, clock, command, lock: this.#locks });
    const processes = {
      ...backends.processes,
      isAlive: (one: number) => this.#alive.has(one),
      ancestors: (one: number) => Promise.resolve(this.#ancestors(one)),
    };
    return openFileStore(
      { home: "/store", configFolder: "/config", userHome: "/root", waitMs: 1_000 },
      { ...backends, processes },
    );
  }

  #ancestors(pid: number): number[] {
    const parent = this.#parents.get(pid);
    return parent === undefined ? [] : [parent, ...this.#ancestors(parent)];
  }

  /** Performs a run of the model in a process of its own, and notes its answer in `told`. */
  async run(run: ModelRun, parent: number): Promise<RunShape> {
    const before = this.files;
    let own = 0;
    const command = async (): Promise<number> => {
      for (const deed of run.deeds) await this.#do(deed, own);
      return run.code;
    };
    const shape = await this.process(
      parent,
      (workspace, pid) => {
        own = pid;
        const start = (): Promise<RunShape> => workspace.run({ command: ["work"], rollbackOnFailure: run.rollback });
        if (!run.inAction) return start();
        return workspace.action({ type: "run_command", payload: { command: "work" } }, start);
      },
      command,
    );
    this.told.push({ run, before, shape });
    return shape;
  }

  async #do(deed: Deed, pid: number): Promise<void> {
    if (deed.kind === "run") await this.run(deed.run, pid);
    else if (deed.kind === "write") writeText(this.disk, `/proj/${deed.path}`, deed.text);
    else if (this.disk.lstat(`/proj/${deed.path}`) !== undefined) this.disk.unlink(`/proj/${deed.path}`);
    this.disk.syncFolder("/proj");
  }
}
