import type { AsyncSubscription, Event } from "@parcel/watcher";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Disk } from "../../disk/disk.ts";
import type { TrackedRoot, WatchHandle, WatchHint } from "../worktree.ts";
import { isWithin, nameOf, parsePath, pathInRoot, ROOT, splitRoot } from "../../core/values/path.ts";
import { isSharedFileSystem } from "../../core/tree/folder-traits.ts";
import { FolderWatch } from "./folder-watch.ts";
import { isInStaging, STAGING_FOLDER, stagingBeside } from "../../core/tree/staging-folder.ts";
import { queueLength, WatchBarrier } from "./watch-barrier.ts";

/** Events within this time make one hint. */
const COALESCE_MS = 40;
/** The first events after a pause, which are mostly all there are, make a hint after this shorter time. */
const TOGETHER_MS = 5;
/** The interval of hints of everything while hints may be missed. */
const BLIND_MS = 3000;
/** Above this many paths at once, a full scan is cheaper, and the kernel's queue may have overflowed. */
const MANY = 2000;
/** After many events, everything is hinted at once more after this much quiet. */
const QUIET_MS = 1500;
/** The watcher checks each ignored path for each event. */
const MOST_IGNORED = 400;

/** Options of a watch. */
export interface WatchOptions {
  readonly disk: Disk;
  /** A folder of our own for the barrier, absolute; its parent exists. */
  readonly barrierFolder: string;
  readonly roots: readonly TrackedRoot[];
  /** Returns the folders in a root that need no watching, as absolute paths: excluded ones and the store. */
  readonly ignored: (root: TrackedRoot) => readonly string[];
  readonly onHint: (hint: WatchHint) => void;
}

export interface RootsWatchHandle extends WatchHandle {
  /** To be called after a full scan: skipped folders that are no longer ignored are watched from now on. */
  looked(): void;
}

/**
 * Watches the roots folder by folder if the disk can do that, else with @parcel/watcher. If neither works (limits of
 * the system, a folder that goes away), hints of everything every few seconds replace it, and the handle is `degraded`.
 * On a file system that other machines change as well, the handle is degraded too, with these hints beside the watch.
 * No watcher reports an overflow of the kernel's queue; that takes many events, so after many events everything is
 * hinted at again.
 */
export async function watchRoots(options: WatchOptions): Promise<RootsWatchHandle> {
  const watch = new RootsWatch(options);
  await watch.start();
  return watch;
}

/** A watch of one root. */
interface Watching {
  readonly ordered: boolean;
  /**
   * Absolute paths of folders that it does not watch. If it is ordered, a path removed from the set is watched once it
   * appears.
   */
  readonly skipped: Set<string>;
  close(): Promise<void>;
}

