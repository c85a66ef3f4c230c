import type { RejectedEntry } from "../../../core/records/write-back.ts";
import { codedError, type ChronicleError } from "../../../core/values/errors.ts";
import type { ReplicaHalt } from "../../../core/records/replica-record.ts";
import { shownPath } from "../../../engine/log/shape.ts";
import { asFatal } from "../../channel.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { Timers } from "../../../util/timers.ts";
import type { OriginLink } from "../link/origin-link.ts";
import type { CycleOutcome } from "../cycle/read-cycle.ts";
import { PART_MS, type FolderCycle } from "../cycle/folder-cycle.ts";
import type { LossDecision } from "../cycle/deletion-guard.ts";

interface CycleLoopOptions {
  readonly cycle: FolderCycle;
  readonly mirror: Mirror;
  readonly timers: Timers;
  /** Returns the present time, in epoch milliseconds. */
  readonly now: () => number;
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly isActive: () => boolean;
  /** Records the changes in the folder, then calls `looked` or `failed`. Never rejects. */
  readonly look: () => Promise<void>;
  readonly link: () => Pick<OriginLink, "sequence" | "isCaughtUp" | "isCatchingUp">;
  readonly onHalt: (halt: ReplicaHalt) => Promise<void>;
  readonly tell: (happening: SyncEvent) => void;
}

/**
 * The delay, in ms, of a write of the sync's record. Until this write, the record in the log lacks the latest answers
 * of the origin, and the latest events that only repeat the folder's own changes.
 */
const LAZY_MS = 1_000;

/**
 * The number of consecutive abandoned cycles after which the loop pauses. A cycle is abandoned if files change
 * meanwhile.
 */
const MOST_MOVES = 5;
/** The shortest pause, in ms, after `MOST_MOVES` abandoned cycles. */
const MOVED_MS = 100;

/**
 * If a step (one cycle) wrote between `from` and `to` files, and more changes are expected, the next step waits for
 * `waitMs`, so that it has more files to write. The files of a large step share one fsync, but each file of a small
 * step has its own fsync (see the worktree's `apply`). During the wait, other work can run, such as storing contents.
 */
const MANY = { from: 24, to: 256, waitMs: 200 };

/**
 * The limit, in ms, of the pause after a cycle without effect. The pause is as long as the cycle took, up to this
 * limit, or longer if the outcome of the cycle requires it. An immediate repetition would cost as much again, and leave
 * no time for the events or changes for which the cycle waits.
 */
const LONGEST_REST_MS = 10_000;
const FIRST_RETRY_MS = 500;

/**
 * The longest wait between two retries, in ms. The wait is short, because no event tells when a disk has room again or
 * is writable again.
 */
const LONGEST_RETRY_MS = 8_000;

/** The shortest wait after a failed cycle: `parts` times the duration of the cycle, but at most `mostMs`. */
const COSTLY = { parts: 4, mostMs: 30_000 };

/** Runs cycles, one after another, as long as there is work. Retries failed cycles. */
export class CycleLoop {
  readonly #options: CycleLoopOptions;
  readonly #arrivals: Arrivals;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #decided: LossDecision | undefined;
  /**
   * True if everything in the folder was scanned since `setOut`, or if the folder is missing. A missing folder cannot
   * be scanned, so its recorded state can be older than its last state on disk.
   */
  #isLooked = false;
  /**
   * True if a person has accepted a large deletion at the origin, and further parts of the deletion may still arrive.
   */
  #isRestAccepted = false;
  #failure: ChronicleError | undefined;
  #failures = 0;
  #retryAt: number | undefined;
  #moves = 0;
  #spentMs = 0;
  #later: Disposable | undefined;
  #lazy: Disposable | undefined;

  constructor(options: CycleLoopOptions) {
    this.#options = options;
    this.#arrivals = new Arrivals({ held: () => options.mirror.head.seq, told: () => options.link().sequence });
  }

  get isBusy(): boolean {
    return this.#running !== undefined || this.#isWanted || this.#later !== undefined;
  }

  /** The error of the last failed cycle. Cleared when a cycle succeeds. */
  get failure(): ChronicleError | undefined {
    return this.#failure;
  }

  /**
   * True until a requested restore is carried out. Before the restore, the loop waits for the origin's latest events,
   * such as erasures. If the origin cannot be reached, the restore uses the mirror's state.
   */
  get isRestoring(): boolean {
    return this.#decided === "restore";
  }

  /** The time of the next retry, in epoch milliseconds; `undefined` if no retry is scheduled. */
  get retryAt(): number | undefined {
    return this.#retryAt;
  }

