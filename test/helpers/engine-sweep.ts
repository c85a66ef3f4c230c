import { expect } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { CrashSweep, SweepContext } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";

/**
 * Whole operations of the engine on a disk that crashes: before, in the middle of and after every disk operation, with
 * every outcome for unsynced data, and with every errno. Afterwards:
 *
 * - The workspace is exactly in the old or in the new state. If the operation has ended, it is in the new state.
 * - Everything acknowledged is there.
 * - `verify` finds no problem.
 * - The next command works without any repair.
 */

type Tree = Readonly<Record<string, string>>;

/** An event that the engine has acknowledged. It must survive every crash. */
export interface Fact {
  readonly seq: number;
  readonly hash: string;
}

export function newDisk(): SimDisk {
  const folder = { folder: 0o755 };
  return SimDisk.fromTree({
    "/proj/a.txt": "alpha\n",
    "/proj/dir/b.txt": "beta\n",
    "/proj/dir/c.txt": "gamma\n",
    "/proj/empty": folder,
    "/proj/run.sh": "echo\n",
    "/proj/.gitignore": "*.log\nout/\n",
    "/proj/debug.log": "ignored\n",
    "/proj/out/made": "ignored, in a folder\n",
    "/store": folder,
    "/config": folder,
    "/root": folder,
    ...ELSEWHERE,
  });
}

/** The content of the other roots. */
const ELSEWHERE = { "/two/b.txt": "second root\n", "/two/deep/c.txt": "deep\n", "/etc/one.conf": "a file as a root\n" };

/** A folder, another folder and a single file. */
const ROOTS = ["/proj", "/two", "/etc/one.conf"];

/** Opens the project of a sweep with all three roots, runs `work`, and closes the project. */
async function withRoots<T>(disk: SimDisk, firstId: number, work: (workspace: WorkspaceApi) => Promise<T>): Promise<T> {
  const store = await openSimStore(disk, { firstId });
  try {
    const { workspace } = await store.init({ roots: ROOTS });
    try {
      return await work(workspace);
    } finally {
      await workspace.close();
    }
  } finally {
    await store.close();
  }
}

/** Opens the project of a sweep by its first root, runs `work`, and closes the project. */
export async function withWorkspace<T>(
  disk: SimDisk,
  firstId: number,
  work: (workspace: WorkspaceApi) => Promise<T>,
): Promise<T> {
  const store = await openSimStore(disk, { firstId });
  try {
    const workspace = await store.open({ folder: "/proj", create: true });
    try {
      return await work(workspace);
    } finally {
      await workspace.close();
    }
  } finally {
    await store.close();
  }
}

