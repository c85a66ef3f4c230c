import { crc32 } from "node:zlib";
import type { Hash } from "../core/values/hash.ts";

/**
 * The paths of a store's files (docs/format.md). Other modules take file names from here.
 *
 * ```
 * <home>/
 *   blobs/
 *     packs/active/<n>.pack      lane n: append-only, held by one writer at a time
 *     packs/active/lock.db.<n>   the lock of lane n
 *     packs/<ulid>.pack          sealed packs
 *     large/ab/<hash>            a raw content over 8 MiB; <hash>.z: the same in compressed pieces (a container)
 *     large/tmp/                 files being written; those without a running writer are garbage
 *     quarantine/                damaged packs and large files that a repair has replaced; they are not read
 *     index.db, gc.db            the index (derived); the lock of the collector
 *   workspaces/<id>/             see `WorkspaceLayout`
 *   forgotten/<id>/              the files of a forgotten history that can be brought back
 *   workspaces/<id>.new/         a workspace being made; <id>.forgotten: being removed; both are garbage after a crash
 *   lock.db                      the lock for making, naming or removing workspaces
 *   lock.db.<n>                  the locks for beginning a workspace in a folder
 * ```
 * Everything is authoritative except `index.db*`, `stat.cache`, `whereabouts.json`, `cache/`, `large/tmp/`,
 * `blobs/quarantine/` and the locks (`lock.db*`, `gc.db*`, `follower.db*`).
 */
export interface StoreLayout {
  readonly home: string;
  readonly blobs: BlobLayout;
  /** The folder that holds one folder for each workspace. */
  readonly workspaces: string;
  /** The folder that holds the folders of workspaces that were forgotten and can be brought back. */
  readonly forgotten: string;
  /** SQLite: the lock for making, naming or removing workspaces. Never deleted. */
  readonly namesLock: string;
  /**
   * SQLite: the lock for beginning a workspace in `folder`. The folders share a fixed number of locks, so that their
   * files do not accumulate. Never deleted.
   */
  beginLock(folder: string): string;
  /** The folder of caches: of compiled code, and of what follows here. Derived. */
  readonly caches: string;
  /** The list of erasures whose contents were freed to the last byte. Derived. */
  readonly freedErasures: string;
  /** The traits that were found for folders on file systems that are not native to Linux. Derived. */
  readonly folderTraits: string;
  workspace(id: string): WorkspaceLayout;
}

export interface BlobLayout {
  readonly folder: string;
  readonly packs: string;
  readonly active: string;
  readonly large: string;
  readonly largeTmp: string;
  /** Damaged files. All their readable contents are stored in other files. The collector removes the damaged files. */
  readonly quarantine: string;
  /** SQLite: the place of each content. Derived. */
  readonly index: string;
  /** SQLite: the lock between writers (shared) and the collector (exclusive). Never deleted. */
  readonly gcLock: string;
  /**
   * Returns the path of the pack in a lane (0, 1, 2 …). A lane is the place of one pack to which one writer at a time
   * appends.
   */
  activePack(lane: number): string;
  laneLock(lane: number): string;
  sealedPack(ulid: string): string;
  /** The folder of a large content, named by the first two hex digits of its hash. */
  largeFolder(hash: Hash): string;
  /** The file of a large content that is not compressed. */
  largeRaw(hash: Hash): string;
  /** The file of a large content as a container of compressed pieces. */
  largePacked(hash: Hash): string;
}

export interface WorkspaceLayout {
  readonly folder: string;
  /** The format's version and the workspace's id. */
  readonly workspaceJson: string;
  readonly log: string;
  /** The logs that compactions have sealed. */
  readonly archive: string;
  /** The parts that recovery has cut off from the log. */
  readonly quarantine: string;
  /** SQLite: the index. Derived. */
  readonly index: string;
  /** The stats of files at their last capture. Derived. */
  readonly statCache: string;
  /**
   * The folder in which git folders of the workspace are kept. Most objects in it are links to the files of the
   * repositories. Derived.
   */
  readonly keptGit: string;
  /** SQLite: the workspace's lock. Never deleted. */
  readonly lock: string;
  /**
   * For each replica of the workspace: its cursor (the last event that it has acknowledged) and its holder (such as a
   * token).
   */
  readonly replicas: string;
  /** The paths that were changed off the record. */
  readonly offRecord: string;
  /** The locations of the workspace's folders at the last full capture. Disposable. */
  readonly whereabouts: string;
  /**
   * The changes that people have marked as looked at; one file for each person. These marks are no part of the history.
   */
  readonly marks: string;
  /** In an imported workspace: the list of the contents that the imported archive left out on purpose. */
  readonly withheld: string;
  /** In a replica: the history of its origin. */
  readonly upstream: UpstreamLayout;
}

export interface LogPaths extends Pick<WorkspaceLayout, "log" | "archive" | "quarantine"> {
  /** Set for a copy of another store's history, which may end in the middle of a commit. */
  readonly isCopy?: true;
}

/**
 * The files of the origin's history that a replica holds:
 *
 * ```
 * upstream/                     the mirror from event 1 on: its log and related files, see `MirrorLayout`
 *   from-<seq>/                 the mirror that starts after event <seq>; the mirror with the greatest seq is in force
 *   former/<first>-<last>.wal   logs of mirrors that were given up
 *   witness.json                the first contradiction between the origin's history and this one
 *   withheld                    the contents that the history names and this replica did not take
 *   follower.db                 the lock of the process that follows the origin
 * ```
 */