class RootsWatch implements RootsWatchHandle {
  readonly #options: WatchOptions;
  readonly #watching = new Map<TrackedRoot, Watching>();
  readonly #pending = new Set<WorkspacePath>();
  readonly #barrier: WatchBarrier;
  #everything = false;
  #events = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  /** Runs for a moment after each hint. */
  #restTimer: NodeJS.Timeout | undefined;
  #quietTimer: NodeJS.Timeout | undefined;
  #blindTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#barrier = new WatchBarrier(options.disk, options.barrierFolder, queueLength(options.disk));
  }

  get degraded(): boolean {
    return this.#blindTimer !== undefined;
  }

  async start(): Promise<void> {
    for (const root of this.#options.roots) await this.#begin(root);
    if (this.#isOrdered()) this.#barrier.start();
  }

  async settled(): Promise<boolean> {
    if (!this.#isOrdered()) return false;
    const passed = await this.#barrier.pass();
    if (!passed) this.#everything = true;
    await this.#renewAfterLoss();
    if (this.#everything || this.#pending.size > 0) this.#flush();
    return passed && this.#isOrdered();
  }

  looked(): void {
    const { disk } = this.#options;
    for (const [root, { skipped }] of [...this.#watching]) {
      const still = new Set(this.#skipped(root));
      const tracked = [...skipped].filter((folder) => !still.has(folder));
      for (const folder of tracked) skipped.delete(folder);
      // A folder that is gone needs no watch, and a build may remove ignored folders all the time.
      if (tracked.some((folder) => disk.lstat(folder)?.kind === "dir")) void this.#renew(root);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#restTimer);
    clearTimeout(this.#quietTimer);
    clearInterval(this.#blindTimer);
    this.#barrier.close();
    const open = [...this.#watching.values()];
    this.#watching.clear();
    for (const one of open) await one.close();
  }

  #isOrdered(): boolean {
    const { roots } = this.#options;
    return !this.degraded && !this.#closed && roots.every((root) => this.#watching.get(root)?.ordered === true);
  }

  async #begin(root: TrackedRoot): Promise<void> {
    try {
      if (isSharedFileSystem(this.#options.disk.fileSystemOf(root.folder).kind)) this.#goBlind();
      const watching = (await this.#watchFolders(root)) ?? (await this.#subscribe(root));
      if (this.#closed) await watching.close();
      else this.#watching.set(root, watching);
    } catch {
      // The reason (no inotify left, no such folder, no binary for the platform) does not matter: the handle is
      // degraded.
      this.#goBlind();
    }
  }

  #skipped(root: TrackedRoot): string[] {
    return [`${root.folder}/.git`, `${root.folder}/${STAGING_FOLDER}`, ...this.#options.ignored(root)];
  }

  async #watchFolders(root: TrackedRoot): Promise<Watching | undefined> {
    const skipped = new Set(this.#skipped(root));
    const watch = new FolderWatch({
      disk: this.#options.disk,
      folder: root.folder,
      only: root.only,
      skipped,
      onChange: (path) => {
        this.#barrier.count();
        this.#note(root, [pathInRoot(root.id, path)]);
      },
      onReplaced: () => void this.#renew(root),
      onLost: () => this.#goBlind(),
    });
    return (await watch.start()) ? { ordered: true, skipped, close: async () => watch.close() } : undefined;
  }

  async #subscribe(root: TrackedRoot): Promise<Watching> {
    const { default: watcher } = await import("@parcel/watcher");
    const skipped = this.#skipped(root).slice(0, MOST_IGNORED);
    const subscription = await watcher.subscribe(
      root.folder,
      (error, events) => {
        if (error === null) this.#note(root, hintsOf(root, events));
        else this.#goBlind();
      },
      { ignore: [`**/${stagingBeside("*")}`, ...skipped] },
    );
    return { ordered: false, skipped: new Set(skipped), close: () => end(subscription) };
  }

  #goBlind(): void {
    if (this.#closed || this.#blindTimer !== undefined) return;
    this.#blindTimer = setInterval(() => this.#options.onHint({ paths: undefined }), BLIND_MS);
    this.#blindTimer.unref();
    this.#everything = true;
    this.#plan();
  }

  #note(root: TrackedRoot, hinted: readonly WorkspacePath[]): void {
    if (this.#closed) return;
    const git = pathInRoot(root.id, ".git" as WorkspacePath);
    for (const path of hinted) {
      if (isInStaging(splitRoot(path).path) || isWithin(path, git)) continue;
      this.#events += 1;
      this.#pending.add(path);
      if (nameOf(path) === ".gitignore") void this.#renew(root);
    }
    if (this.#pending.size > MANY) this.#everything = true;
    if (this.#events > MANY) this.#whenQuiet();
    if (this.#pending.size > 0 || this.#everything) this.#plan();
  }

  /** Watches a root anew, and hints at everything, since unwatched folders may be tracked or new by now. */
  async #renew(root: TrackedRoot): Promise<void> {
    const old = this.#watching.get(root);
    if (old === undefined) return;
    this.#watching.delete(root);
    try {
      // Close first: while the old watch lives, the watcher reuses its view of the folders.
      await old.close();
      await this.#begin(root);
      this.#everything = true;
      this.#plan();
    } catch {
      this.#goBlind();
    }
  }

  /** A folder made while events were lost was not reported, so it is not watched. */
  async #renewAfterLoss(): Promise<void> {
    if (!this.#barrier.takeLoss()) return;
    for (const root of [...this.#watching.keys()]) await this.#renew(root);
  }

  #whenQuiet(): void {
    if (this.#quietTimer !== undefined) {
      this.#quietTimer.refresh();
      return;
    }
    this.#quietTimer = setTimeout(() => {
      this.#quietTimer = undefined;
      this.#events = 0;
      this.#everything = true;
      this.#plan();
      void this.#renewAfterLoss();
    }, QUIET_MS);
    this.#quietTimer.unref();
  }

  #plan(): void {
    if (this.#closed) return;
    const delay = this.#restTimer === undefined ? TOGETHER_MS : COALESCE_MS;
    this.#flushTimer ??= setTimeout(() => this.#flush(), delay);
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    clearTimeout(this.#restTimer);
    this.#restTimer = setTimeout(() => (this.#restTimer = undefined), COALESCE_MS);
    this.#restTimer.unref();
    const paths = this.#everything ? undefined : [...this.#pending];
    this.#everything = false;
    this.#pending.clear();
    this.#options.onHint({ paths });
  }
}

/**
 * Ends a subscription. The watcher throws ("Unable to remove watcher") if the kernel was faster: the watch of a removed
 * folder ends with it. The error is ignored, since the last full scan needs no watcher.
 */
async function end(subscription: AsyncSubscription): Promise<void> {
  await subscription.unsubscribe().catch(() => undefined);
}

function hintsOf(root: TrackedRoot, events: readonly Event[]): WorkspacePath[] {
  const { folder, only } = root;
  const isMeant = (path: string): boolean =>
    only === undefined || path === folder || isWithin(path as WorkspacePath, `${folder}/${only}` as WorkspacePath);
  return events.flatMap(({ path }) => (isMeant(path) ? (hintOf(root, path) ?? []) : []));
}

/** Returns an event's path as a workspace path. For a name that is not UTF-8, only its folder is known. */
function hintOf(root: TrackedRoot, path: string): WorkspacePath | undefined {
  if (path === root.folder) return pathInRoot(root.id, ROOT);
  if (!path.startsWith(`${root.folder}/`)) return undefined;
  const parts = path.slice(root.folder.length + 1).split("/");
  const lossy = parts.findIndex((part) => part.includes("\uFFFD") || !part.isWellFormed());
  const inner = parsePath((lossy < 0 ? parts : parts.slice(0, lossy)).join("/"));
  return pathInRoot(root.id, inner);
}