/** Writes a file of a sweep's disk durably, as a new one. */
export function put(disk: SimDisk, path: string, text: string): void {
  if (disk.lstat(path) !== undefined) disk.unlink(path);
  const fd = disk.open(path, "create", 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.sync(fd);
  disk.close(fd);
  disk.syncFolder(path.slice(0, path.lastIndexOf("/")));
}

/**
 * Changes the project as an agent does: an edit, a creation, the deletion of a folder, a new mode, and a file in the
 * place of a folder.
 */
export function edit(disk: SimDisk): void {
  put(disk, "/proj/a.txt", "ALPHA\n");
  put(disk, "/proj/new.txt", "new\n");
  disk.unlink("/proj/dir/b.txt");
  disk.unlink("/proj/dir/c.txt");
  disk.removeFolder("/proj/dir");
  disk.removeFolder("/proj/empty");
  put(disk, "/proj/empty", "now a file\n");
  const fd = disk.open("/proj/run.sh", "read");
  disk.chmod(fd, 0o700);
  disk.sync(fd);
  disk.close(fd);
  disk.syncFolder("/proj");
}

/** Changes the other roots in the same way: an edit of the single file, a creation, and the deletion of a folder. */
function editElsewhere(disk: SimDisk): void {
  put(disk, "/etc/one.conf", "edited\n");
  put(disk, "/two/new.txt", "new in the second root\n");
  disk.unlink("/two/deep/c.txt");
  disk.removeFolder("/two/deep");
  disk.syncFolder("/two");
}

/** Returns the files of the project, each with its kind, mode and content. Those of the other roots begin with `..`. */
export function project(disk: SimDisk): Tree {
  const elsewhere = ["two", "etc"].flatMap((folder) =>
    disk.lstat(`/${folder}`) === undefined ? [] : under(`../${folder}`, disk.dump(`/${folder}`)),
  );
  const all = [...Object.entries(disk.dump("/proj")), ...elsewhere];
  const present = all.filter(([path]) => !path.includes(".chronicle-tmp"));
  // The link count is left out, because the trash holds a second link while an operation is in progress.
  return Object.fromEntries(present.map(([path, state]) => [path, state.replace(/^file (\d+) \d+/, "file $1")]));
}

function under(folder: string, tree: Tree): [string, string][] {
  return Object.entries(tree).map(([path, state]) => [`${folder}/${path}`, state]);
}

/** Returns the head of the log as an acknowledged event. */
export async function acknowledgedHead(workspace: WorkspaceApi): Promise<Fact> {
  const { seq, hash } = await workspace.head();
  return { seq, hash };
}

/**
 * Checks the conditions that must hold on every disk after a crash or an error (see above). Throws if one does not
 * hold.
 */
export async function checkSound(disk: SimDisk, { acknowledged, error }: SweepContext<Fact>): Promise<void> {
  if (errnoOf(error) !== undefined && !isCoded(error))
    throw new Error("a bare system error reached the caller", { cause: error });
  await withWorkspace(disk, 500_000, async (workspace) => {
    const verified = await workspace.verify();
    if (!verified.ok && verified.problems.some((one) => one.kind !== "torn-tail")) {
      throw new Error(`verify before any repair: ${JSON.stringify(verified.problems)}`);
    }
    await workspace.snapshot();
    const log = await workspace.log();
    for (const fact of acknowledged) {
      if (log[fact.seq - 1]?.hash !== fact.hash) throw new Error(`acknowledged event ${fact.seq} is gone`);
    }
    expect((await workspace.status()).changes).toEqual([]);
    expect((await workspace.verify()).problems).toEqual([]);
  });
}

function isCoded(error: unknown): boolean {
  return error instanceof Error && error.name === "ChronicleError";
}

/** Returns the path of the log of the only workspace on the disk. */
export function logPath(disk: SimDisk): string {
  const [id] = disk.list("/store/workspaces");
  return `/store/workspaces/${id?.name.toString()}/events.wal`;
}

/** Wraps the disk of a sweep, so that a test can plant bugs. */
export type Through = (disk: SimDisk) => SimDisk;

/**
 * Sweeps of whole operations of the engine on three roots. Each has the conditions that must hold wherever the
 * operation is interrupted.
 */
export const engineSweeps: Readonly<Record<string, (through: Through) => Promise<CrashSweep<Fact>>>> = {
  init: async (through) => {
    const before = project(newDisk());
    return {
      prepare: newDisk,
      run: (disk, acknowledge) =>
        withRoots(through(disk), 0, async (workspace) => acknowledge(await acknowledgedHead(workspace))),
      check: async (disk, context) => {
        expect(project(disk)).toEqual(before);
        await withRoots(disk, 450_000, async (workspace) => expect((await workspace.status()).roots).toHaveLength(3));
        await checkSound(disk, context);
      },
    };
  },
  capture: async (through) => {
    const disk = newDisk();
    await withRoots(disk, 0, async () => undefined);
    edit(disk);
    editElsewhere(disk);
    const start = disk.crash("keep");
    return {
      prepare: () => start,
      run: (copy, acknowledge) =>
        withRoots(through(copy), 1_000, async (workspace) => {
          const { seq } = await workspace.snapshot();
          const [event] = await workspace.log({ from: seq, to: seq });
          if (event !== undefined) acknowledge({ seq, hash: event.hash });
        }),
      check: checkSound,
    };
  },
  "capture behind a torn tail": async (through) => {
    const disk = newDisk();
    await withRoots(disk, 0, async () => undefined);
    edit(disk);
    editElsewhere(disk);
    const log = logPath(disk);
    const fd = disk.open(log, "append");
    disk.write(fd, Buffer.from('{"hash":"0123'), null);
    disk.sync(fd);
    disk.close(fd);
    return {
      prepare: () => disk,
      run: (copy, acknowledge) =>
        withRoots(through(copy), 1_000, async (workspace) => {
          await workspace.snapshot();
          acknowledge(await acknowledgedHead(workspace));
        }),
      check: checkSound,
    };
  },
  restore: async (through) => {
    const disk = await edited();
    const trees = { after: project(disk), before: project(newDisk()) };
    return {
      prepare: () => disk,
      run: (copy, acknowledge) =>
        withRoots(through(copy), 2_000, async (workspace) => {
          await workspace.restore("baseline");
          acknowledge(await acknowledgedHead(workspace));
        }),
      check: (copy, context) => checkOldOrNew(copy, context, trees),
    };
  },
  undo: async (through) => {
    const disk = await edited();
    const before = project(disk);
    await withRoots(disk, 3_000, (workspace) => workspace.restore("baseline"));
    const start = disk.crash("keep");
    const trees = { after: project(start), before };
    return {
      prepare: () => start,
      run: (copy, acknowledge) =>
        withRoots(through(copy), 4_000, async (workspace) => {
          await workspace.undo();
          acknowledge(await acknowledgedHead(workspace));
        }),
      check: (copy, context) => checkOldOrNew(copy, context, trees),
    };
  },
  gc: async (through) => {
    const disk = await edited();
    return {
      prepare: () => disk,
      run: (copy, acknowledge) =>
        withRoots(through(copy), 5_000, async (workspace) => {
          acknowledge(await acknowledgedHead(workspace));
          await workspace.gc();
        }),
      check: checkSound,
    };
  },
};

/** Returns a disk with a workspace in which the baseline and the agent's changes are recorded. */
async function edited(): Promise<SimDisk> {
  const disk = newDisk();
  await withRoots(disk, 0, async () => undefined);
  edit(disk);
  editElsewhere(disk);
  await withRoots(disk, 1_000, (workspace) => workspace.snapshot());
  return disk.crash("keep");
}

/**
 * Checks that after the next command that changes something, all files are old or all are new, and that before it every
 * single file is one or the other.
 */
export async function checkOldOrNew(
  disk: SimDisk,
  context: SweepContext<Fact>,
  { before, after }: { readonly before: Tree; readonly after: Tree },
): Promise<void> {
  for (const [path, state] of Object.entries(project(disk))) {
    if (/^(file|symlink)/.test(state) && state !== before[path] && state !== after[path])
      throw new Error(`${path} is neither old nor new: ${state}`);
  }
  await withWorkspace(disk, 400_000, (workspace) => workspace.run({ command: ["true"] }));
  const settled = project(disk);
  const done = context.acknowledged.length > 0;
  if (done) expect(JSON.stringify(settled)).toBe(JSON.stringify(before));
  else if (JSON.stringify(settled) !== JSON.stringify(before)) expect(settled).toEqual(after);
  await checkSound(disk, context);
}
