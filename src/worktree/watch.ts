import type { AsyncSubscription, Event } from "@parcel/watcher";
import type { WorkspacePath } from "../core/path.ts";
import type { TrackedRoot, WatchHandle, WatchHint } from "./worktree.ts";
import { nameOf, parsePath, pathInRoot, ROOT } from "../core/path.ts";
import { STAGING_FOLDER } from "./scan-root.ts";

/** Events of about the same moment make one hint. */
const COALESCE_MS = 40;
/** How often everything is hinted at while hints may be missed. */
const BLIND_MS = 3000;
/** More paths than this at once: a scan of everything is cheaper, and the kernel's queue may have overflowed. */
const MANY = 2000;
/** After many events, everything is hinted at once more when it has been quiet for so long. */
const QUIET_MS = 1500;
/** The watcher looks at each of these for each event. */
const MOST_IGNORED = 400;

/** What is watched, and who wants to know. */
export interface WatchOptions {
  readonly roots: readonly TrackedRoot[];
  /** Absolute paths of folders in a root that need no watching: excluded ones, the store. */
  readonly ignored: (root: TrackedRoot) => readonly string[];
  readonly onHint: (hint: WatchHint) => void;
}

/**
 * Watches the roots with @parcel/watcher. Where it cannot (limits of the system, a folder that goes away), hints of
 * everything take its place every few seconds, and the handle says that it is degraded.
 *
 * The watcher does not tell when the kernel's queue overflowed; that takes many events, and after many events
 * everything is hinted at again.
 */
export async function watchRoots(options: WatchOptions): Promise<WatchHandle> {
  const watch = new RootsWatch(options);
  await watch.start();
  return watch;
}

class RootsWatch implements WatchHandle {
  readonly #options: WatchOptions;
  readonly #subscriptions = new Map<TrackedRoot, AsyncSubscription>();
  readonly #pending = new Set<WorkspacePath>();
  #everything = false;
  #events = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  #quietTimer: NodeJS.Timeout | undefined;
  #blindTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get degraded(): boolean {
    return this.#blindTimer !== undefined;
  }

  async start(): Promise<void> {
    for (const root of this.#options.roots) await this.#subscribe(root);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#quietTimer);
    clearInterval(this.#blindTimer);
    const open = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    for (const subscription of open) await end(subscription);
  }

  async #subscribe(root: TrackedRoot): Promise<void> {
    const own = [`${root.folder}/.git`, `${root.folder}/${STAGING_FOLDER}`];
    const ignore = [...own, ...this.#options.ignored(root).slice(0, MOST_IGNORED)];
    try {
      const { default: watcher } = await import("@parcel/watcher");
      const subscription = await watcher.subscribe(
        root.folder,
        (error, events) => {
          if (error === null) this.#note(root, events);
          else this.#goBlind();
        },
        { ignore },
      );
      if (this.#closed) await end(subscription);
      else this.#subscriptions.set(root, subscription);
    } catch {
      // Whatever the reason (no inotify left, no such folder, no binary for the platform): the handle says degraded.
      this.#goBlind();
    }
  }

  #goBlind(): void {
    if (this.#closed || this.#blindTimer !== undefined) return;
    this.#blindTimer = setInterval(() => this.#options.onHint({ paths: undefined }), BLIND_MS);
    this.#blindTimer.unref();
    this.#everything = true;
    this.#plan();
  }

  #note(root: TrackedRoot, events: readonly Event[]): void {
    if (this.#closed) return;
    for (const { path } of events) {
      const hinted = hintOf(root, path);
      if (hinted === undefined) continue;
      this.#events += 1;
      this.#pending.add(hinted);
      if (nameOf(hinted) === ".gitignore") this.#rulesChanged(root);
    }
    if (this.#pending.size > MANY) this.#everything = true;
    if (this.#events > MANY) this.#whenQuiet();
    if (this.#pending.size > 0 || this.#everything) this.#plan();
  }

  /** Folders that were not watched may be tracked now. */
  #rulesChanged(root: TrackedRoot): void {
    const old = this.#subscriptions.get(root);
    if (old === undefined) return;
    this.#subscriptions.delete(root);
    const renew = async (): Promise<void> => {
      // In this order: while the old one lives, the watcher reuses its view of which folders there are.
      await end(old);
      await this.#subscribe(root);
      this.#everything = true;
      this.#plan();
    };
    renew().catch(() => this.#goBlind());
  }

  #whenQuiet(): void {
    clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => {
      this.#events = 0;
      this.#everything = true;
      this.#plan();
    }, QUIET_MS);
    this.#quietTimer.unref();
  }

  #plan(): void {
    if (this.#closed) return;
    this.#flushTimer ??= setTimeout(() => this.#flush(), COALESCE_MS);
  }

  #flush(): void {
    this.#flushTimer = undefined;
    const paths = this.#everything ? undefined : [...this.#pending];
    this.#everything = false;
    this.#pending.clear();
    this.#options.onHint({ paths });
  }
}

/**
 * Ends a subscription. The watcher throws ("Unable to remove watcher") where the kernel was faster: the watch of a folder
 * that is gone is gone with it, and the last look at everything needs no watcher.
 */
async function end(subscription: AsyncSubscription): Promise<void> {
  await subscription.unsubscribe().catch(() => undefined);
}

/** An event's path as a path of the workspace; of a name that is not UTF-8, only its folder can be told. */
function hintOf(root: TrackedRoot, path: string): WorkspacePath | undefined {
  if (path === root.folder) return pathInRoot(root.id, ROOT);
  if (!path.startsWith(`${root.folder}/`)) return undefined;
  const parts = path.slice(root.folder.length + 1).split("/");
  const lossy = parts.findIndex((part) => part.includes("\uFFFD") || !part.isWellFormed());
  const inner = parsePath((lossy < 0 ? parts : parts.slice(0, lossy)).join("/"));
  return pathInRoot(root.id, inner);
}
