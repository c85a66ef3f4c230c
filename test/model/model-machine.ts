import type { StoreApi, StoreOptions } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { CrashFate } from "../../src/disk/sim-crash.ts";
import { SimDisk } from "../../src/disk/sim-disk.ts";
import type { SimPlan } from "../../src/disk/sim-faults.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { readTree, textOf, touch, type Touch } from "./model-tree.ts";

/** Where, and how, the machine stops. */
export interface Crash {
  /** Before this many more operations of the disk. */
  readonly after: number;
  readonly mode: "stop-before" | "stop-torn" | "stop-after";
  readonly fate: CrashFate;
}

const FOLDER = { folder: 0o755 };

/** A machine whose disk and engine share a clock; its processes come and go, and it can lose its power. */
export class ModelMachine {
  ms = Date.parse("2030-01-01T00:00:00Z");
  pid = 1;
  #looks = 0;
  #ids = 0;
  #words = 0;
  #left = Number.POSITIVE_INFINITY;
  #mode: Crash["mode"] = "stop-before";
  readonly #retention: NonNullable<StoreOptions["retention"]>;
  #disk: SimDisk;
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  /** What a command does. */
  command: () => number = () => 0;

  constructor(retention: NonNullable<StoreOptions["retention"]>) {
    this.#retention = retention;
    this.#disk = SimDisk.fromTree(
      {
        "/proj/shared": textOf(["a0", "b0", "c0"]),
        "/proj/d/x": textOf(["a0"]),
        "/proj/d/y": textOf([]),
        "/proj/e": FOLDER,
        "/store": FOLDER,
        "/config": FOLDER,
        "/root": { folder: 0o700 },
      },
      this.#options,
    );
  }

  get #options(): { readonly clock: () => bigint; readonly onOperation: SimPlan } {
    return { clock: () => BigInt(this.#tick()) * 1_000_000n, onOperation: () => this.#verdict() };
  }

  #verdict(): ReturnType<SimPlan> {
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
    });
    this.#workspace = await this.#store.open({ folder: "/proj", create: true });
  }

  async close(): Promise<void> {
    await this.#workspace?.close();
    await this.#store?.close();
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
    this.pid += 1;
    await this.open();
    return true;
  }

  tree(): Map<string, string> {
    return readTree(this.#disk);
  }

  /** Writes something that was never written before. */
  touch(one: Touch): void {
    this.#words += 1;
    touch(this.#disk, one, `w${this.#words}`);
  }
}
