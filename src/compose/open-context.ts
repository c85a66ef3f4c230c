import type { StoreOptions } from "../api/store-api.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { FolderTraits } from "../core/tree/folder-traits.ts";
import type { AnnouncedContent } from "../core/records/announced-content.ts";
import { decodeWorkspace, type RootRecord } from "../core/records/workspace-record.ts";
import type { Disk } from "../disk/disk.ts";
import type { OpenedBlobs } from "../storage/storage-backends.ts";
import type { StoreLayout } from "../storage/layout.ts";
import { Signal } from "../util/signal.ts";
import { answer } from "../engine/log/answer.ts";
import { workspaceRecord, workspaceRecordInLines } from "../engine/log/own-record.ts";
import {
  isHosted,
  type Context,
  type HeadKeeper,
  type HistoryContext,
  type Recorded,
  type Retention,
  type StoreTasks,
} from "../engine/log/context.ts";
import { PacedHeadFollower, type HeadPace } from "../engine/commit/head-follower.ts";
import { ContentsOfHistory } from "../engine/facts/contents-of-history.ts";
import { DirtyPaths } from "../engine/log/dirty-paths.ts";
import { DiskOutsideFiles } from "../worktree/outside/disk-outside-files.ts";
import { DiskWorktree } from "../worktree/disk/disk-worktree.ts";
import { DiskGitStates } from "../worktree/git/disk-git-states.ts";
import { NoGitStates } from "../worktree/git/no-git-states.ts";
import type { GitUser } from "../worktree/git/git-settings.ts";
import { HostedWorktree } from "../worktree/memory/hosted-worktree.ts";
import { NoOutsideFiles } from "../worktree/outside/no-outside-files.ts";
import { FolderProbe } from "../worktree/files/folder-probe.ts";
import type { TrackedRoot } from "../worktree/worktree.ts";
import type { Backends } from "../store/backends.ts";
import { FileIngest, NO_INGEST } from "../workers/file-ingest.ts";
import { FileContentSearch } from "../workers/file-content-search.ts";
import { FileOffRecord } from "../store/file-off-record.ts";
import { FileWhereabouts } from "../store/file-whereabouts.ts";
import { FileRestoreWorkers } from "../workers/file-restore-workers.ts";
import { IndexedFiles } from "../store/indexed-files.ts";
import { KeptStagePool } from "../workers/stage-pool.ts";
import { listedWorkspace, RootsCache } from "../store/roots-cache.ts";
import { retentionOf, type RetentionInputs } from "../store/retention-files.ts";
import { FileTraitsMemory } from "../store/traits-memory.ts";
import { placeOfRoot } from "../core/tree/root-place.ts";
import type { StoreGauge } from "../store/store-gauge.ts";
import { gitRunner } from "../store/run-git.ts";
import { refuseOtherWorkspace } from "../store/workspace-file.ts";
import { optional } from "../util/optional.ts";
import { Memo } from "../engine/log/memo.ts";

/** The parts that all workspaces of one store share. */
export interface StoreParts extends OpenedBlobs {
  readonly backends: Backends;
  readonly layout: StoreLayout;
  /** The known folders of the store's workspaces. */
  readonly roots: RootsCache;
  readonly heads: HeadKeeper;
  readonly headPace: HeadPace;
  /** The actor with whom the store was opened. */
  readonly actor: string;
  readonly onNote: ((note: string) => void) | undefined;
  /**
   * Receives a note for each index whose file cannot be written. Such an index is kept in memory. Passes equal notes to
   * `onNote` only once.
   */
  readonly tellOfIndexes: (note: string) => void;
  readonly onCommit: StoreOptions["onCommit"];
  readonly onUnsigned: StoreOptions["onUnsigned"];
  /** The worktrees of all workspaces that are open through these parts. */
  readonly openFolders: Set<DiskWorktree>;
  /** Emits the events that were recorded through these parts, in any workspace. */
  readonly recorded: Signal<RecordedInStore>;
  /** Emits events already while their commit still writes to the folder: see `Context.decided`. */
  readonly decided: Signal<RecordedInStore>;
  /** Emits contents before they are recorded: see `Context.foreseen`. */
  readonly foreseen: Signal<AnnouncedInStore>;
  /** The maximum time to wait for a lock, in milliseconds. */
  readonly waitMs: number;
  readonly retention: RetentionInputs;
  readonly gauge: StoreGauge;
  /** The folder of the key and the heads. */
  readonly configFolder: string;
  readonly userHome: string | undefined;
}

export interface RecordedInStore extends Recorded {
  readonly workspaceId: string;
}

export interface AnnouncedInStore extends AnnouncedContent {
  readonly workspaceId: string;
}

/** An engine's access to the files of its workspace. The files of a hosted workspace are in its history only. */
interface WorkspaceFiles extends Pick<Context, "worktree" | "outside" | "git" | "ingest"> {
  /** The parts for writing the files of a first sync while their contents arrive. Absent in a hosted workspace. */
  readonly early?: { readonly worktree: DiskWorktree; readonly pools: KeptStagePool | undefined };
}

