import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import type { OpenRoot } from "../scan/scan.ts";
import { parentOf, ROOT } from "../../core/values/path.ts";
import { type Staging, stagingFor, stagingPlaces } from "./staging.ts";

/** No operation is called so: they have ULIDs. */
const TOKEN = "early";

/** So much is made durable at once, while more is being written: what is left at the end is then little. In bytes. */
const PORTION_BYTES = 128 * 1024 * 1024;

/** A file that is staged. */
export interface EarlyFile {
  readonly entry: Pick<Entry, "hash" | "mode">;
  readonly stat: FileStat;
}

/** Files as an apply may take them over: at their paths beneath a folder of our own. */
export interface EarlyTree {
  /** Where they lie. */
  readonly staging: Staging;
  /** The folder that holds them. */
  readonly folder: WorkspacePath;
  readonly files: ReadonlyMap<WorkspacePath, EarlyFile>;
  /**
   * Some of it is being made durable, beside what comes before it is taken over: rejects where that has failed. Whoever makes the
   * rest durable waits for it first: of one failure only one of the two would be told.
   */
  readonly syncing: Promise<void>;
}

/** What an early stage is for. */
export interface EarlyStageOptions {
  readonly disk: Disk;
  /** The root whose files they will be. */
  readonly open: OpenRoot;
  /** The store's staging folder. */
  readonly candidate: string | undefined;
}

/**
 * Where files are written before it is decided that they come into the folder: while their contents are being fetched. There
 * is no intent for them yet, so nothing of them outlives who writes them: a later process sweeps what it finds. Nobody may rely
 * on what is durable in it; an apply that takes it over makes all of it so, with what it stages itself.
 *
 * One process has it at a time: whoever follows the origin.
 */
export class EarlyStage {
  readonly #options: EarlyStageOptions;
  #staging: Staging | undefined;
  #files = new Map<WorkspacePath, EarlyFile>();
  #isWhole = false;
  /** Bytes that were noted since something began to be made durable. */
  #fresh = 0;
  #isSyncing = false;
  /** Rejects where something of what is there could not be made durable. */
  #syncing = Promise.resolve();

  constructor(options: EarlyStageOptions) {
    this.#options = options;
  }

  /** Files are going to be written: answers the folder for them, as an absolute base and the path beneath it. */
  begin(): { readonly base: string; readonly folder: WorkspacePath } {
    this.#isWhole = false;
    this.#staging ??= this.#prepared();
    return { base: this.#staging.fresh.root, folder: folderIn(this.#staging) };
  }

  /** Room where the files will be, in bytes. */
  get freeBytes(): number {
    const { disk, open } = this.#options;
    return disk.space(open.root.folder).freeBytes;
  }

  /** Is it staged? */
  has(path: WorkspacePath): boolean {
    return this.#files.has(path);
  }

  /** It was written, and holds its content. */
  note(path: WorkspacePath, file: EarlyFile): void {
    this.#files.set(path, file);
    this.#fresh += file.stat.size;
    if (this.#fresh >= PORTION_BYTES && !this.#isSyncing) this.#sync();
  }

  /**
   * Nothing is being written now. What is there are the files that were noted, and the folders that lead to them. The rest of it
   * begins to become durable: who takes it over has less to wait for.
   */
  end(): void {
    this.#isWhole = true;
    if (this.#files.size > 0) this.#sync();
  }

  /** Resolves when nothing is being made durable, however that has gone. */
  async quiet(): Promise<void> {
    await this.#syncing.catch(() => undefined);
  }

  /** Hands over what is there; `undefined`: nothing, or it is not whole yet. From now on there is nothing. */
  take(): EarlyTree | undefined {
    const staging = this.#staging;
    if (staging === undefined || !this.#isWhole) return undefined;
    const files = this.#files;
    const syncing = this.#syncing;
    this.#forget();
    return { staging, folder: folderIn(staging), files, syncing };
  }

  /** Removes everything, also what an earlier process has left. */
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
    // Only about what is not there any more: nobody needs to be told.
    this.#syncing = this.#syncing.catch(() => undefined);
  }

  #sync(): void {
    const { disk, open } = this.#options;
    this.#fresh = 0;
    this.#isSyncing = true;
    this.#syncing = this.#syncing
      .then(async () => void (await disk.syncAllBeside(open.root.folder)))
      .finally(() => (this.#isSyncing = false));
    // Whoever takes it over is told; what nobody takes is thrown away.
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

/** Removes what an apply has not taken. */
export function dropEarly({ staging }: EarlyTree): void {
  try {
    staging.purge();
  } finally {
    staging.release();
  }
}

/** A path beneath a folder. */
export function beneath(folder: WorkspacePath, path: WorkspacePath): WorkspacePath {
  return `${folder}/${path}` as WorkspacePath;
}
