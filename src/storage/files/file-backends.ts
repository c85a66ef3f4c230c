import type { Disk } from "../../disk/disk.ts";
import { removeTree } from "../../disk/remove-tree.ts";
import type { StorageBackends } from "../backends.ts";
import type { BlobIndex, BlobIndexOpener } from "../blob-index.ts";
import type { IndexStore } from "../index-store.ts";
import { storeLayout } from "../layout.ts";
import type { Lock } from "../lock.ts";
import { FileBlobStore } from "./file-blob-store.ts";
import { FileEventLog } from "./file-event-log.ts";
import { FileIntake } from "./file-intake.ts";
import { findContents } from "./find-contents.ts";
import { FsyncScheduler } from "./fsync-scheduler.ts";
import { glanceAtLog } from "./log-glance.ts";

/** The disk, and the backends of what is no plain file. */
export interface FileBackendsOptions {
  readonly disk: Disk;
  /** Returns a new, unique ULID, for names of packs and of temporary files. */
  readonly newPackId: () => string;
  readonly openIndex: (path: string, tell?: (note: string) => void) => IndexStore;
  readonly scratchIndex: () => IndexStore;
  /** Removes the files of an index. Default: it has none. */
  readonly discardIndex?: (path: string) => void;
  readonly openBlobIndex: (path: string) => BlobIndexOpener;
  /** Opens an index of contents for this process alone, if the disk takes no writes; default: what needs it fails. */
  readonly scratchBlobIndex?: () => BlobIndex;
  readonly lock: (path: string) => Lock;
}

/** Returns the storage of a store in a folder on a disk: packs and NDJSON, with these indexes and locks. */
export function fileBackends(options: FileBackendsOptions): StorageBackends {
  const { disk, newPackId, lock, scratchIndex } = options;
  const together = new FsyncScheduler(disk);
  return {
    openBlobs: async (layout, how) => {
      const { scratchBlobIndex: scratch } = options;
      const openIndex = options.openBlobIndex(layout.blobs.index);
      const given = { disk, layout: layout.blobs, openIndex, scratchIndex: scratch, lock, newPackId };
      const blobs = await FileBlobStore.open({ ...given, ...how });
      const intake = new FileIntake({ disk, layout, blobs, newPackId });
      return { blobs, intake, isReadOnly: () => blobs.readOnly, placesOf: (hashes) => blobs.placesOf(hashes) };
    },
    openLog: async (paths, { after, syncsTogether = false } = {}) =>
      new FileEventLog(disk, paths, after, syncsTogether ? together : undefined),
    openIndex: async (path, tell) => options.openIndex(path, tell),
    scratchIndex,
    openLock: async (path) => lock(path),
    hasLog: (path) => disk.lstat(path) !== undefined,
    lastEvent: (path) => glanceAtLog(disk, path),
    discardIndex: (path) => options.discardIndex?.(path),
    removeLog: (path) => {
      if (disk.lstat(path) !== undefined) disk.unlink(path);
    },
    move: (from, to) => disk.rename(from, to),
    removeFolder: (folder) => removeTree(disk, folder),
    findContents: (home, wanted) => findContents(disk, storeLayout(home).blobs, wanted),
  };
}