export interface UpstreamLayout {
  readonly folder: string;
  readonly former: string;
  readonly witness: string;
  readonly withheld: string;
  /** SQLite: held by the one process that follows the origin. Never deleted. */
  readonly follower: string;
  /** Returns the layout of the mirror that starts after the event `start`. 0 stands for the mirror from event 1 on. */
  mirror(start: number): MirrorLayout;
}

export interface MirrorLayout extends Pick<
  WorkspaceLayout,
  "folder" | "log" | "archive" | "quarantine" | "index" | "lock"
> {
  /** The event after which the mirror starts, and the state there. The mirror from event 1 on has no such file. */
  readonly anchor: string;
  /** Set because the lines belong to another store: see `LogPaths`. */
  readonly isCopy: true;
}

/** Returns the event after which a mirror starts, by the name of its folder; `undefined` for other names. */
export function mirrorStart(name: string): number | undefined {
  const start = Number(/^from-([1-9]\d{0,15})$/.exec(name)?.[1]);
  return Number.isSafeInteger(start) ? start : undefined;
}

/** The number of locks that the folders share. Two large folders with one lock are rarely begun at the same time. */
const BEGIN_LOCKS = 16;

/** Returns the paths of the store in `home`, an absolute path without a slash at its end. */
export function storeLayout(home: string): StoreLayout {
  const workspaces = `${home}/workspaces`;
  return {
    home,
    blobs: blobLayout(`${home}/blobs`),
    workspaces,
    forgotten: `${home}/forgotten`,
    namesLock: `${home}/lock.db`,
    beginLock: (folder) => `${home}/lock.db.${crc32(folder) % BEGIN_LOCKS}`,
    caches: `${home}/cache`,
    freedErasures: `${home}/cache/freed-erasures`,
    folderTraits: `${home}/cache/folder-traits`,
    workspace: (id) => workspaceLayout(`${workspaces}/${id}`),
  };
}

function blobLayout(folder: string): BlobLayout {
  const packs = `${folder}/packs`;
  const active = `${packs}/active`;
  const large = `${folder}/large`;
  const largeFolder = (hash: Hash): string => `${large}/${hash.slice(0, 2)}`;
  return {
    folder,
    packs,
    active,
    large,
    largeTmp: `${large}/tmp`,
    quarantine: `${folder}/quarantine`,
    index: `${folder}/index.db`,
    gcLock: `${folder}/gc.db`,
    activePack: (lane) => `${active}/${lane}.pack`,
    laneLock: (lane) => `${active}/lock.db.${lane}`,
    sealedPack: (ulid) => `${packs}/${ulid}.pack`,
    largeFolder,
    largeRaw: (hash) => `${largeFolder(hash)}/${hash}`,
    largePacked: (hash) => `${largeFolder(hash)}/${hash}.z`,
  };
}

export function workspaceLayout(folder: string): WorkspaceLayout {
  return {
    folder,
    workspaceJson: `${folder}/workspace.json`,
    log: `${folder}/events.wal`,
    archive: `${folder}/archive`,
    quarantine: `${folder}/quarantine`,
    index: `${folder}/index.db`,
    statCache: `${folder}/stat.cache`,
    keptGit: `${folder}/git`,
    lock: `${folder}/lock.db`,
    replicas: `${folder}/replicas`,
    offRecord: `${folder}/off-record.json`,
    whereabouts: `${folder}/whereabouts.json`,
    marks: `${folder}/marks`,
    withheld: `${folder}/withheld`,
    upstream: upstreamLayout(`${folder}/upstream`),
  };
}

function upstreamLayout(folder: string): UpstreamLayout {
  return {
    folder,
    former: `${folder}/former`,
    witness: `${folder}/witness.json`,
    withheld: `${folder}/withheld`,
    follower: `${folder}/follower.db`,
    mirror: (start) => mirrorLayout(start === 0 ? folder : `${folder}/from-${start}`),
  };
}

function mirrorLayout(folder: string): MirrorLayout {
  return {
    folder,
    isCopy: true,
    anchor: `${folder}/anchor.json`,
    log: `${folder}/events.wal`,
    archive: `${folder}/archive`,
    quarantine: `${folder}/quarantine`,
    index: `${folder}/index.db`,
    lock: `${folder}/lock.db`,
  };
}

export interface RecordStoreLayout extends Pick<WorkspaceLayout, "folder" | "log" | "archive" | "quarantine" | "lock"> {
  /** The state as of an event. Disposable. */
  readonly checkpoint: string;
  /** The end of the log when the store was last closed. */
  readonly head: string;
  /** The states with which logs begin after a compaction. */
  readonly bases: string;
  base(hash: Hash): string;
}

/** Returns the paths of the record store in `folder`, an absolute path without a slash at its end. */
export function recordStoreLayout(folder: string): RecordStoreLayout {
  const { log, archive, quarantine, lock } = workspaceLayout(folder);
  const bases = `${folder}/bases`;
  const [checkpoint, head] = [`${folder}/snapshot.json`, `${folder}/head.json`];
  return { folder, log, archive, quarantine, lock, checkpoint, head, bases, base: (hash) => `${bases}/${hash}.json` };
}
