import type { Entry } from "../../core/values/entry.ts";
import { type WorkspacePath, parentOf, ROOT, comparePaths } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import type { OpenRoot } from "../scan/scan.ts";
import { isReadableMode, type Staging, stagingFor, stagingPlaces } from "./staging.ts";
import type { ApplyRoot, Step } from "./apply-step.ts";
import type { ApplyRequest } from "../worktree.ts";
import { NOT_EMPTY } from "../../core/values/errno.ts";
import { errnoOf } from "../../core/values/errors.ts";

/**
 * The token of all early stages. No operation has this token, because the token of an operation begins with a generated
 * id.
 */
const TOKEN = "early";

/** The number of bytes that are written between two syncs. The last sync then has little left to do. */
const PORTION_BYTES = 128 * 1024 * 1024;

interface EarlyFile {
  readonly entry: Pick<Entry, "hash" | "mode">;
  readonly stat: FileStat;
}

/** Early-staged files (see `EarlyStage`) that an apply may take over, at their paths beneath `folder`. */
export interface EarlyTree {
  readonly staging: Staging;
  /** The folder beneath which the files lie. */
  readonly folder: WorkspacePath;
  readonly files: ReadonlyMap<WorkspacePath, EarlyFile>;
  /**
   * The last sync that was started for these files. Rejects if the sync failed. Await this promise before syncing the
   * other files, because the kernel reports a write error to only one of two syncs.
   */
  readonly syncing: Promise<void>;
}

interface EarlyStageOptions {
  readonly disk: Disk;
  /** The root that will receive the files. */
  readonly open: OpenRoot;
  /** A folder in the store for staging. The folder is used if it is on the same device as the root. */
  readonly candidate: string | undefined;
}

/**
 * Stages files while their contents are being fetched. At this time, it is not decided yet whether the files are put
 * into the tracked folder. No intent covers the files, so the next process that begins an early stage removes them. The
 * files do not count as durable: an apply that takes them over syncs them together with its own files. Only the process
 * that follows the origin has an early stage.
 */
export class EarlyStage {
  readonly #options: EarlyStageOptions;
  #staging: Staging | undefined;
  #files = new Map<WorkspacePath, EarlyFile>();
  #isWhole = false;
  /** The number of bytes that were noted since the last sync began. */
  #fresh = 0;
  #isSyncing = false;
  /** The last sync. Rejects if files of this stage could not be made durable. */
  #syncing = Promise.resolve();

  constructor(options: EarlyStageOptions) {
    this.#options = options;
  }

