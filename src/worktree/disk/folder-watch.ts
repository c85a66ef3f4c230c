import { basename } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { childOf, decodeName, nameOf, pathToBytes, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { isStagingName } from "../../core/tree/staging-folder.ts";
import type { Disk, DiskWatch } from "../../disk/disk.ts";
import { addAll } from "../../util/long-lists.ts";

/** Yields to other tasks after this many folders. */
const TURN = 1_000;
const SLASH = Buffer.from("/");

/** Options of a folder watch. */
export interface FolderWatchOptions {
  readonly disk: Disk;
  /** The folder to watch, absolute. */
  readonly folder: string;
  /** If given, only this name in the folder is watched. Default: everything. */
  readonly only?: string | undefined;
  /** Folders that need no watching, as absolute paths. */
  readonly skipped: ReadonlySet<string>;
  /** Called at once for each event, with the changed path relative to the folder. */
  readonly onChange: (path: WorkspacePath) => void;
  /** Called if the folder itself may have been replaced: it must be watched anew. */
  readonly onReplaced: () => void;
  /** Called if the folder itself is gone, or a folder in it can no longer be watched. */
  readonly onLost: () => void;
}

interface Watched {
  readonly path: WorkspacePath;
  readonly ino: bigint;
  readonly watch: DiskWatch;
  /** True if it may be gone, and its watch with it: a new folder in its place may have the same inode number. */
  mayHaveEnded: boolean;
  readonly children: Map<string, Watched>;
}

/**
 * Watches every folder beneath one separately, if the disk can do that (`Disk.watchFolder`): events then come at once
 * and in order. A new folder is watched before it is reported, so whoever then looks at it misses nothing.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  #top: Watched | undefined;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /**
   * Starts watching. Returns false if the disk cannot do it here. Throws the system's error if it refuses (no watches
   * left, no such folder).
   */
  async start(): Promise<boolean> {
    const pending: Watched[] = [];
    try {
      this.#top = this.#watch(ROOT);
      if (this.#top === undefined) return false;
      pending.push(this.#top);
      for (let done = 1; ; done += 1) {
        const next = pending.pop();
        if (next === undefined || this.#closed) return true;
        addAll(pending, this.#enter(next));
        if (done % TURN === 0) await nextTurn();
      }
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#top !== undefined) closeAll(this.#top);
    this.#top = undefined;
  }

  #watch(path: WorkspacePath): Watched | undefined {
    const { disk } = this.#options;
    const at = this.#absolute(path);
    const stat = disk.lstat(at);
    if (stat?.kind !== "dir") return undefined;
    const children = new Map<string, Watched>();
    const onEvent = (name: Buffer | undefined, listed: boolean): void => this.#note(watched, name, listed);
    const watch = disk.watchFolder(at, onEvent);
    if (watch === undefined) return undefined;
    const watched: Watched = { path, ino: stat.ino, watch, mayHaveEnded: false, children };
    return watched;
  }

  /** Watches the folders in a folder; returns them. */
  #enter(above: Watched): Watched[] {
    const found: Watched[] = [];
    for (const { name, kind } of this.#options.disk.list(this.#absolute(above.path))) {
      const text = decodeName(name);
      if (kind !== "dir" || !this.#isMeant(above, text)) continue;
      const child = this.#add(above, text);
      if (child !== undefined) found.push(child);
    }
    return found;
  }

  #add(above: Watched, name: string): Watched | undefined {
    const path = childOf(above.path, name);
    if (isStagingName(name)) return undefined;
    if (above.children.has(name) || this.#options.skipped.has(`${this.#options.folder}/${path}`)) return undefined;
    const child = this.#watch(path);
    if (child !== undefined) above.children.set(name, child);
    return child;
  }

  #note(folder: Watched, bytes: Buffer | undefined, listed: boolean): void {
    if (this.#closed) return;
    if (bytes === undefined) return this.#options.onLost();
    const name = decodeName(bytes);
    const path = childOf(folder.path, name);
    const isMeant = this.#isMeant(folder, name);
    // A folder reports its own end under its own name, as if that were something in it.
    if (listed && name === this.#nameOf(folder)) folder.mayHaveEnded = true;
    try {
      // A name came or went: there may be a folder to watch, or one that was replaced.
      if (listed && isMeant) this.#follow(folder, name);
    } catch {
      // No watches left, or no permission: the caller must scan from now on.
      return this.#options.onLost();
    }
    if (folder.path === ROOT && this.#isGone()) return this.#options.onLost();
    if (isMeant) this.#options.onChange(path);
    if (folder.path === ROOT && this.#isReplaced(folder)) this.#options.onReplaced();
  }

  #isMeant(folder: Watched, name: string): boolean {
    const { only } = this.#options;
    return only === undefined || folder.path !== ROOT || name === only;
  }

  #follow(folder: Watched, name: string): void {
    const known = folder.children.get(name);
    const stat = this.#options.disk.lstat(this.#absolute(childOf(folder.path, name)));
    if (known !== undefined && stat?.kind === "dir" && stat.ino === known.ino && !known.mayHaveEnded) return;
    if (known !== undefined) {
      folder.children.delete(name);
      closeAll(known);
    }
    if (stat?.kind !== "dir") return;
    const added = this.#add(folder, name);
    const pending = added === undefined ? [] : [added];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      // It may be gone again already, which its own event reports.
      if (this.#options.disk.lstat(this.#absolute(next.path))?.kind === "dir") addAll(pending, this.#enter(next));
    }
  }

  #isGone(): boolean {
    return this.#options.disk.lstat(this.#options.folder)?.ino !== this.#top?.ino;
  }

  /**
   * True if the folder itself has reported its end. A child of the same name reports alike, but mostly still exists.
   */
  #isReplaced(top: Watched): boolean {
    if (!top.mayHaveEnded) return false;
    top.mayHaveEnded = false;
    return this.#options.disk.lstat(this.#absolute(childOf(ROOT, this.#nameOf(top)))) === undefined;
  }

  #nameOf({ path }: Watched): string {
    return path === ROOT ? basename(this.#options.folder) : nameOf(path);
  }

  #absolute(path: WorkspacePath): Buffer {
    const top = Buffer.from(this.#options.folder);
    return path === ROOT ? top : Buffer.concat([top, SLASH, pathToBytes(path)]);
  }
}

function closeAll(folder: Watched): void {
  folder.watch.close();
  for (const child of folder.children.values()) closeAll(child);
}
