import { basename } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AsyncSubscription, Event } from "@parcel/watcher";
import {
  childOf,
  decodeName,
  nameOf,
  pathToBytes,
  ROOT,
  type WorkspacePath,
  isWithin,
  parsePath,
  pathInRoot,
  splitRoot,
} from "../../core/values/path.ts";
import { unitOf } from "../../core/tree/sqlite-unit.ts";
import { isStagingName, isInStaging, STAGING_FOLDER, stagingBeside } from "../../core/tree/staging-folder.ts";
import type { Disk, DiskWatch } from "../../disk/disk.ts";
import { addAll } from "../../util/long-lists.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { TrackedRoot, WatchHandle, WatchHint } from "../worktree.ts";
import { isSharedFileSystem } from "../../core/tree/folder-traits.ts";

/**
 * The time in ms for which events are collected into one hint. A hint names the paths that may have changed. A hint
 * without `paths` is called a hint of everything: the caller must scan everything.
 */
const COALESCE_MS = 40;

/**
 * The time in ms for which events are collected into one hint after a pause. This time is shorter than `COALESCE_MS`,
 * because usually no further events follow.
 */
const TOGETHER_MS = 5;

/** The interval in ms between hints of everything while events may be missed. */
const BLIND_MS = 3000;

/** The first delay, in ms, before a refused watch is tried again. */
const RETRY_MS = 10_000;

/** The maximum delay, in ms, between two tries. The delay doubles with each refusal. */
const LONGEST_RETRY_MS = 600_000;

/**
 * The number of pending paths above which a full scan is cheaper than a scan of these paths. Also the number of events
 * above which the kernel's queue may have overflowed.
 */
const MANY = 2000;

/** The length, in ms, of the pause that causes a hint of everything after more than `MANY` events. */
const QUIET_MS = 1500;

/**
 * The maximum number of folders that @parcel/watcher is asked to ignore. @parcel/watcher compares each event with each
 * of these folders.
 */
const MOST_IGNORED = 400;

interface WatchOptions {
  readonly disk: Disk;
  /** The absolute path of a folder that only barriers use (see `WatchBarrier`). Its parent must exist. */
  readonly barrierFolder: string;
  readonly roots: readonly TrackedRoot[];
  /** Returns the absolute paths of the folders that need no watch: excluded folders, and the store. */
  readonly ignored: (root: TrackedRoot) => readonly string[];
  readonly onHint: (hint: WatchHint) => void;
}

export interface RootsWatchHandle extends WatchHandle {
  /** Must be called after a full scan. Starts to watch the skipped folders that are no longer ignored. */
  looked(): void;
}

/**
 * Watches the roots folder by folder if the disk can do that, else with @parcel/watcher. Both can fail, for example
 * because of limits of the system or because a folder goes away. Then, a hint of everything every few seconds replaces
 * the watch, and the handle is `degraded`. A later call of `settled` tries to watch the roots again. If other machines
 * may also change the file system, these hints are given in addition to the watch, and the handle is always `degraded`.
 *
 * No watcher reports an overflow of the kernel's queue. Only many events in the folders that this process watches can
 * cause an overflow. Therefore, the watch gives a hint of everything after many events.
 */
export async function watchRoots(options: WatchOptions): Promise<RootsWatchHandle> {
  const watch = new RootsWatch(options);
  try {
    await watch.start();
  } catch (error) {
    await watch.close();
    throw error;
  }
  return watch;
}

interface Watching {
  /** True if events arrive at once and in order (`FolderWatch`); false for @parcel/watcher. */
  readonly ordered: boolean;
  /**
   * Absolute paths of the folders that are not watched. In an ordered watch, a folder that is removed from this set is
   * watched once it appears on disk.
   */
  readonly skipped: Set<string>;
  close(): Promise<void>;
}

