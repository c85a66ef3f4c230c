import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreApi, StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { CrashFate } from "../../src/testing/sim-disk/sim-crash.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { SimOperation, SimPlan } from "../../src/testing/sim-disk/sim-faults.ts";
import { openSqliteIndexStore } from "../../src/storage/sqlite/sqlite-index-store.ts";
import type { StorageBackends } from "../../src/storage/storage-backends.ts";
import type { BlobStore } from "../../src/storage/blob-store.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { optional } from "../../src/util/optional.ts";
import { type BackendSet, storageOf } from "../helpers/backend-sets.ts";
import { openForReading } from "./model-aside.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { givenRoot, inRoot, onDisk, type ModelRoot } from "./model-roots.ts";
import { MOST_BYTES, placesWithoutNotes, readTree, textOf, touch, writeText, type Touch } from "./model-tree.ts";
import { Veil } from "./model-veil.ts";

/** A loss of power: when it happens, and what it leaves on the disk. */
export interface Crash {
  /** The number of writing operations of the disk that still succeed. The power is lost at the next one. */
  readonly after: number;
  /** Whether the operation at which the power is lost is done not at all, in part, or completely. */
  readonly mode: "stop-before" | "stop-torn" | "stop-after";
  /** What becomes of the data that was not synced. */
  readonly fate: CrashFate;
}

const FOLDER = { folder: 0o755 };

export interface MachineOptions {
  readonly roots: readonly ModelRoot[];
  /** The kind of index. `sqlite` is a file on the real disk. */
  readonly index: "memory" | "sqlite";
  /** The set of backends of the store. Power is lost only with a set whose data outlives it (see `OUTLIVES_POWER`). */
  readonly set: BackendSet;
}

/**
 * A simulated machine whose disk and engine share a clock. Its processes are ended and started, and it can lose power.
 * One process runs at a time. `pid` is its id.
 */
export class ModelMachine {
  ms = Date.parse("2030-01-01T00:00:00Z");
  pid = 1;
  #looks = 0;
  #ids = 0;
  #words = 0;
  #left = Number.POSITIVE_INFINITY;
  #mode: Crash["mode"] = "stop-before";
  readonly roots: readonly ModelRoot[];
  /** The paths that a capture may omit. */
  readonly veil = new Veil();
  readonly #index: MachineOptions["index"];
  readonly #folder = new TemporaryFolder();
  /** The paths that people and tools have changed. The caller empties it before a step. */
  touched = new Set<string>();
  /** The places on the disk of files that cannot be opened. */
  readonly #locked = new Set<string>();
  /** The paths of staging folders whose notes a loss of power has removed (see `placesWithoutNotes`). */
  readonly #unnoted = new Set<string>();
  readonly #retention: NonNullable<StoreOptions["retention"]>;
  #disk: SimDisk;
  readonly #set: BackendSet;
  #storage: StorageBackends | undefined;
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  /** What the command of a run does. Returns the exit code. */
  command: () => number = () => 0;

