import { systemError, SimulatedCrash } from "./sim-error.ts";

/** Operations that change the disk. An `open` is one if it creates the file. */
export type MutatingOperation =
  | "open"
  | "write"
  | "sync"
  | "syncFolder"
  | "syncAll"
  | "truncate"
  | "rename"
  | "link"
  | "unlink"
  | "makeFolder"
  | "removeFolder"
  | "symlink"
  | "chmod"
  | "setMtime"
  | "clone";

/** Operations that only read. An `open` is one if the file exists. */
export type ReadingOperation = "open" | "read" | "list" | "lstat" | "checkWrite";

/** One counted operation, passed to the plan before it happens. */
export interface SimOperation {
  /** Its number among the counted operations, from 0. */
  readonly index: number;
  readonly name: MutatingOperation | ReadingOperation;
  /** The path that the operation names. For a descriptor, the path with which the descriptor was opened. */
  readonly path: string;
  readonly reads: boolean;
}

/**
 * The plan's decision about an operation.
 * - `go`: it happens.
 * - `{errno}`: it fails with that code. A `write` that fails has written its first half. If a `sync` fails, later syncs
 *   do not make the writes durable that it should have covered. With `lasting`, every later operation that can fail
 *   with this errno fails, too.
 * - `stop-before`, `stop-after`: the machine stops before or after it.
 * - `stop-torn`: the machine stops in the middle. A write, a sync or a clone is half done. Any other operation is not
 *   begun.
 */
export type SimVerdict =
  | "go"
  | "stop-before"
  | "stop-torn"
  | "stop-after"
  | { readonly errno: string; readonly lasting?: boolean };

/** Decides about each counted operation. */
export type SimPlan = (operation: SimOperation) => SimVerdict;

/** The whole and partial effects of one operation. */
export interface SimSteps<T> {
  readonly whole: () => T;
  /** The effect if the machine stops in the middle. */
  readonly torn?: () => void;
  /** The effect if it fails with an errno. */
  readonly failed?: () => void;
}

const TAKING_SPACE: ReadonlySet<string> = new Set([
  "open",
  "write",
  "makeFolder",
  "symlink",
  "link",
  "rename",
  "clone",
  "sync",
]);
const OPENING: ReadonlySet<string> = new Set(["open", "list", "syncFolder", "syncAll", "clone"]);
const BY_DESCRIPTOR: ReadonlySet<string> = new Set(["read", "write", "sync", "truncate"]);

/** True if a real disk could fail this operation with this errno. */
export function canFailWith(name: SimOperation["name"], errno: string): boolean {
  if (errno === "ENOSPC" || errno === "EDQUOT") return TAKING_SPACE.has(name);
  if (errno === "EMFILE" || errno === "ENFILE") return OPENING.has(name);
  if (errno === "EACCES" || errno === "EPERM" || errno === "EROFS") return !BY_DESCRIPTOR.has(name);
  return true;
}

/** True if a stop in the middle of this operation differs from one before it. */
export function canTear(name: SimOperation["name"]): boolean {
  return name === "write" || name === "sync" || name === "syncFolder" || name === "clone";
}

/** Counts operations, and fails or stops those that the plan selects. */
export class SimFaults {
  plan: SimPlan | undefined;
  readonly #countsReads: boolean;
  #operations = 0;
  #stopped = false;
  #lasting: string | undefined;

  constructor(plan: SimPlan | undefined, countsReads: boolean) {
    this.plan = plan;
    this.#countsReads = countsReads;
  }

  /** Number of counted operations. */
  get operations(): number {
    return this.#operations;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Throws if the machine has stopped. */
  checkRunning(where: string): void {
    if (this.#stopped) throw new SimulatedCrash(`an earlier operation (now: ${where})`);
  }

  /**
   * Counts a reading operation, and fails or stops it as the plan says. If reading operations are not counted, only
   * checks that the machine is running.
   */
  observe(name: ReadingOperation, path: string): void {
    if (this.#countsReads) this.#run(name, path, { whole: () => undefined }, true);
    else this.checkRunning(name);
  }

  /** Counts an operation that changes the disk, and executes it as the plan says. */
  mutate<T>(name: MutatingOperation, path: string, steps: SimSteps<T>): T {
    return this.#run(name, path, steps, false);
  }

  #run<T>(name: SimOperation["name"], path: string, steps: SimSteps<T>, reads: boolean): T {
    this.checkRunning(name);
    const index = this.#operations++;
    const verdict = this.plan?.({ index, name, path, reads }) ?? "go";
    if (typeof verdict === "object") return this.#fail(name, path, steps, verdict);
    if (this.#lasting !== undefined && canFailWith(name, this.#lasting)) {
      return this.#fail(name, path, steps, { errno: this.#lasting });
    }
    if (verdict === "go") return steps.whole();
    if (verdict === "stop-torn") steps.torn?.();
    if (verdict === "stop-after") steps.whole();
    this.#stopped = true;
    throw new SimulatedCrash(`operation ${index}: ${name} ${path}`);
  }

  #fail<T>(
    name: SimOperation["name"],
    path: string,
    steps: SimSteps<T>,
    verdict: { readonly errno: string; readonly lasting?: boolean },
  ): never {
    if (verdict.lasting === true) this.#lasting = verdict.errno;
    steps.failed?.();
    throw systemError(verdict.errno, name, path);
  }
}