/** The opened engine of a workspace. `close` closes everything except the parts that the store shares. */
export interface OpenedContext {
  readonly context: Context;
  readonly early: WorkspaceFiles["early"];
  readonly close: () => Promise<void>;
}

export interface HowToOpen {
  /** The tracked roots. Default: the roots that the log records. */
  readonly roots?: readonly RootRecord[] | undefined;
  readonly readOnly?: boolean;
  /** The present place of the first root, if this place is not recorded yet. */
  readonly movedTo?: string | undefined;
  readonly client?: string | undefined;
  /** The actor. Default: the actor with whom the store was opened. */
  readonly actor?: string | undefined;
  /** True if the history is the mirror of an origin's history. */
  readonly isCopy?: boolean;
  /** True if this process makes the workspace's folder follow an origin. */
  readonly follows?: boolean;
}

export async function openContext(
  parts: StoreParts,
  id: string,
  how: HowToOpen & { readonly tasks: StoreTasks },
): Promise<OpenedContext> {
  const { backends, layout, blobs, heads, waitMs } = parts;
  const files = layout.workspace(id);
  refuseOtherWorkspace(backends.disk, files.workspaceJson);
  const paths = { log: files.log, archive: files.archive, quarantine: files.quarantine };
  const log = await backends.openLog(paths, { syncsTogether: true });
  const index = await backends.openIndex(files.index, parts.tellOfIndexes);
  const lock = await backends.openLock(files.lock);
  const { now, newId } = backends;
  const memo = new Memo();
  const history = { workspaceId: id, log, blobs, index, memo, lock, waitMs, heads, now, newId };
  try {
    const retention = await retentionOf(backends.disk, parts.configFolder, { id, ...parts.retention });
    return openHistory(parts, history, { ...how, retention, roots: how.roots ?? (await rootsOf(history)) });
  } catch (error) {
    lock.close();
    await index.close();
    await log.close();
    throw error;
  }
}

/** Opens the engine on an open history. `close` of the result also closes the history. */
export function openHistory(
  parts: StoreParts,
  given: HistoryContext,
  how: HowToOpen & {
    readonly roots: readonly RootRecord[];
    readonly tasks: StoreTasks;
    readonly retention: Retention;
  },
): OpenedContext {
  const history: HistoryContext = { ...given, blobs: new ContentsOfHistory(given) };
  const roots = how.roots.map((root, i) => trackedRoot(i > 0 ? root : { ...root, folder: how.movedTo ?? root.folder }));
  const { early, ...files } = isHosted(roots)
    ? hostedFiles(parts, history, roots)
    : folderFiles(parts, history, { roots, readOnly: how.readOnly === true });
  const { workspaceId } = history;
  const context: Context = {
    ...history,
    ...files,
    ...(how.movedTo === undefined ? {} : { recordedAt: how.roots[0]?.folder }),
    headFollower: new PacedHeadFollower(parts.headPace, () => context),
    offRecord: new FileOffRecord(parts.backends.disk, parts.layout.workspace(workspaceId).offRecord),
    whereabouts: new FileWhereabouts(parts.backends.disk, parts.layout.workspace(workspaceId).whereabouts, roots),
    ...(how.follows === true ? { follows: true } : {}),
    search: contentSearch(parts),
    live: new DirtyPaths(files.worktree),
    recorded: recordedSignal(parts, history.workspaceId),
    decided: forwardingSignal<Recorded>(({ events }) => parts.decided.emit({ workspaceId, events })),
    foreseen: forwardingSignal<AnnouncedContent>((content) => parts.foreseen.emit({ workspaceId, ...content })),
    retention: how.retention,
    store: how.tasks,
    processes: parts.backends.processes,
    pause: parts.backends.pause,
    caller: { role: "person", actor: how.actor ?? parts.actor, ...optional({ client: how.client }) },
    ...optional({ tell: parts.onNote }),
    unsigned: ({ reason, message: detail, hint }) =>
      parts.onUnsigned?.({ workspace: workspaceId, reason, detail, hint }),
    readOnly: how.readOnly === true,
    ...(how.isCopy === true ? { isCopy: true } : {}),
  };
  const close = async (): Promise<void> => {
    try {
      await context.headFollower.end();
    } finally {
      await files.worktree.close();
      history.lock.close();
      await history.index.close();
      await history.log.close();
    }
  };
  return { context, early, close };
}

function recordedSignal(parts: StoreParts, workspaceId: string): Signal<Recorded> {
  const { onCommit, recorded } = parts;
  const signal = new Signal<Recorded>();
  signal.listen(({ events }) => noteRecord(parts, workspaceId, events));
  signal.listen(({ events }) => recorded.emit({ workspaceId, events }));
  if (onCommit !== undefined) signal.listen(({ events }) => onCommit({ events: events.length }));
  return signal;
}

/**
 * Updates the list of workspaces if the events change the workspace's own record. Each process updates the list after
 * its own commits.
 */
function noteRecord({ backends, layout }: StoreParts, id: string, events: Recorded["events"]): void {
  const last = events.findLast(({ recordId }) => recordId === `workspace:${id}`);
  if (last === undefined) return;
  new RootsCache(backends, layout).note(listedWorkspace(id, decodeWorkspace(last.record), last.seq));
}

