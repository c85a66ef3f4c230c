import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import type { OpenRoot } from "../scan/scan.ts";
import { parentOf, ROOT } from "../../core/values/path.ts";
import { type Staging, stagingFor, stagingPlaces } from "./staging.ts";

/** No operation has this token: theirs are ULIDs. */
const TOKEN = "early";

/** Bytes after which a sync starts while more is being written, so that little is left at the end. */
const PORTION_BYTES = 128 * 1024 * 1024;

/** A staged file. */
export interface EarlyFile {
  readonly entry: Pick<Entry, "hash" | "mode">;
  readonly stat: FileStat;
}

/** Files that an apply may take over, at their paths beneath a folder of our own. */
export interface EarlyTree {
  /** The staging that holds them. */
  readonly staging: Staging;
  /** The folder beneath which they lie. */
  readonly folder: WorkspacePath;
  readonly files: ReadonlyMap<WorkspacePath, EarlyFile>;
  /**
   * The sync that is under way for some of it; rejects if that has failed. The caller that makes the rest durable must
   * wait for it first, because a failure is reported to only one of the two.
   */
  readonly syncing: Promise<void>;
}

/** Options of an early stage. */
export interface EarlyStageOptions {
  readonly disk: Disk;
  /** The root that will receive the files. */
  readonly open: OpenRoot;
  /** The store's staging folder. */
  readonly candidate: string | undefined;
}

/**
 * Stages files while their contents are being fetched, before it is decided that they come into the folder. No intent
 * covers them yet, so they do not outlive their process: a later one removes what it finds. Nothing in it counts as
 * durable; an apply that takes it over makes it all durable with its own staged files. Only one process uses it at a
 * time: the one that follows the origin.
 */
export class EarlyStage {
  readonly #options: EarlyStageOptions;
  #staging: Staging | undefined;
  #files = new Map<WorkspacePath, EarlyFile>();
  #isWhole = false;
  /** Bytes noted since the last sync began. */
  #fresh = 0;
  #isSyncing = false;
  /** Rejects if a file that is there could not be made durable. */
  #syncing = Promise.resolve();

  constructor(options: EarlyStageOptions) {
    this.#options = options;
  }

  /** Prepares for writing files. Returns their folder, as an absolute base and the path beneath it. */
  begin(): { readonly base: string; readonly folder: WorkspacePath } {
    this.#isWhole = false;
    this.#staging ??= this.#prepared();
    return { base: this.#staging.fresh.root, folder: folderIn(this.#staging) };
  }

  /** Free space for the files, in bytes. */
  get freeBytes(): number {
    const { disk, open } = this.#options;
    return disk.space(open.root.folder).freeBytes;
  }

  /** True if the path is staged. */
  has(path: WorkspacePath): boolean {
    return this.#files.has(path);
  }

  /** Notes a file that was written with its whole content. */
  note(path: WorkspacePath, file: EarlyFile): void {
    this.#files.set(path, file);
    this.#fresh += file.stat.size;
    if (this.#fresh >= PORTION_BYTES && !this.#isSyncing) this.#sync();
  }

  /**
   * Ends the writing: the stage now holds exactly the noted files and the folders that lead to them. Starts a sync of
   * the rest, so that whoever takes it over has less to wait for.
   */
  end(): void {
    this.#isWhole = true;
    if (this.#files.size > 0) this.#sync();
  }

  /** Resolves once no sync is under way, whether it failed or not. */
  async quiet(): Promise<void> {
    await this.#syncing.catch(() => undefined);
  }

  /**
   * Hands over the staged files, and empties the stage. Returns `undefined` if there are none, or the stage is not
   * complete yet.
   */
  take(): EarlyTree | undefined {
    const staging = this.#staging;
    if (staging === undefined || !this.#isWhole) return undefined;
    const files = this.#files;
    const syncing = this.#syncing;
    this.#forget();
    return { staging, folder: folderIn(staging), files, syncing };
  }

  /** Removes everything, including what an earlier process has left. */
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
    // A failure concerns only files that are gone, so nobody needs to know.
    this.#syncing = this.#syncing.catch(() => undefined);
  }

  #sync(): void {
    const { disk, open } = this.#options;
    this.#fresh = 0;
    this.#isSyncing = true;
    this.#syncing = this.#syncing
      .then(async () => void (await disk.syncAllBeside(open.root.folder)))
      .finally(() => (this.#isSyncing = false));
    // The apply that takes it over gets the error; if none does, the files are discarded anyway.
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

/** The folders on the way to files, each before those in it. */
export function foldersOf(files: Iterable<WorkspacePath>): Set<WorkspacePath> {
  const folders = new Set<WorkspacePath>();
  const add = (folder: WorkspacePath): void => {
    if (folder === ROOT || folders.has(folder)) return;
    add(parentOf(folder));
    folders.add(folder);
  };
  for (const path of files) add(parentOf(path));
  return folders;
}

/** Removes what an apply has not taken over. */
export function dropEarly({ staging }: EarlyTree): void {
  try {
    staging.purge();
  } finally {
    staging.release();
  }
}

/** Joins a folder and a path beneath it. */
export function beneath(folder: WorkspacePath, path: WorkspacePath): WorkspacePath {
  return `${folder}/${path}` as WorkspacePath;
}
