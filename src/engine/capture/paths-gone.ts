import type { WorkspacePath } from "../../core/values/path.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import type { FolderPlan } from "./fit-folders.ts";
import { missingContent, pruningInForce } from "../facts/pruning.ts";
import type { SkippedPath } from "./seen-absent.ts";
import { shownPath } from "../log/shape.ts";

/** The paths of a plan that cannot be undone because a content that the undo needs was pruned or erased. They stay. */
export class PathsGone {
  readonly #context: Context;
  readonly #plan: Pick<FolderPlan, "targets" | "unmerged">;
  readonly #paths: SkippedPath[] = [];

  constructor(context: Context, plan: Pick<FolderPlan, "targets" | "unmerged">) {
    this.#context = context;
    this.#plan = plan;
  }

  get paths(): readonly SkippedPath[] {
    return this.#paths;
  }

  /** Returns what `find` returns; `undefined` if that needs content that was pruned or erased. */
  async unlessGivenUp<T>(path: WorkspacePath, find: () => Promise<T>): Promise<T | undefined> {
    try {
      return await find();
    } catch (error) {
      if (!isGivenUp(error)) throw error;
      this.#leave(path, error);
      return undefined;
    }
  }

  /**
   * Leaves alone each path that needs a content, for its next state or for its conflict, that was erased, or was pruned
   * and freed. `made`: contents that are yet to be stored.
   */
  async leaveMissing(made: ReadonlySet<Hash>): Promise<void> {
    const isWhole = (await pruningInForce(this.#context)) === undefined;
    if (isWhole && (await erasuresInForce(this.#context)).size === 0) return;
    const needed = this.#needed().filter(({ hash }) => !made.has(hash));
    const stored = await this.#context.blobs.has(needed.map(({ hash }) => hash));
    const left = new Set<WorkspacePath>();
    for (const { path, hash } of needed) {
      if (stored.has(hash) || left.has(path)) continue;
      const what = `the earlier content of ${shownPath(path)}`;
      const error = await missingContent(this.#context, { path, hash, what });
      if (!isGivenUp(error)) continue;
      left.add(path);
      this.#leave(path, error);
    }
  }

  #needed(): { readonly path: WorkspacePath; readonly hash: Hash }[] {
    const { targets, unmerged } = this.#plan;
    return [...targets].flatMap(([path, { present, target }]) => {
      const conflict = unmerged.get(path);
      const changed = target?.hash === present?.hash ? [] : [target];
      const sides = conflict === undefined ? changed : [conflict.current, conflict.wanted];
      return sides.flatMap((entry) => (entry?.hash === undefined ? [] : [{ path, hash: entry.hash }]));
    });
  }

  #leave(path: WorkspacePath, { code, message: detail }: ChronicleError): void {
    const { targets, unmerged } = this.#plan;
    const present = targets.get(path)?.present;
    targets.set(path, { present, target: present });
    unmerged.delete(path);
    this.#paths.push({ path, reason: code === "ERASED" ? "erased" : "content-missing", detail });
  }
}

function isGivenUp(error: unknown): error is ChronicleError {
  return error instanceof ChronicleError && (error.code === "PRUNED" || error.code === "ERASED");
}

/** Throws `PRUNED` if paths need pruned content. With `force`, the caller skips these paths instead. */
export function refuseGone(skipped: readonly SkippedPath[]): void {
  const gone = skipped.filter((one) => one.reason === "content-missing");
  const [only] = gone;
  if (only === undefined) return;
  const shown = gone.slice(0, 5).map((one) => one.detail);
  const more = gone.length > shown.length ? `, and ${gone.length - shown.length} more` : "";
  throw new ChronicleError("PRUNED", `nothing was changed, because ${shown.join(", ")}${more}`, {
    hint: "`--force` leaves these as they are and does the rest; `chronicle history FILE` shows which iterations are kept",
    data: { pruned: gone.map((one) => shownPath(one.path)) },
  });
}

/** Options that say how long paths are waited for. */
interface QuietPathsOptions {
  /** The time without a hint after which a path is quiet, in milliseconds. */
  readonly quietMs: number;
  /** The longest wait after the first hint at a path that never becomes quiet, in milliseconds. */
  readonly mostMs: number;
  readonly timers: { after(ms: number, run: () => void): Disposable };
  /**
   * Called with the paths that are quiet now, or, if `isLate`, were waited for long enough; `undefined`: everything.
   */
  readonly onQuiet: (paths: ReadonlySet<WorkspacePath> | undefined, isLate: boolean) => void;
}

/**
 * The lower bound of the longest wait, in milliseconds: most files are written in less, and a log that grows for ever
 * is still captured this often.
 */
const LEAST_MOST_MS = 5_000;

/** The longest wait as a multiple of the time for which a path must have been quiet. */
const MOST_DELAYS = 20;

/** Returns the longest wait for a path that never becomes quiet, in milliseconds. */
export function longestWaitMs(quietMs: number): number {
  return Math.max(LEAST_MOST_MS, quietMs * MOST_DELAYS);
}

/** Paths with a timer in common. */
interface Group {
  readonly paths: Set<WorkspacePath>;
  readonly timer: Disposable;
}

/** `isAll`: the group stands for all paths. `isLate`: its timer ends the longest wait. */
interface GroupKind {
  readonly isAll: boolean;
  readonly isLate: boolean;
}

/** The two groups of a waiting path: one until it is quiet, one for the longest wait. */
interface Waiting {
  quiet: Group;
  readonly most: Group;
}

/** Stands for all paths if the changed ones are unknown. */
const EVERYTHING = "" as WorkspacePath;

/**
 * Holds paths back while they are being written. A file is scanned once it was quiet for a moment: before that, it may
 * be half written. A file that is never quiet is scanned after the longest wait.
 */
export class QuietPaths {
  readonly #options: QuietPathsOptions;
  readonly #waiting = new Map<WorkspacePath, Waiting>();
  #everything: Waiting | undefined;

  constructor(options: QuietPathsOptions) {
    this.#options = options;
  }

  /** Notes that something was changed at these paths; `undefined`: anywhere. */
  hint(paths: readonly WorkspacePath[] | undefined): void {
    const { quietMs, mostMs } = this.#options;
    const named = paths ?? [EVERYTHING];
    if (named.length === 0) return;
    const isAll = paths === undefined;
    const quiet = this.#group(quietMs, { isAll, isLate: false });
    let most: Group | undefined;
    for (const path of named) {
      const known = isAll ? this.#everything : this.#waiting.get(path);
      if (known !== undefined) leave(known.quiet, path);
      const waiting = known ?? { quiet, most: (most ??= this.#group(mostMs, { isAll, isLate: true })) };
      waiting.quiet = quiet;
      quiet.paths.add(path);
      waiting.most.paths.add(path);
      if (isAll) this.#everything = waiting;
      else this.#waiting.set(path, waiting);
    }
  }

  /** True if the path is being waited for. */
  holds(path: WorkspacePath): boolean {
    return this.#waiting.has(path);
  }

  /** Stops waiting. Returns the paths that were waited for; `isAll`: all paths were waited for as well. */
  clear(): { readonly paths: readonly WorkspacePath[]; readonly isAll: boolean } {
    const held = { paths: [...this.#waiting.keys()], isAll: this.#everything !== undefined };
    for (const [path, waiting] of this.#waiting) forget(waiting, path);
    if (this.#everything !== undefined) forget(this.#everything, EVERYTHING);
    this.#waiting.clear();
    this.#everything = undefined;
    return held;
  }

  #group(ms: number, how: GroupKind): Group {
    const paths = new Set<WorkspacePath>();
    return { paths, timer: this.#options.timers.after(ms, () => this.#ripe(paths, how)) };
  }

  #ripe(paths: ReadonlySet<WorkspacePath>, { isAll, isLate }: GroupKind): void {
    const ripe = new Set(paths);
    if (isAll) {
      if (this.#everything !== undefined) forget(this.#everything, EVERYTHING);
      this.#everything = undefined;
    } else {
      for (const path of ripe) {
        const waiting = this.#waiting.get(path);
        this.#waiting.delete(path);
        if (waiting !== undefined) forget(waiting, path);
      }
    }
    if (ripe.size > 0) this.#options.onQuiet(isAll ? undefined : ripe, isLate);
  }
}

function forget({ quiet, most }: Waiting, path: WorkspacePath): void {
  leave(quiet, path);
  leave(most, path);
}

function leave({ paths, timer }: Group, path: WorkspacePath): void {
  paths.delete(path);
  if (paths.size === 0) timer[Symbol.dispose]();
}
