import type { Hash } from "../core/values/hash.ts";

/**
 * The paths of a store's files. No other module knows a file name (design §6.1; docs/format.md).
 *
 * ```
 * <home>/
 *   blobs/
 *     packs/active/<n>.pack      lane n: append-only, held by one writer at a time
 *     packs/active/lock.db.<n>   the lock of lane n
 *     packs/<ulid>.pack          sealed packs
 *     large/ab/<hash>            a raw content over 8 MiB; <hash>.z: one in a container of compressed pieces
 *     large/tmp/                 large contents being written; files here without a running writer are garbage
 *     quarantine/                damaged packs and large files that a repair has replaced; nothing is read from here
 *     index.db, gc.db            derived; the lock of the collector
 *   workspaces/<id>/             see `WorkspaceLayout`
 *   forgotten/<id>/              the same for a forgotten history that can be brought back
 *   workspaces/<id>.new/         one being made; <id>.forgotten: one being removed. Garbage if no process does so
 *   lock.db                      the lock for making, naming or removing workspaces
 * ```
 * Everything is authoritative except `index.db*`, `stat.cache`, `whereabouts.json`, `lock.db*`, `gc.db*`, `cache/` and
 * `large/tmp/`.
 */
export interface StoreLayout {
  /** The folder of the whole store. */
  readonly home: string;
  readonly blobs: BlobLayout;
  /** The folder that holds one folder for each workspace. */
  readonly workspaces: string;
  /** The folder that holds the folders of workspaces that were forgotten and can be brought back. */
  readonly forgotten: string;
  /** SQLite: the lock of those who make, name or remove workspaces. Never deleted. */
  readonly namesLock: string;
  /** The erasures of which every byte was freed. Derived. */
  readonly freedErasures: string;
  /** The traits of folders on file systems other than Linux's own, as probed. Derived. */
  readonly folderTraits: string;
  workspace(id: string): WorkspaceLayout;
}

/** The files of the blob store. */
export interface BlobLayout {
  readonly folder: string;
  readonly packs: string;
  readonly active: string;
  readonly large: string;
  readonly largeTmp: string;
  /** Damaged files whose readable contents are all stored elsewhere. The collector removes them. */
  readonly quarantine: string;
  /** SQLite: the place of each content. Derived. */
  readonly index: string;
  /** SQLite: the lock between writers (shared) and the collector (exclusive). Never deleted. */
  readonly gcLock: string;
  /** The pack that the holder of lane `lane` (0, 1, 2 …) appends to. */
  activePack(lane: number): string;
  laneLock(lane: number): string;
  sealedPack(ulid: string): string;
  /** The folder of a large content: its first two hex digits. */
  largeFolder(hash: Hash): string;
  /** A raw large content. */
  largeRaw(hash: Hash): string;
  /** A large content as a container of compressed pieces. */
  largePacked(hash: Hash): string;
}

/** The files of one workspace. */
export interface WorkspaceLayout {
  readonly folder: string;
  /** Format version and id only. */
  readonly workspaceJson: string;
  /** The log. */
  readonly log: string;
  /** Logs sealed by compaction. */
  readonly archive: string;
  /** The parts that recovery cut off. */
  readonly quarantine: string;
  /** SQLite; derived. */
  readonly index: string;
  /** Derived. */
  readonly statCache: string;
  /** SQLite: the workspace's lock. Never deleted. */
  readonly lock: string;
  /** The progress of each of its replicas. */
  readonly replicas: string;
  /** The paths that were changed off the record. */
  readonly offRecord: string;
  /** The locations of its folders at the last full capture. Disposable. */
  readonly whereabouts: string;
  /** In a replica: the history of its origin. */
  readonly upstream: UpstreamLayout;
}

/** The places of a log: its lines, the sealed logs, and what recovery cuts off. */
export interface LogPaths extends Pick<WorkspaceLayout, "log" | "archive" | "quarantine"> {
  /** Set for a copy of another store's history, which may end in the middle of a commit. */
  readonly isCopy?: true;
}

/**
 * The part of its origin's history that a replica holds:
 *
 * ```
 * upstream/                     the mirror from event 1 on: its log and related files, see `MirrorLayout`
 *   from-<seq>/                 the mirror that starts after that event; the one with the greatest seq is in force
 *   former/<first>-<last>.wal   logs of mirrors that were given up
 *   witness.json                contradictions between the origin's history and this one
 *   withheld                    contents that its lines name but that were not taken
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
  /** The mirror that starts after an event; 0: from the first one on. */
  mirror(start: number): MirrorLayout;
}

/** The files of one mirror: a log, and what is derived from it. */
export interface MirrorLayout extends Pick<
  WorkspaceLayout,
  "folder" | "log" | "archive" | "quarantine" | "index" | "lock"
> {
  /** The event after which it starts, and the state there. The mirror from event 1 on has none. */
  readonly anchor: string;
  /** Set because its lines are another store's. */
  readonly isCopy: true;
}

/** Returns the start in the name of a mirror's folder; `undefined` for other names. */
export function mirrorStart(name: string): number | undefined {
  const start = Number(/^from-([1-9]\d{0,15})$/.exec(name)?.[1]);
  return Number.isSafeInteger(start) ? start : undefined;
}

/** Returns the layout of a store in the folder `home` (an absolute path without a slash at its end). */
export function storeLayout(home: string): StoreLayout {
  const workspaces = `${home}/workspaces`;
  return {
    home,
    blobs: blobLayout(`${home}/blobs`),
    workspaces,
    forgotten: `${home}/forgotten`,
    namesLock: `${home}/lock.db`,
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

/** Returns the layout of a workspace in `folder`. */
export function workspaceLayout(folder: string): WorkspaceLayout {
  return {
    folder,
    workspaceJson: `${folder}/workspace.json`,
    log: `${folder}/events.wal`,
    archive: `${folder}/archive`,
    quarantine: `${folder}/quarantine`,
    index: `${folder}/index.db`,
    statCache: `${folder}/stat.cache`,
    lock: `${folder}/lock.db`,
    replicas: `${folder}/replicas`,
    offRecord: `${folder}/off-record.json`,
    whereabouts: `${folder}/whereabouts.json`,
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

/** The files of a record store. */
export interface RecordStoreLayout extends Pick<WorkspaceLayout, "folder" | "log" | "archive" | "quarantine" | "lock"> {
  /** The state as of an event; disposable. */
  readonly checkpoint: string;
  /** The position of the log at the last close. */
  readonly head: string;
  /** The states on which logs continue after a compaction. */
  readonly bases: string;
  base(hash: Hash): string;
}

/** Returns the layout of a record store in `folder` (an absolute path without a slash at its end). */
export function recordStoreLayout(folder: string): RecordStoreLayout {
  const { log, archive, quarantine, lock } = workspaceLayout(folder);
  const bases = `${folder}/bases`;
  const [checkpoint, head] = [`${folder}/snapshot.json`, `${folder}/head.json`];
  return { folder, log, archive, quarantine, lock, checkpoint, head, bases, base: (hash) => `${bases}/${hash}.json` };
}
