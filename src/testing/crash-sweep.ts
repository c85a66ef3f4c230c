import type { CrashFate } from "./sim-disk/sim-crash.ts";
import { canFailWith, canTear, type SimOperation, type SimPlan } from "./sim-disk/sim-faults.ts";
import type { SimDisk } from "./sim-disk/sim-disk.ts";

/** The point at which the machine stops: before, in the middle of, or after an operation. */
type StopMode = "before" | "torn" | "after";

/** The context of one check. */
export interface SweepContext<Fact = unknown> {
  /** The index of the disturbed operation. If `mode` is `end`, the number of operations. */
  readonly point: number;
  /** The disturbed operation. `undefined` if `mode` is `end`. */
  readonly operation: SimOperation | undefined;
  /** `errno`: the operation failed. `end`: nothing was disturbed, and the power was lost right after the run. */
  readonly mode: StopMode | "errno" | "end";
  /** The fate of unsynced changes in the power loss; `undefined` if only the process ended (`errno`). */
  readonly fate: CrashFate | undefined;
  readonly errno: string | undefined;
  /** The error of the run; `undefined` if it ended normally. */
  readonly error: unknown;
  /** The facts that the run had acknowledged before it was interrupted. */
  readonly acknowledged: readonly Fact[];
}

/** A run, and the condition that must hold wherever it is interrupted. */
export interface CrashSweep<Fact = unknown> {
  /** Makes the disk with which every run begins. It is called once, and each run gets a copy. */
  readonly prepare: () => SimDisk | Promise<SimDisk>;
  /**
   * The code under test. It calls `acknowledge` for each fact that must survive from then on. It must perform the same
   * operations each time.
   */
  readonly run: (disk: SimDisk, acknowledge: (fact: Fact) => void) => Promise<void> | void;
  /** Throws if the disk found afterwards does not fulfil the condition. May change that disk, which is a copy. */
  readonly check: (disk: SimDisk, context: SweepContext<Fact>) => Promise<void> | void;
  /**
   * The points at which the machine stops. Default: before, torn, after. `after` is swept only where no following
   * `before` shows the same disk (see `#isLast`).
   */
  readonly modes?: readonly StopMode[];
  /** The fates of unsynced changes. Default: forget, keep and two seeds. A seed varies from point to point. */
  readonly fates?: readonly CrashFate[];
  /**
   * Errnos with which each operation fails once, if a real disk could fail it with them (`canFailWith`). Default:
   * ENOSPC, EIO, EMFILE, EACCES.
   */
  readonly errnos?: readonly string[];
  /** True to also let each errno persist from its operation on. Default false. */
  readonly lasting?: boolean;
  /** True to also fail reading operations. Default false. */
  readonly reads?: boolean;
  /** Disturbs only every n-th operation. Default 1. */
  readonly every?: number;
  /** Disturbs only this operation, to examine one failure. */
  readonly only?: number;
}

/** The size of a sweep. */
export interface SweepResult {
  /** Number of operations of the undisturbed run. */
  readonly points: number;
  /** Number of runs, including the undisturbed one. */
  readonly runs: number;
  readonly checks: number;
}

const MODES: readonly StopMode[] = ["before", "torn", "after"];
const FATES: readonly CrashFate[] = ["forget", "keep", { seed: 1 }, { seed: 2 }];
const ERRNOS: readonly string[] = ["ENOSPC", "EIO", "EMFILE", "EACCES"];

/**
 * Performs the run of a sweep once undisturbed. Then repeats it for each of its operations and each way to disturb that
 * operation, and checks the disk each time. After an errno, checks the disk as it is (only the process has ended), and
 * after each fate of a power loss.
 *
 * Throws at the first check that fails, with the point, mode and fate in the message. Also throws if the undisturbed
 * run fails.
 */
export async function sweepCrashes<Fact = unknown>(sweep: CrashSweep<Fact>): Promise<SweepResult> {
  return new Sweep(sweep, await sweep.prepare()).run();
}

/** The result of one run, whether it ended or was interrupted. */
interface Outcome<Fact> {
  readonly disk: SimDisk;
  readonly error: unknown;
  readonly acknowledged: readonly Fact[];
}

class Sweep<Fact> {
  readonly #sweep: CrashSweep<Fact>;
  readonly #prepared: SimDisk;
  readonly #operations: SimOperation[] = [];
  #runs = 0;
  #checks = 0;