class RootsWatch implements RootsWatchHandle {
  readonly #options: WatchOptions;
  readonly #watching = new Map<TrackedRoot, Watching>();
  readonly #pending = new Set<WorkspacePath>();
  readonly #barrier: WatchBarrier;
  readonly #losses: Disposable;
  #everything = false;
  /** The number of events since `#whenQuiet` last caused a hint of everything. */
  #events = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  /** Runs for `COALESCE_MS` after each hint. The next events during this time are also collected for `COALESCE_MS`. */
  #restTimer: NodeJS.Timeout | undefined;
  #quietTimer: NodeJS.Timeout | undefined;
  #blindTimer: NodeJS.Timeout | undefined;
  /** The earliest time at which the roots may be watched anew (as `performance.now` returns it). */
  #retryAt = 0;
  #retryMs = RETRY_MS;
  #retrying: Promise<void> | undefined;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#barrier = new WatchBarrier(options.disk, options.barrierFolder);
    this.#losses = options.disk.onWatchLoss(() => this.#whenQuiet());
  }

  get degraded(): boolean {
    return this.#blindTimer !== undefined;
  }

  async start(): Promise<void> {
    for (const root of this.#options.roots) await this.#begin(root);
    if (this.#isOrdered()) this.#barrier.start();
  }

  async settled(): Promise<boolean> {
    await this.#retry();
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
      // A folder that is gone needs no new watch. Without this check, a build that keeps removing ignored folders would
      // renew the watch again and again.
      if (tracked.some((folder) => disk.lstat(folder)?.kind === "dir")) void this.#renew(root);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#restTimer);
    clearTimeout(this.#quietTimer);
    clearInterval(this.#blindTimer);
    this.#losses[Symbol.dispose]();
    this.#barrier.close();
    const open = [...this.#watching.values()];
    this.#watching.clear();
    for (const one of open) await one.close();
  }

  /**
   * Watches all roots anew if a watch was refused and the next try is due. The try may succeed, because other programs,
   * or other workspaces of this process, may have freed watches meanwhile. The try is followed by a hint of everything,
   * because the changes during the time without a watch are unknown. If a root is on a shared file system, does not
   * try, because the handle would stay degraded.
   */
  async #retry(): Promise<void> {
    const { roots } = this.#options;
    const isDue = this.degraded && !this.#closed && performance.now() >= this.#retryAt;
    if (isDue && !roots.some((root) => this.#isShared(root)))
      this.#retrying ??= this.#watchAgain().finally(() => (this.#retrying = undefined));
    await this.#retrying;
  }

  async #watchAgain(): Promise<void> {
    const old = [...this.#watching.values()];
    this.#watching.clear();
    clearInterval(this.#blindTimer);
    this.#blindTimer = undefined;
    for (const one of old) await one.close();
    if (this.#closed) return;
    await this.start();
    this.#everything = true;
    this.#plan();
    if (!this.degraded) this.#retryMs = RETRY_MS;
  }

  #isShared({ folder }: TrackedRoot): boolean {
    return isSharedFileSystem(this.#options.disk.fileSystemOf(folder).kind);
  }

  #isOrdered(): boolean {
    const { roots } = this.#options;
    return !this.degraded && !this.#closed && roots.every((root) => this.#watching.get(root)?.ordered === true);
  }

  async #begin(root: TrackedRoot): Promise<void> {
    try {
      if (this.#isShared(root)) this.#goBlind();
      const watching = (await this.#watchFolders(root)) ?? (await this.#subscribe(root));
      if (this.#closed) await watching.close();
      else this.#watching.set(root, watching);
    } catch {
      // The reason (no inotify left, no such folder, no binary for the platform) does not matter, because the handle is
      // degraded in any case.
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
      onChange: (path) => this.#note(root, [pathInRoot(root.id, path)]),
      onReplaced: () => void this.#renew(root),
      onLost: () => this.#goBlind(),
    });
    return (await watch.start()) ? { ordered: true, skipped, close: () => watch.close() } : undefined;
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
    this.#retryAt = performance.now() + this.#retryMs;
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
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

  /**
   * Watches a root anew. Then plans a hint of everything, because folders that the old watch did not cover may have
   * changed.
   */
  async #renew(root: TrackedRoot): Promise<void> {
    const old = this.#watching.get(root);
    if (old === undefined) return;
    this.#watching.delete(root);
    try {
      // The old watch is closed first, because @parcel/watcher reuses its list of the folders as long as any watch uses
      // it.
      await old.close();
      await this.#begin(root);
      this.#everything = true;
      this.#plan();
    } catch {
      this.#goBlind();
    }
  }

  /**
   * Watches all roots anew if events may have been lost. If the event of a new folder was lost, that folder has no
   * watch yet.
   */
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
 * Ends a subscription. Ignores the watcher's error, because the kernel may already have ended the watch of a removed
 * folder.
 */
async function end(subscription: AsyncSubscription): Promise<void> {
  await subscription.unsubscribe().catch(() => undefined);
}

function hintsOf(root: TrackedRoot, events: readonly Event[]): WorkspacePath[] {
  const { folder, only } = root;
  const isMeant = (path: string): boolean =>
    only === undefined ||
    path === folder ||
    unitOf(`${folder}/${only}` as WorkspacePath).some((one) => isWithin(path as WorkspacePath, one));
  return events.flatMap(({ path }) => (isMeant(path) ? (hintOf(root, path) ?? []) : []));
}

/**
 * Returns an event's path as a workspace path; `undefined` if the path is outside of the root. If a name in the path is
 * not UTF-8, returns the folder above that name, because the event does not have the exact name.
 */
function hintOf(root: TrackedRoot, path: string): WorkspacePath | undefined {
  if (path === root.folder) return pathInRoot(root.id, ROOT);
  if (!path.startsWith(`${root.folder}/`)) return undefined;
  const parts = path.slice(root.folder.length + 1).split("/");
  const lossy = parts.findIndex((part) => part.includes("\uFFFD") || !part.isWellFormed());
  const inner = parsePath((lossy < 0 ? parts : parts.slice(0, lossy)).join("/"));
  return pathInRoot(root.id, inner);
}

/** The time in ms after which the barrier's event counts as lost. */
const WAIT_MS = 500;

/**
 * Detects when all past events have been delivered. To do so, the barrier makes a folder inside a folder that it
 * watches and that only barriers use. The events of all watches of a process come in order, so all earlier events
 * precede the event of the new folder.
 *
 * The kernel drops events when its queue is full. The disk recognises a full queue by the number of queued events,
 * before it reports the barrier's event (see `Disk.watchLosses`).
 */
class WatchBarrier {
  /** Numbers the names of all barriers, because several barriers may use the same folder. */
  static #names = 0;
  readonly #disk: Disk;
  readonly #folder: string;
  #watch: DiskWatch | undefined;
  #waiting: { readonly name: string; readonly done: (came: boolean) => void } | undefined;
  /** The value of `Disk.watchLosses` at the end of the last `pass`. */
  #passed: number;
  /** The value of `Disk.watchLosses` at the last `takeLoss`. */
  #taken: number;
  #last: Promise<unknown> = Promise.resolve();

  /** `folder`: an absolute path; the folder is made when it is needed. */
  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
    this.#passed = this.#taken = disk.watchLosses();
  }

  /**
   * Starts the barrier. If the barrier cannot be started, every `pass` resolves to false, and the callers scan
   * everything. Causes: the disk cannot watch folders or is full, or no watches are left.
   */
  start(): void {
    if (this.#watch !== undefined) return;
    try {
      this.#makeFolder();
      this.#watch = this.#disk.watchFolder(this.#folder, (name) => {
        if (name?.toString() === this.#waiting?.name) this.#waiting?.done(true);
      });
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** True if events may have been dropped since the last call of `takeLoss`. New folders may then lack a watch. */
  takeLoss(): boolean {
    const before = this.#taken;
    this.#taken = this.#disk.watchLosses();
    return this.#taken !== before;
  }

  /**
   * Resolves to true once all events that occurred before this call have come; to false if some of them may have been
   * lost. Concurrent calls run one after another.
   */
  pass(): Promise<boolean> {
    const passed = this.#last.then(() => this.#pass());
    this.#last = passed.catch(() => undefined);
    return passed;
  }

  async #pass(): Promise<boolean> {
    if (this.#watch === undefined) return false;
    WatchBarrier.#names += 1;
    const name = `${process.pid}-${WatchBarrier.#names}`;
    const path = `${this.#folder}/${name}`;
    const came = new Promise<boolean>((done) => {
      this.#waiting = { name, done };
    });
    const timer = setTimeout(() => this.#waiting?.done(false), WAIT_MS);
    try {
      this.#disk.makeFolder(path);
      const isWhole = (await came) && this.#disk.watchLosses() === this.#passed;
      this.#disk.removeFolder(path);
      return isWhole;
    } catch (error) {
      // The disk is full, or somebody removed the folder. Events may be missing, so everything is scanned.
      if (errnoOf(error) === undefined) throw error;
      return false;
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
      this.#passed = this.#disk.watchLosses();
    }
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#waiting?.done(false);
  }

  #makeFolder(): void {
    try {
      this.#disk.makeFolder(this.#folder);
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }
}

/** The number of folders after which `FolderWatch` yields to other tasks. */
const TURN = 1_000;
const SLASH = Buffer.from("/");

interface FolderWatchOptions {
  readonly disk: Disk;
  readonly folder: string;
  /**
   * If given, only this name in the folder is watched, together with the names of the companion files that an SQLite
   * database of this name would have. Default: everything.
   */
  readonly only?: string | undefined;
  readonly skipped: ReadonlySet<string>;
  /** Called for each event as soon as it comes, with the changed path relative to the folder. */
  readonly onChange: (path: WorkspacePath) => void;
  /** Called if the folder itself may have been replaced, so that it must be watched anew. */
  readonly onReplaced: () => void;
  /** Called if the folder itself is gone, a folder in it cannot be watched, or an event has no name. */
  readonly onLost: () => void;
}

interface Watched {
  readonly path: WorkspacePath;
  readonly ino: bigint;
  readonly watch: DiskWatch;
  /**
   * True if the folder and its watch may be gone. The inode number does not show this, because a new folder in the same
   * place may have the same number.
   */
  mayHaveEnded: boolean;
  readonly children: Map<string, Watched>;
}

/**
 * Watches a folder and each folder beneath it separately, if the disk can do that (`Disk.watchFolder`). Events of such
 * watches come at once and in order. A new folder is watched before it is reported, so a scan after the report misses
 * nothing.
 */
class FolderWatch {
  readonly #options: FolderWatchOptions;
  #top: Watched | undefined;
  #closed = false;

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /**
   * Starts to watch. Returns false if the folder does not exist, or if the disk cannot watch folders. Throws if the
   * system refuses a watch.
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
      await this.close();
      throw error;
    }
  }

  /**
   * Ends the watches. Each ended watch leaves an event in the kernel's queue, so this function yields to other tasks
   * now and then.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const open = this.#top === undefined ? [] : [this.#top];
    this.#top = undefined;
    let done = 0;
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      next.watch.close();
      addAll(open, [...next.children.values()]);
      done += 1;
      if (done % TURN === 0) await nextTurn();
    }
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

  /** Watches the subfolders of a folder. Returns the newly watched folders. */
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
    // The end of a removed folder's watch is reported as an event with the folder's own name. The event looks the same
    // as one about a removed child with that name.
    if (listed && name === this.#nameOf(folder)) folder.mayHaveEnded = true;
    try {
      // The name was added, removed or replaced, so it may belong to a new folder.
      if (listed && isMeant) this.#follow(folder, name);
    } catch {
      // No watches are left, or the permission is missing. From now on, only scans find all changes.
      return this.#options.onLost();
    }
    if (folder.path === ROOT && this.#isGone()) return this.#options.onLost();
    if (isMeant) this.#options.onChange(path);
    if (folder.path === ROOT && this.#isReplaced(folder)) this.#options.onReplaced();
  }

  #isMeant(folder: Watched, name: string): boolean {
    const { only } = this.#options;
    if (only === undefined || folder.path !== ROOT) return true;
    // If `only` is a database, files beside `only` may form one unit with the database. Only a scan finds out whether
    // `only` is a database.
    return unitOf(only as WorkspacePath).includes(name as WorkspacePath);
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
      // The folder may be gone already. A later event reports the removal.
      if (this.#options.disk.lstat(this.#absolute(next.path))?.kind === "dir") addAll(pending, this.#enter(next));
    }
  }

  #isGone(): boolean {
    return this.#options.disk.lstat(this.#options.folder)?.ino !== this.#top?.ino;
  }

  /**
   * True if the top folder itself may have been removed or replaced. A change of a child with the same name as the top
   * folder causes the same event. The top folder counts as replaced only if there is no such child.
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
