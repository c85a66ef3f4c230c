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

/** Where, and how, the machine stops. */
export interface Crash {
  /** Before this many more operations of the disk. */
  readonly after: number;
  readonly mode: "stop-before" | "stop-torn" | "stop-after";
  readonly fate: CrashFate;
}

const FOLDER = { folder: 0o755 };

export interface MachineOptions {
  readonly roots: readonly ModelRoot[];
  /** What an index is made of. */
  readonly index: "memory" | "sqlite";
  /** The set of backends of its store. Only one that outlives it meets a loss of power: see `OUTLIVES_POWER`. */
  readonly set: BackendSet;
}

/** A machine whose disk and engine share a clock; its processes come and go, and it can lose its power. */
export class ModelMachine {
  ms = Date.parse("2030-01-01T00:00:00Z");
  pid = 1;
  #looks = 0;
  #ids = 0;
  #words = 0;
  #left = Number.POSITIVE_INFINITY;
  #mode: Crash["mode"] = "stop-before";
  readonly roots: readonly ModelRoot[];
  readonly veil = new Veil();
  readonly #index: MachineOptions["index"];
  readonly #folder = new TemporaryFolder();
  /** What was touched since somebody asked last. */
  touched = new Set<string>();
  /** Places of files that cannot be opened. */
  readonly #locked = new Set<string>();
  /** Places of files beside their own that an apply has left: see `placesWithoutNotes`. */
  readonly #unnoted = new Set<string>();
  readonly #retention: NonNullable<StoreOptions["retention"]>;
  #disk: SimDisk;
  readonly #set: BackendSet;
  #storage: StorageBackends | undefined;
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  /** What a command does. */
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

  #verdict({ name, path, reads }: SimOperation): ReturnType<SimPlan> {
    if (reads) return name === "open" && this.#locked.has(path) ? { errno: "EACCES" } : "go";
    this.#left -= 1;
    return this.#left === -1 ? this.#mode : "go";
  }

  /** As coarse as a kernel's: several operations fall into one tick. */
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

  /** Begins a process that has it open. The index is built anew: it is not kept. */
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
    // By its id: a root that is a file may be gone.
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

  /** Opens the contents of the store for reading, also those that no path was recorded with. */
  async openBlobs(): Promise<BlobStore> {
    const { blobs } = storeLayout("/store");
    if (this.#storage === undefined) return openForReading(this.#disk, blobs);
    const how = { tell: () => undefined, lockWaitMs: 50 };
    return (await this.#storage.openBlobs(storeLayout("/store"), how)).blobs;
  }

  /** Nothing is opened again. */
  dispose(): void {
    this.#folder.dispose();
  }

  /** Another process goes on; whatever the one before had open has no owner any more. */
  async restart(): Promise<void> {
    await this.close();
    this.pid += 1;
    await this.open();
  }

  /** Lets the power go while something is done, unless that is done before. Did it go? */
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

  tree(): Map<string, string> {
    const tree = readTree(this.#disk, this.roots);
    for (const path of tree.keys())
      if (this.#unnoted.values().some((place) => path === place || path.startsWith(`${place}/`))) tree.delete(path);
    this.veil.note(tree);
    return tree;
  }

  /** Writes something that was never written before. */
  touch(one: Touch): void {
    this.#words += 1;
    const at = onDisk(this.roots, one.path);
    this.touched.add(one.path);
    this.#locked.delete(at);
    if (one.how === "large" || one.how === "lock") this.veil.addPath(one.path);
    touch({ disk: this.#disk, roots: this.roots }, one, `w${this.#words}`);
    if (one.how === "lock") this.#locked.add(at);
  }

  /** Rules of a root from now on: names that they keep out. */
  rule(root: ModelRoot, name: string): void {
    const path = inRoot(root, ".gitignore");
    this.veil.addName(name);
    this.touched.add(path);
    writeText(this.#disk, onDisk(this.roots, path), `${name}\n`);
    this.#disk.syncFolder(root.folder);
  }
}

/** A folder of the real disk, made once it is needed. */
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