  /** Carries out a scheduled retry now. The next failure then leads to the shortest wait. */
  hurry(): void {
    this.#failures = 0;
    if (this.#retryAt === undefined) return;
    this.#later?.[Symbol.dispose]();
    this.#retryNow();
  }

  /** Requests a cycle, at once or after `afterMs` ms. */
  wake(afterMs = 0): void {
    if (afterMs > 0 && this.#later === undefined && this.#options.isActive()) return this.#wakeLater(afterMs);
    this.#isWanted = true;
    if (this.#running !== undefined || this.#later !== undefined || !this.#mayRun) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.#options.tell({ kind: "state" });
      // New work may have arrived while the last cycle ended.
      if (this.#isWanted) this.wake();
    });
  }

  /**
   * Restarts the loop. No cycle runs until everything in the folder was scanned. `decided` is a person's decision about
   * a large deletion that the next cycle may find.
   */
  setOut(decided: LossDecision | undefined): void {
    this.#decided = decided;
    this.#isLooked = false;
    this.#isRestAccepted = false;
  }

  /** Must be called when everything in the folder was scanned, or the folder is missing. Lets cycles run. */
  looked(): void {
    this.#isLooked = true;
    this.wake();
  }

  /**
   * Must be called after a failed attempt. `spentMs` is its duration, in ms. Schedules a retry, which scans the folder
   * and compares everything.
   */
  failed(error: unknown, spentMs = 0): void {
    if (!this.#options.isActive()) return;
    const failure = asFatal(codedError(error));
    if (this.#failure?.message !== failure.message) this.#options.tell({ kind: "degraded", reason: failure.message });
    this.#failure = failure;
    this.#options.cycle.compareAll();
    const seldom = Math.min(COSTLY.mostMs, COSTLY.parts * spentMs);
    const ms = Math.max(seldom, Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures, 8)));
    this.#lookLater(ms);
    this.#retryAt = this.#options.now() + ms;
    this.#failures += 1;
  }

  /** Schedules a write of the sync's record. All changes of the record within `LAZY_MS` share one write. */
  writeSoon(): void {
    const { cycle, timers, inTurn, isActive } = this.#options;
    if (!cycle.isAhead || this.#lazy !== undefined || !isActive()) return;
    this.#lazy = timers.after(LAZY_MS, () => {
      this.#lazy = undefined;
      if (!isActive() || !cycle.isAhead) return;
      inTurn(() => cycle.write()).catch((error: unknown) => this.failed(error));
    });
  }

  /** Cancels all scheduled cycles, retries and writes. Resolves when no cycle runs. `wake` starts the loop again. */
  async rest(): Promise<void> {
    this.#later?.[Symbol.dispose]();
    this.#later = undefined;
    this.#retryAt = undefined;
    this.#failures = 0;
    this.#lazy?.[Symbol.dispose]();
    this.#lazy = undefined;
    this.#isWanted = false;
    await this.#running;
  }

  get #mayRun(): boolean {
    return this.#isLooked && this.#options.isActive();
  }

  async #run(): Promise<void> {
    while (this.#isWanted && this.#later === undefined && this.#mayRun) {
      const waitMs = this.#waitForMore();
      if (waitMs !== undefined) return this.#wakeLater(waitMs);
      this.#isWanted = false;
      const began = this.#options.now();
      try {
        const outcome = await this.#options.inTurn(() => this.#step());
        this.#failure = undefined;
        this.#failures = 0;
        if (outcome !== undefined) await this.#after(outcome);
      } catch (error) {
        this.failed(error, this.#options.now() - began);
      }
    }
    if (!this.#options.isActive()) this.#isWanted = false;
  }

  /** Returns the time to wait for more events, in ms, or `undefined` if a cycle can run now. */
  #waitForMore(): number | undefined {
    const { cycle, mirror } = this.#options;
    return mirror.workspace === "" ? undefined : this.#arrivals.waitFor(cycle.applied === 0);
  }

  /** Runs one cycle. Returns `undefined` if more of the origin's events must arrive first. */
  async #step(): Promise<CycleOutcome | undefined> {
    const { cycle, mirror, tell, now, link } = this.#options;
    if (mirror.workspace === "") return undefined;
    if (cycle.record.keeps === "both" && !link().isCaughtUp) return undefined;
    if (this.isRestoring && link().isCatchingUp) return undefined;
    if (cycle.record.origin !== mirror.workspace) await cycle.write({ origin: mirror.workspace });
    const from = cycle.applied;
    const decided = this.#decided;
    const began = now();
    const outcome = await cycle.run(decided, this.#isRestAccepted);
    this.#spentMs = Math.max(0, now() - began);
    if (outcome.kind !== "done") return outcome;
    if (this.#decided === decided) this.#decided = undefined;
    this.#isRestAccepted = (this.#isRestAccepted || decided === "deletions") && !link().isCaughtUp;
    const to = cycle.applied;
    if (to > from || outcome.applied > 0) tell({ kind: "applied", from, to, paths: outcome.applied });
    return outcome;
  }

  async #after(outcome: CycleOutcome): Promise<void> {
    this.#moves = outcome.kind === "moved" ? this.#moves + 1 : 0;
    switch (outcome.kind) {
      case "moved":
        this.#isWanted = true;
        if (this.#moves >= MOST_MOVES) this.#restFor(MOVED_MS);
        return;
      case "restless":
        return this.#restFor(outcome.waitMs);
      case "partial":
        return this.#restFor(PART_MS);
      case "halted":
        return this.#options.onHalt(outcome.halt);
      case "done":
        for (const { path, state } of outcome.conflicts)
          this.#options.tell({ kind: "conflict", path: shownPath(path), state });
        // If the step wrote something that may have to be sent, another cycle must run.
        this.#isWanted ||= outcome.isMore;
        if (outcome.applied >= MANY.from && outcome.applied <= MANY.to && this.#isMoreKnown())
          this.#wakeLater(MANY.waitMs);
        this.writeSoon();
    }
  }

  #restFor(ms: number): void {
    this.#wakeLater(Math.max(ms, Math.min(LONGEST_REST_MS, this.#spentMs)));
  }

  #isMoreKnown(): boolean {
    const { cycle, mirror, link } = this.#options;
    return Math.max(mirror.head.seq, link().sequence) > cycle.applied;
  }

