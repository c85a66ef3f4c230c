import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openFileStore } from "../../src/compose/file-store.ts";
import { openContext } from "../../src/compose/open-context.ts";
import { partsOf } from "../../src/compose/open-parts.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import type { DiskPath, OpenHow } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { acceptWriteBack } from "../../src/engine/replica/accept-write-back.ts";
import { Project } from "../helpers/project.ts";
import { storeBackends } from "../helpers/store-parts.ts";

/** Files that Chronicle itself has just put into a followed folder are not read again. */

/** The longest tick of a kernel's clock, and a little more, in milliseconds. */
const TICK_MS = 11;

/**
 * Counts the reads of files that were linked or renamed to `a`. They get their name a tick after their content, as on a
 * slower disk.
 */
class CountingDisk extends NodeDisk {
  reads = 0;
  readonly #files = new Set<bigint>();
  readonly #open = new Set<number>();

  override open(path: DiskPath, how: OpenHow, mode?: number): number {
    const fd = super.open(path, how, mode);
    const { ino } = super.fstat(fd);
    if (how === "read" && this.#files.has(ino)) this.#open.add(fd);
    // An inode number that is free again may now be that of any file of the store.
    if (how !== "read") this.#files.delete(ino);
    return fd;
  }

  override read(fd: number, into: Uint8Array, position: number): number {
    if (this.#open.has(fd)) this.reads += 1;
    return super.read(fd, into, position);
  }

  override close(fd: number): void {
    this.#open.delete(fd);
    super.close(fd);
  }

  override link(from: DiskPath, to: DiskPath): void {
    this.#name(from, to);
    super.link(from, to);
  }

  override rename(from: DiskPath, to: DiskPath): void {
    this.#name(from, to);
    super.rename(from, to);
  }

  #name(from: DiskPath, to: DiskPath): void {
    if (!to.toString().endsWith("/a")) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TICK_MS);
    this.#files.add(super.lstat(from)?.ino ?? 0n);
  }
}

/** A followed folder with the file `a`. Its watcher has handled all earlier hints. */
class Followed implements AsyncDisposable {
  readonly disk: CountingDisk;
  readonly project: Project;
  readonly store: StoreApi;
  readonly workspace: WorkspaceApi;
  #edits = 0;

  private constructor(project: Project, disk: CountingDisk, store: StoreApi, workspace: WorkspaceApi) {
    this.project = project;
    this.disk = disk;
    this.store = store;
    this.workspace = workspace;
  }

  static async start(): Promise<Followed> {
    const [project, disk] = [new Project(), new CountingDisk()];
    project.write("a", "0");
    const { home, configFolder, folder } = project;
    const store = await openFileStore({ home, configFolder, waitMs: 5_000 }, storeBackends(undefined, disk));
    const { workspace } = await store.init({ roots: [folder] });
    await workspace.follow({ record: true });
    const followed = new Followed(project, disk, store, workspace);
    await followed.seenAll();
    return followed;
  }

  /** Edits another file. Once this edit is recorded, the watcher has handled all earlier hints, too. */
  async seenAll(): Promise<void> {
    const content = `${(this.#edits += 1)}`;
    this.project.write("mark", content);
    await this.recorded("mark", content);
  }

  async recorded(path: string, content: string): Promise<void> {
    for (; ; await sleep(5)) {
      const iterations = await this.workspace.history(path).catch(() => []);
      if (iterations.at(-1)?.hash === sha256(content)) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.workspace.close();
    await this.store.close();
    await this.project[Symbol.asyncDispose]();
  }
}

test("a file that was put into a followed folder is read again neither by the watcher nor by a later put or undo", async () => {
  await using followed = await Followed.start();
  const { disk, workspace } = followed;
  // This first put may read the file, because anybody may just have changed it.
  await workspace.putFile("a", Buffer.from("0, by Chronicle"));
  disk.reads = 0;
  for (const content of ["1", "2", "3", "4"]) {
    await workspace.putFile("a", Buffer.from(content));
    await followed.seenAll();
  }
  await workspace.undo();
  await followed.seenAll();
  expect(disk.reads).toBe(0);
  expect((await workspace.history("a")).map(({ cause }) => cause)).toEqual([
    ...["baseline", "write", "write", "write", "write", "write", "undo"],
  ]);
});

test("an edit of the same size right after a put is recorded", async () => {
  await using followed = await Followed.start();
  const { project, workspace } = followed;
  for (const content of ["1", "3", "5", "7", "9"]) {
    await workspace.putFile("a", Buffer.from(content));
    const edit = String(Number(content) - 1);
    project.write("a", edit);
    await followed.recorded("a", edit);
  }
  expect((await workspace.history("a")).map(({ cause }) => cause)).toEqual([
    "baseline",
    ...["write", "capture", "write", "capture", "write", "capture", "write", "capture", "write", "capture"],
  ]);
});

test("a .gitignore that was put takes effect: a file that it no longer excludes is recorded", async () => {
  await using followed = await Followed.start();
  const { project, workspace } = followed;
  await workspace.putFile(".gitignore", Buffer.from("*.log\n"));
  project.write("kept.log", "kept out");
  await followed.seenAll();
  await workspace.putFile(".gitignore", Buffer.from("*.tmp\n"));
  await followed.recorded("kept.log", "kept out");
});

test("what a replica has written is not read again by the origin's watcher, which belongs to another engine", async () => {
  await using followed = await Followed.start();
  const { disk, store, workspace } = followed;
  const parts = partsOf(store);
  const { id } = workspace;
  await using opened = await openContext(parts, id, { tasks: storeTasks(parts, id) }).then((one) => ({
    ...one,
    [Symbol.asyncDispose]: one.close,
  }));
  const { context } = opened;
  const path = parsePath("a");
  for (const [at, content] of ["1", "2", "3"].entries()) {
    const bytes = Buffer.from(content);
    const batch = await context.blobs.batch();
    await batch.put(bytes);
    await batch.commit();
    const seen = (await workspace.history("a")).at(-1);
    const entry = { path, kind: "file", mode: 0o644, size: 1, mtimeMs: 0, hash: sha256(bytes) } as const;
    const { accepted } = await acceptWriteBack(context, {
      replica: "r1",
      acknowledged: seen?.seq ?? 0,
      entries: [{ localSeq: at + 1, path, entry, seen: seen?.seq ?? 0, actor: "agent" }],
    });
    expect(accepted).toHaveLength(1);
    disk.reads = 0;
    await followed.seenAll();
    expect(disk.reads).toBe(0);
  }
  expect((await workspace.history("a")).map(({ cause }) => cause)).toEqual([
    ...["baseline", "replica", "replica", "replica"],
  ]);
});
