import { errnoOf } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import { type LandContext, setAside } from "./apply-land.ts";
import { stageSteps } from "./apply-stage.ts";
import { block, releaseAll, rootsOf, type Step, stopsAll } from "./apply-step.ts";
import type { EarlyTree } from "./early-stage.ts";
import type { PlainFolders } from "./plain-folders.ts";
import type { OpenRoot } from "../scan/scan.ts";
import type { RestoreWorkers } from "./restore-workers.ts";
import type { StatCache } from "../scan/stat-cache.ts";
import { SyncsBeside } from "./syncs-beside.ts";
import type { ApplyRequest, BlockReason } from "../worktree.ts";

// This file has the phases of an apply before its first visible change.

export interface ApplyContext {
  readonly disk: Disk;
  readonly roots: readonly OpenRoot[];
  readonly cache: StatCache;
  /** The stat caches of other worktrees in this process with the same folders. */
  readonly others: readonly StatCache[];
  /** A folder in the store for staging. The folder is used if it is on the same device as a root. */
  readonly staging: string | undefined;
  readonly nowNs: () => bigint;
  readonly workers?: RestoreWorkers | undefined;
  readonly plain: PlainFolders;
  readonly bin: TrashBin;
  /** Files that were staged before the apply began. The apply uses or removes all of them, even if the apply fails. */
  readonly early?: EarlyTree | undefined;
}

export interface Asked {
  readonly request: ApplyRequest;
  readonly progress: ApplyProgress;
  /** Set if new files are synced in the background, once all of them are staged. */
  readonly syncs?: SyncsBeside;
}

/** False if the block of any step forbids all changes (`stopsAll`). */
export function mayGoOn(steps: readonly Step[], request: ApplyRequest): boolean {
  return !steps.some((step) => stopsAll(step, request.onBlocked));
}

/** Blocks all steps and returns true if the new bytes do not fit on the disks. */
export function lacksSpace({ disk, roots }: ApplyContext, steps: readonly Step[]): boolean {
  const devices = new Map<bigint | undefined, SpaceNeed>();
  const needs: SpaceNeed[] = [];
  for (const open of roots) {
    const bytes = newBytesIn(open, steps);
    if (bytes === 0) continue;
    const { freeBytes } = disk.space(open.root.folder);
    needs.push({ bytes, freeBytes });
    // Two roots on one device can have different numbers of free bytes, because of the quotas of folders.
    const device = disk.lstat(open.root.folder)?.dev;
    const before = devices.get(device) ?? { bytes: 0, freeBytes: 0 };
    devices.set(device, { bytes: before.bytes + bytes, freeBytes: Math.max(before.freeBytes, freeBytes) });
  }
  const unmet = [...needs, ...devices.values()].find(({ bytes, freeBytes }) => bytes > freeBytes);
  if (unmet === undefined) return false;
  blockAll(steps, "no-space", `${unmet.bytes} bytes are needed and ${unmet.freeBytes} are free`);
  return true;
}

interface SpaceNeed {
  readonly bytes: number;
  readonly freeBytes: number;
}

/** Returns the number of bytes of the files that are still to be staged for a root. */
function newBytesIn(open: OpenRoot, steps: readonly Step[]): number {
  let sum = 0;
  for (const { root, todo, after, early } of steps) {
    const isNew = early === undefined && (todo === "create" || todo === "replace");
    if (root.root === open.root && isNew) sum += after?.size ?? 0;
  }
  return sum;
}

/**
 * The maximum number of changes for which the files are synced while `begin` makes the intent durable. A journaling
 * file system syncs the files and the intent together in hardly more time than a single file. The number is limited,
 * because all these files stay open until the syncs end.
 */
const BESIDE = 64;

/** Stages new files, sets old files aside and calls `begin`. Returns false if nothing may be put into place. */
export async function makeReady(context: ApplyContext, run: LandContext, asked: Asked): Promise<boolean> {
  const { begin } = asked.request;
  // Files that were staged early are synced all at once, which `readyBeside` does not do.
  if (begin !== undefined && run.steps.length <= BESIDE && context.early === undefined)
    return readyBeside(context, run, { ...asked, begin });
  await begin?.();
  if (!(await stage(context, run.steps, asked)) || !mayGoOn(run.steps, asked.request)) return false;
  setAside(run);
  return mayGoOn(run.steps, asked.request);
}

/**
 * Stages new files before `begin` is called, so that the operation does not begin if there is no space. Syncs the files
 * while `begin` runs.
 */