  #wakeLater(ms: number): void {
    this.#later?.[Symbol.dispose]();
    this.#isWanted = true;
    this.#later = this.#options.timers.after(ms, () => {
      this.#later = undefined;
      this.wake();
    });
  }

  #lookLater(ms: number): void {
    this.#later?.[Symbol.dispose]();
    this.#isWanted = true;
    this.#later = this.#options.timers.after(ms, () => this.#retryNow());
  }

  #retryNow(): void {
    this.#later = undefined;
    this.#retryAt = undefined;
    if (this.#options.isActive()) void this.#options.look();
  }
}

export type SyncEvent =
  | { readonly kind: "state" }
  | { readonly kind: "applied"; readonly from: number; readonly to: number; readonly paths: number }
  | { readonly kind: "pushed"; readonly accepted: number; readonly rejected: number; readonly refused?: number }
  | { readonly kind: "conflict"; readonly path: string; readonly state: "open" | "settled" }
  | { readonly kind: "halted"; readonly reason: string; readonly hint?: string }
  | { readonly kind: "degraded"; readonly reason: string };

/**
 * The reasons of refusals after which the change is compared again. A change that was refused for another reason stays
 * in the folder.
 */
const OVERTAKEN: ReadonlySet<string> = new Set(["stale", "causal-lie"]);

export function pushed(accepted: number, rejected: readonly RejectedEntry[]): SyncEvent {
  const refused = rejected.filter(({ reason }) => !OVERTAKEN.has(reason)).length;
  return { kind: "pushed", accepted, rejected: rejected.length, ...(refused === 0 ? {} : { refused }) };
}

interface ArrivalsOptions {
  /** Returns the seq of the last event that the mirror holds. */
  readonly held: () => number;
  /** Returns the seq of the last event that the origin has reported since the sync was opened, or 0. */
  readonly told: () => number;
}

/** The time, in ms, between two checks whether the events have arrived. */
const LOOK_MS = 100;

/** The maximum number of missing events for which a cycle does not wait. */
const FEW = 500;

/** The maximum number of consecutive checks without progress in one wait. */
const MOST_STILL = 10;
/** The maximum number of all checks in one wait. */
const MOST_LOOKS = 300;

/**
 * Waits for the events that an origin is known to have, before a cycle decides which files a folder gets. Events arrive
 * in the order of the log. A state in the middle of the log is of no use, because it can have files that were deleted
 * long ago, or only one half of a renamed folder. Moreover, a decision about a part of a large history costs as much as
 * a decision about the whole history.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  /** The seq of the event to wait for: the origin's last event at the time when the wait began. */
  #goal: number | undefined;
  #last = 0;
  #still = 0;
  #looks = 0;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /**
   * Returns the time to wait, in ms, or `undefined` if a cycle can run now. `isFirst` is true if the folder has
   * received nothing from this origin so far.
   */
  waitFor(isFirst: boolean): number | undefined {
    const { held, told } = this.#options;
    if (this.#goal === undefined && (isFirst ? told() > 0 : told() - held() > FEW)) this.#goal = told();
    // If the origin was put back to an earlier state, the event to wait for may be lost. `told()` is then lower.
    const isWaiting = isFirst
      ? held() < Math.min(this.#goal ?? Infinity, told() || Infinity)
      : held() < (this.#goal ?? 0) && this.#isComing();
    if (isWaiting) return LOOK_MS;
    this.#still = this.#looks = 0;
    if (!isFirst) this.#goal = undefined;
    return undefined;
  }

  /**
   * True until the wait reaches one of its limits. Without limits, events that do not arrive, or that arrive without
   * end, would delay all other work.
   */
  #isComing(): boolean {
    const held = this.#options.held();
    this.#still = held > this.#last ? 0 : this.#still + 1;
    this.#last = held;
    this.#looks += 1;
    return this.#still <= MOST_STILL && this.#looks <= MOST_LOOKS;
  }
}