function forwardingSignal<What>(tell: (what: What) => void): Signal<What> {
  const signal = new Signal<What>();
  signal.listen(tell);
  return signal;
}

function hostedFiles(
  { backends }: StoreParts,
  { index, blobs }: HistoryContext,
  roots: readonly TrackedRoot[],
): WorkspaceFiles {
  const files = new IndexedFiles(index, blobs);
  const worktree = new HostedWorktree({ roots, files, clock: backends.now });
  return { worktree, outside: new NoOutsideFiles(), git: new NoGitStates(), ingest: NO_INGEST };
}

function folderFiles(
  parts: StoreParts,
  { workspaceId, index }: HistoryContext,
  { roots, readOnly }: { readonly roots: readonly TrackedRoot[]; readonly readOnly: boolean },
): WorkspaceFiles {
  const { backends, layout, intake } = parts;
  const { disk, threads } = backends;
  const files = layout.workspace(workspaceId);
  const pools = threads ? new KeptStagePool(layout.home) : undefined;
  // Exclude each folder under both its given path and its resolved path, because a configuration folder is often a
  // link.
  const own = [layout.home, parts.configFolder].flatMap((folder) => [folder, ...realFolder(disk, folder)]);
  const worktree = new DiskWorktree({
    disk,
    roots,
    cacheFile: files.statCache,
    staging: `${files.folder}/staging`,
    storeFolders: own,
    workspace: workspaceId,
    clock: backends.now,
    workers: restoreWorkers(parts, pools),
    traitsOf: traitsOf(parts, readOnly),
    git: gitUser(parts),
    openHere: parts.openFolders,
    recordedSeq: async () => (await index.head()).seq,
  });
  const outside = new DiskOutsideFiles({
    disk,
    home: parts.userHome,
    own,
    roots: roots.map(placeOfRoot),
  });
  const git = new DiskGitStates({
    disk,
    roots: () => worktree.roots,
    nested: () => worktree.repositories(),
    user: gitUser(parts),
    run: gitRunner({ disk, untrusted: () => worktree.roots.map(({ folder }) => folder) }),
    clock: backends.now,
    newId: backends.newId,
    keptFolders: files.keptGit,
  });
  const ingest = new FileIngest({ disk, intake, roots, threads });
  return { worktree, outside, git, ingest, early: { worktree, pools } };
}

/**
 * Returns a function that determines the traits of a folder. With `readOnly`, this function writes nothing to the disk.
 */
export function traitsOf(
  { backends, layout }: Pick<StoreParts, "backends" | "layout">,
  readOnly: boolean,
): (folder: string) => FolderTraits {
  const { disk, newId } = backends;
  const memory = new FileTraitsMemory(disk, layout.folderTraits);
  const probe = new FolderProbe({ disk, memory, mayWrite: !readOnly, newMark: newId });
  return (folder) => probe.of(folder);
}

/**
 * Returns the place of the user's git configuration. The place is beside Chronicle's configuration folder if that
 * folder is named `chronicle`, and otherwise in `~/.config`.
 */
function gitUser({ userHome, configFolder }: StoreParts): GitUser {
  const beside = configFolder.endsWith("/chronicle") ? configFolder.slice(0, -"/chronicle".length) : undefined;
  const usual = userHome === undefined ? undefined : `${userHome}/.config`;
  return {
    home: userHome,
    configHome: userHome === undefined ? undefined : (beside ?? usual),
    uid: process.geteuid?.(),
  };
}

/**
 * Returns the threads that write the files of a restore; `undefined` if the restoring thread writes all files itself.
 */
export function restoreWorkers(
  { backends, layout, placesOf }: StoreParts,
  pools = new KeptStagePool(layout.home),
): FileRestoreWorkers | undefined {
  return backends.threads && placesOf !== undefined
    ? new FileRestoreWorkers({ home: layout.home, disk: backends.disk, placesOf, pools })
    : undefined;
}

function contentSearch({ backends, layout, placesOf }: StoreParts): FileContentSearch {
  return new FileContentSearch({ home: layout.home, threads: backends.threads, placesOf });
}

/**
 * Returns a list of one path: the folder's path without links. Returns an empty list if the path cannot be resolved.
 */
function realFolder(disk: Disk, folder: string): string[] {
  try {
    return [disk.realpath(folder)];
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

async function rootsOf(history: HistoryContext): Promise<readonly RootRecord[]> {
  const { roots } = await answer(history, ({ damage }) =>
    workspaceRecord(history).catch(async (error: unknown) => {
      const inLines = damage === undefined ? undefined : await workspaceRecordInLines(history);
      if (inLines === undefined) throw damage ?? error;
      return inLines;
    }),
  );
  if (roots.length === 0) throw new ChronicleError("LOG_DAMAGED", "the workspace has no root");
  return roots;
}

function trackedRoot(root: RootRecord): TrackedRoot {
  const { id, folder, only, filter, limits } = root;
  return { id: id ?? undefined, folder, ...optional({ only }), filter, limits };
}