async function readyBeside(
  context: ApplyContext,
  run: LandContext,
  asked: Asked & { readonly begin: () => Promise<void> },
): Promise<boolean> {
  const { steps } = run;
  const syncs = new SyncsBeside(context.disk);
  try {
    setAside(run);
    if (mayGoOn(steps, asked.request)) await stage(context, steps, { ...asked, syncs });
    // Other tasks may rename a folder while `begin` runs, so no folder stays open.
    releaseAll(steps);
    if (mayGoOn(steps, asked.request)) {
      syncs.start();
      await asked.begin();
    }
  } catch (error) {
    await syncs.end().catch(() => undefined);
    discardQuietly(steps);
    throw error;
  }
  return (await staged(steps, () => syncs.end())) && mayGoOn(steps, asked.request);
}

/** Empties staging. Ignores errors, because a later removal reports them. */
function discardQuietly(steps: readonly Step[]): void {
  for (const { staging } of rootsOf(steps)) {
    try {
      staging.purge();
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/**
 * The errors of staging that block all steps. These errors do not go away by themselves, so the operation would stay
 * open forever if they were thrown.
 */
const STAGE_REASONS: Readonly<Record<string, BlockReason>> = {
  ENOSPC: "no-space",
  EDQUOT: "no-space",
  EFBIG: "no-space",
  // The file system refuses a name in a new folder.
  EINVAL: "not-permitted",
  EILSEQ: "not-permitted",
  ENAMETOOLONG: "not-permitted",
};

function blockAll(steps: readonly Step[], reason: BlockReason, detail: string): void {
  for (const step of steps) block(step, reason, detail);
}

async function stage(context: ApplyContext, steps: readonly Step[], asked: Asked): Promise<boolean> {
  const { request, progress, syncs } = asked;
  const onStaged = (files: number): void => progress.staged(files);
  const { disk, workers, early } = context;
  return staged(steps, () => stageSteps({ disk, steps, request, workers, syncs, early, onStaged }));
}

/**
 * Returns true if `work` succeeds. For an error of `STAGE_REASONS`, blocks all steps and returns false. Rethrows any
 * other error.
 */
async function staged(steps: readonly Step[], work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    const reason = STAGE_REASONS[errno];
    if (reason === undefined) throw error;
    blockAll(steps, reason, errno);
    return false;
  }
}

/**
 * The error of a failed removal. The error is wrapped in an object, because any value can be thrown, even `undefined`.
 */
interface Failure {
  readonly error: unknown;
}

/**
 * Removes the files that applies have set aside, in the background. Removes the files of one apply at a time, in the
 * order of `add`.
 */
export class TrashBin {
  /** Maps the token of an apply to the removal of its files. `emptied` deletes the entry. The promises never reject. */
  readonly #going = new Map<string, Promise<Failure | undefined>>();
  #last: Promise<unknown> = Promise.resolve();

  /** Calls `empty` once all removals that were added earlier are done. */
  add(token: string, empty: () => Promise<void>): void {
    const before = this.#going.get(token);
    const going = this.#last.then(async () => (await attempt(empty)) ?? before);
    this.#last = going;
    this.#going.set(token, going);
  }

  /**
   * Waits until the files of the apply with this token are removed. Resolves to false if the bin knows no such removal.
   * Throws the error of a removal that failed.
   */
  async emptied(token: string): Promise<boolean> {
    const going = this.#going.get(token);
    if (going === undefined) return false;
    const failure = await going;
    this.#going.delete(token);
    if (failure !== undefined) throw failure.error;
    return true;
  }

  /** Resolves once no removal is under way. The files of a failed removal are removed by a later sweep. */
  async end(): Promise<void> {
    await this.#last;
  }
}

async function attempt(empty: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await empty();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** The minimum number of further paths after which progress is reported again. */
const STEP = 64;

/**
 * Reports the progress of an apply to people. The progress is the number of staged files, or the number of paths in
 * their final state if that is greater. Staged files count, because staging takes most of the time. The progress never
 * decreases.
 */
export class ApplyProgress {
  readonly #tell: ((done: number, total: number) => void) | undefined;
  readonly #total: number;
  #staged = 0;
  #told = 0;

  constructor(tell: ((done: number, total: number) => void) | undefined, total: number) {
    this.#tell = tell;
    this.#total = total;
  }

  staged(files: number): void {
    this.#staged += files;
    this.#reached(this.#staged);
  }

  /** `paths`: the number of all paths that are now in their final state. */
  placed(paths: number): void {
    this.#reached(paths);
  }

  /** Reports that all paths are in their final state. */
  finished(): void {
    this.#tell?.(this.#total, this.#total);
  }

  #reached(done: number): void {
    if (done - this.#told < STEP) return;
    this.#told = done;
    this.#tell?.(done, this.#total);
  }
}