  constructor(sweep: CrashSweep<Fact>, prepared: SimDisk) {
    this.#sweep = sweep;
    this.#prepared = prepared;
  }

  async run(): Promise<SweepResult> {
    const clean = await this.#attempt((operation) => {
      this.#operations.push(operation);
      return "go";
    });
    if (clean.error !== undefined) throw new Error("Crash sweep: the undisturbed run failed.", { cause: clean.error });
    const points = this.#operations.length;
    const { only, every = 1 } = this.#sweep;
    if (only === undefined) await this.#checkFates(clean, { point: points, operation: undefined, mode: "end" });
    for (const operation of this.#operations) {
      const wanted = only === undefined ? operation.index % every === 0 : operation.index === only;
      if (!wanted) continue;
      await this.#stopAt(operation);
      await this.#failAt(operation);
    }
    return { points, runs: this.#runs, checks: this.#checks };
  }

  async #stopAt(operation: SimOperation): Promise<void> {
    if (operation.reads) return;
    const modes = this.#sweep.modes ?? MODES;
    for (const mode of modes) {
      if (mode === "torn" && !canTear(operation.name)) continue;
      if (mode === "after" && modes.includes("before") && !this.#isLast(operation)) continue;
      const outcome = await this.#attempt(({ index }) => (index === operation.index ? `stop-${mode}` : "go"));
      if (outcome.disk.stopped) await this.#checkFates(outcome, { point: operation.index, operation, mode });
      else throw this.#failure({ point: operation.index, operation, mode }, outcome.error ?? new Error(NOT_REACHED));
    }
  }

  /**
   * True if `after` shows a disk that no other point shows: after the last operation that changes the disk, or if
   * points are left out (`every`, `only`), so that the next `before` is not swept.
   */
  #isLast(operation: SimOperation): boolean {
    const alone = (this.#sweep.every ?? 1) > 1 || this.#sweep.only !== undefined;
    return alone || this.#operations.findLast((each) => !each.reads) === operation;
  }

  async #failAt(operation: SimOperation): Promise<void> {
    for (const errno of this.#sweep.errnos ?? ERRNOS) {
      if (!canFailWith(operation.name, errno)) continue;
      for (const lasting of this.#sweep.lasting === true ? [false, true] : [false]) {
        const outcome = await this.#attempt(({ index }) => (index === operation.index ? { errno, lasting } : "go"));
        const what = { point: operation.index, operation, mode: "errno", errno } as const;
        await this.#check(outcome.disk.fork(), outcome, what);
        await this.#checkFates(outcome, what);
      }
    }
  }

  async #attempt(onOperation: SimPlan): Promise<Outcome<Fact>> {
    this.#runs++;
    const disk = this.#prepared.fork({ onOperation, countsReads: this.#sweep.reads === true });
    const acknowledged: Fact[] = [];
    let error: unknown;
    try {
      await this.#sweep.run(disk, (fact) => void acknowledged.push(fact));
    } catch (thrown) {
      error = thrown;
    }
    return { disk, error, acknowledged };
  }

  async #checkFates(outcome: Outcome<Fact>, what: Disturbance): Promise<void> {
    for (const each of this.#sweep.fates ?? FATES) {
      const fate = typeof each === "string" ? each : { seed: each.seed + what.point * 7919 };
      await this.#check(outcome.disk.crash(fate), outcome, { ...what, fate });
    }
  }

  async #check(disk: SimDisk, outcome: Outcome<Fact>, what: Disturbance): Promise<void> {
    this.#checks++;
    const { error, acknowledged } = outcome;
    try {
      await this.#sweep.check(disk, { fate: undefined, errno: undefined, ...what, error, acknowledged });
    } catch (problem) {
      throw this.#failure(what, problem);
    }
  }

  #failure(what: Disturbance, cause: unknown): Error {
    const where = what.operation === undefined ? "the end" : `${what.operation.name} ${what.operation.path}`;
    const how = [what.mode, what.errno, what.fate === undefined ? undefined : JSON.stringify(what.fate)];
    const reason = cause instanceof Error ? cause.message : String(cause);
    const place = `point ${what.point} of ${this.#operations.length} (${where}), ${how.filter(Boolean).join(" ")}`;
    return new Error(`Crash sweep: ${place}: ${reason}`, { cause });
  }
}

type Disturbance = Pick<SweepContext, "point" | "operation" | "mode"> & Partial<Pick<SweepContext, "fate" | "errno">>;

const NOT_REACHED = "the run ended before this operation; it must do the same each time";