  /**
   * Prepares for writing files. Returns the folder for the files, as an absolute base and the path beneath the base.
   */
  begin(): { readonly base: string; readonly folder: WorkspacePath } {
    this.#isWhole = false;
    this.#staging ??= this.#prepared();
    return { base: this.#staging.fresh.root, folder: folderIn(this.#staging) };
  }

  get freeBytes(): number {
    const { disk, open } = this.#options;
    return disk.space(open.root.folder).freeBytes;
  }

  has(path: WorkspacePath): boolean {
    return this.#files.has(path);
  }

  /** Notes a file that was written with its whole content. */
  note(path: WorkspacePath, file: EarlyFile): void {
    this.#files.set(path, file);
    this.#fresh += file.stat.size;
    if (this.#fresh >= PORTION_BYTES && !this.#isSyncing) this.#sync();
  }

  /** Starts a sync of the remaining files, so that a later apply waits less. */
  end(): void {
    this.#isWhole = true;
    if (this.#files.size > 0) this.#sync();
  }

  /** Resolves once no sync is under way, even if the last sync failed. */
  async quiet(): Promise<void> {
    await this.#syncing.catch(() => undefined);
  }

  /**
   * Hands the staged files over to the caller. Returns `undefined` if `begin` was never called, or if `end` was not
   * called after the last `begin`.
   */
  take(): EarlyTree | undefined {
    const staging = this.#staging;
    if (staging === undefined || !this.#isWhole) return undefined;
    const files = this.#files;
    const syncing = this.#syncing;
    this.#forget();
    return { staging, folder: folderIn(staging), files, syncing };
  }

  /** Removes all early-staged files, including the files that an earlier process has left. */
  clear(): void {
    this.#forget();
    for (const staging of stagingPlaces(this.#options.open, { ...this.#options, token: TOKEN })) {
      try {
        if (staging.exists()) staging.purge();
      } finally {
        staging.release();
      }
    }
  }

  #forget(): void {
    this.#staging = undefined;
    this.#files = new Map();
    // A failed sync concerns files that this stage no longer has. The apply that took these files also has the promise
    // that rejects.
    this.#syncing = this.#syncing.catch(() => undefined);
  }

  #sync(): void {
    const { disk, open } = this.#options;
    this.#fresh = 0;
    this.#isSyncing = true;
    this.#syncing = this.#syncing
      .then(async () => void (await disk.syncAllBeside(open.root.folder)))
      .finally(() => (this.#isSyncing = false));
    // The apply that takes these files over gets the error of the sync. Files that no apply takes over are discarded.
    this.#syncing.catch(() => undefined);
  }

  #prepared(): Staging {
    this.clear();
    const { fs } = this.#options.open;
    const staging = stagingFor(this.#options.open, { ...this.#options, token: TOKEN });
    try {
      staging.prepare(false);
      return staging;
    } finally {
      staging.release();
      fs.release();
    }
  }
}

function folderIn(staging: Staging): WorkspacePath {
  return parentOf(staging.newPath("any"));
}

/** Returns the folders above these files, parents first. */
function foldersOf(files: Iterable<WorkspacePath>): Set<WorkspacePath> {
  const folders = new Set<WorkspacePath>();
  const add = (folder: WorkspacePath): void => {
    if (folder === ROOT || folders.has(folder)) return;
    add(parentOf(folder));
    folders.add(folder);
  };
  for (const path of files) add(parentOf(path));
  return folders;
}

/** Removes the early-staged files that an apply has not taken over. */
export function dropEarly({ staging }: EarlyTree): void {
  try {
    staging.purge();
  } finally {
    staging.release();
  }
}

export function beneath(folder: WorkspacePath, path: WorkspacePath): WorkspacePath {
  return `${folder}/${path}` as WorkspacePath;
}

/** The early-staged files that were moved into the staging folder of an apply. */
export interface AdoptedTree {
  readonly root: ApplyRoot;
  readonly folders: ReadonlySet<WorkspacePath>;
  readonly pathOf: (inner: WorkspacePath) => WorkspacePath;
}

/**
 * Looks for an early-staged file with the content and mode of each step of the first root, and notes the file in the
 * step. Does nothing if `keepMtime` is set, because the staged files have the time of their staging, not the recorded
 * time.
 */
export function matchEarly(steps: readonly Step[], { files }: EarlyTree, { keepMtime }: ApplyRequest): void {
  if (keepMtime === true) return;
  for (const step of steps) {
    const { after, todo } = step;
    if (step.blocked !== undefined || after?.kind !== "file" || (todo !== "create" && todo !== "replace")) continue;
    const early = step.root.root.id === undefined ? files.get(step.inner) : undefined;
    // Skip a file whose mode does not let this process open the file again. Such a file could not be synced together
    // with the others.
    if (!isReadableMode(after.mode)) continue;
    if (early === undefined || early.entry.hash !== after.hash || early.entry.mode !== after.mode) continue;
    if (early.stat.size === after.size) step.early = early.stat;
  }
}

/**
 * Moves the early-staged files into the prepared staging of this apply. From then on, this apply cleans the files up.
 * Removes the files that no step needs. Returns `undefined`, and moves nothing, if no step can use any of the files.
 */
export function adoptEarly(steps: readonly Step[], tree: EarlyTree): AdoptedTree | undefined {
  const root = steps.find((step) => step.early !== undefined)?.root;
  if (root === undefined || root.staging.fresh.root !== tree.staging.fresh.root) {
    for (const step of steps) step.early = undefined;
    return undefined;
  }
  const { fresh } = root.staging;
  const folder = root.staging.newPath("early");
  fresh.rename(tree.folder, folder);
  const adopted = {
    root,
    folders: foldersOf(tree.files.keys()),
    pathOf: (inner: WorkspacePath) => beneath(folder, inner),
  };
  removeOthers(steps, tree, adopted);
  return adopted;
}

/**
 * Removes the files and folders that no step asks for. A staged folder must hold nothing else when it is renamed into
 * place.
 */
function removeOthers(steps: readonly Step[], { files }: EarlyTree, { root, folders, pathOf }: AdoptedTree): void {
  const { fresh } = root.staging;
  const asked = new Set(steps.filter((step) => step.early !== undefined).map((step) => step.inner));
  const made = new Set(steps.filter((step) => step.root === root && makesFolder(step)).map((step) => step.inner));
  for (const path of files.keys()) if (!asked.has(path)) fresh.unlink(pathOf(path));
  for (const path of [...folders].toSorted(comparePaths).toReversed()) {
    if (made.has(path)) continue;
    try {
      fresh.removeFolder(pathOf(path));
    } catch (error) {
      // The folder is not empty, because a step asks for a file beneath it.
      if (!NOT_EMPTY.has(errnoOf(error) ?? "")) throw error;
    }
  }
}

function makesFolder({ after, blocked, todo }: Step): boolean {
  return after?.kind === "dir" && blocked === undefined && todo === "create";
}