  constructor(retention: NonNullable<StoreOptions["retention"]>, { roots, index, set }: MachineOptions) {
    this.#retention = retention;
    this.roots = roots;
    this.#index = index;
    this.#set = set;
    this.#disk = SimDisk.fromTree(
      {
        "/proj/shared": textOf(["a0", "b0", "c0"]),
        "/proj/d/x": textOf(["a0"]),
        "/proj/d/y": textOf([]),
        "/proj/e": FOLDER,
        "/two/shared": textOf(["a0", "b0", "c0"]),
        "/two/d/x": textOf(["a0"]),
        "/single/c": textOf(["a0", "b0", "c0"]),
        "/single/not-tracked": textOf(["a0"]),
        "/store": FOLDER,
        "/config": FOLDER,
        "/root": { folder: 0o700 },
      },
      this.#options,
    );
    this.#storage = storageOf(set, this.#disk);
  }

  get #options(): { readonly clock: () => bigint; readonly onOperation: SimPlan; readonly countsReads: true } {
    return {
      clock: () => BigInt(this.#tick()) * 1_000_000n,
      onOperation: (operation) => this.#verdict(operation),
      countsReads: true,
    };
  }

  /** Decides what becomes of an operation of the disk: locked files cannot be opened, and the power may be lost. */
  #verdict({ name, path, reads }: SimOperation): ReturnType<SimPlan> {
    if (reads) return name === "open" && this.#locked.has(path) ? { errno: "EACCES" } : "go";
    this.#left -= 1;
    return this.#left === -1 ? this.#mode : "go";
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

  get disk(): SimDisk {
    return this.#disk;
  }

  get workspace(): WorkspaceApi {
    if (this.#workspace === undefined) throw new Error("not open");
    return this.#workspace;
  }

  /** Opens the store and the workspace, as a new process does. The index is built again, because it is not kept. */
  async open(): Promise<void> {
    this.#ids += 10_000;
    this.#store = await openSimStore(this.#disk, {
      firstId: this.#ids,
      clock: () => this.#tick(),
      pid: this.pid,
      retention: this.#retention,
      command: () => this.command(),
      ...optional({ storage: this.#storage }),
      ...(this.#index === "memory"
        ? {}
        : { index: () => openSqliteIndexStore(this.#folder.newFile(), new NodeDisk()) }),
    });
    const known = this.#workspace?.id;
    // A known workspace is opened by its id, because a root that is a file may not exist any more.
    if (known === undefined)
      this.#workspace = (
        await this.#store.init({ roots: this.roots.map(givenRoot), maxFileSize: MOST_BYTES })
      ).workspace;
    else this.#workspace = await this.#store.openById(known);
  }

  async close(): Promise<void> {
    await this.#workspace?.close();
    await this.#store?.close();
  }

  /** Opens the blob store for reading, in order to read blobs that belong to no recorded path. */
  async openBlobs(): Promise<BlobStore> {
    const { blobs } = storeLayout("/store");
    if (this.#storage === undefined) return openForReading(this.#disk, blobs);
    const how = { tell: () => undefined, lockWaitMs: 50 };
    return (await this.#storage.openBlobs(storeLayout("/store"), how)).blobs;
  }

  /** Removes the index files from the real disk. The machine cannot be used afterwards. */
  dispose(): void {
    this.#folder.dispose();
  }

  /** Ends the process and starts another one. The owner of all work that is still open is gone then. */
  async restart(): Promise<void> {
    await this.close();
    this.pid += 1;
    await this.open();
  }

  /**
   * Runs `work` with a loss of power in it, unless `work` ends earlier. Returns whether the power was lost. If it was,
   * restarts the machine with another process.
   */
  async crashing(crash: Crash, work: () => Promise<unknown>): Promise<boolean> {
    [this.#left, this.#mode] = [crash.after, crash.mode];
    try {
      await work();
    } catch (error) {
      if (!this.#disk.stopped) throw error;
    }
    this.#left = Number.POSITIVE_INFINITY;
    if (!this.#disk.stopped) return false;
    this.#disk = this.#disk.crash(crash.fate, this.#options);
    for (const path of placesWithoutNotes(this.#disk, this.tree(), this.roots)) this.#unnoted.add(path);
    this.#storage = storageOf(this.#set, this.#disk);
    this.pid += 1;
    await this.open();
    return true;
  }

  /** Returns the files of all roots, without staging folders that have no note. Notes hidden paths in the veil. */
  tree(): Map<string, string> {
    const tree = readTree(this.#disk, this.roots);
    for (const path of tree.keys())
      if (this.#unnoted.values().some((place) => path === place || path.startsWith(`${place}/`))) tree.delete(path);
    this.veil.note(tree);
    return tree;
  }

  /** Changes a path as a person or a tool does. Each text that is written is a new one. */
  touch(one: Touch): void {
    this.#words += 1;
    const at = onDisk(this.roots, one.path);
    this.touched.add(one.path);
    this.#locked.delete(at);
    if (one.how === "large" || one.how === "lock") this.veil.addPath(one.path);
    touch({ disk: this.#disk, roots: this.roots }, one, `w${this.#words}`);
    if (one.how === "lock") this.#locked.add(at);
  }

  /** Adds a rule to a root by its `.gitignore`: files with this name are omitted from now on. */
  rule(root: ModelRoot, name: string): void {
    const path = inRoot(root, ".gitignore");
    this.veil.addName(name);
    this.touched.add(path);
    writeText(this.#disk, onDisk(this.roots, path), `${name}\n`);
    this.#disk.syncFolder(root.folder);
  }
}

/** A folder on the real disk. It is made when it is first needed. */
class TemporaryFolder {
  #path: string | undefined;
  #files = 0;

  newFile(): string {
    this.#path ??= mkdtempSync(join(tmpdir(), "chronicle-model-"));
    this.#files += 1;
    return join(this.#path, `index-${this.#files}`);
  }

  dispose(): void {
    if (this.#path !== undefined) rmSync(this.#path, { recursive: true });
  }
}
