import type { RecordStoreOptions, StandaloneRecordStoreApi } from "../api/record-api.ts";
import { ChronicleError, withCode } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { readDiskFile } from "../disk/read-disk-file.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { recordStoreLayout, type RecordStoreLayout } from "../storage/layout.ts";
import { FolderLedger } from "../engine/records/folder-ledger.ts";
import type { RecordFiles } from "../engine/records/record-files.ts";
import { RecordStore } from "../engine/records/record-store.ts";
import type { Backends } from "../store/backends.ts";
import { makeFolders, readText } from "../store/file-head-keeper.ts";
import { newFolders } from "../store/new-folder.ts";
import { wholePath } from "../core/tree/root-place.ts";

const DEFAULT_WAIT_MS = 30_000;

class FolderRecordStore extends RecordStore implements StandaloneRecordStoreApi {
  readonly #ledger: FolderLedger;

  constructor(ledger: FolderLedger) {
    super(ledger);
    this.#ledger = ledger;
  }

  get folder(): string {
    return this.#ledger.folder;
  }

  notes(): Promise<readonly string[]> {
    return withCode(() => this.#ledger.notes());
  }
}

export type RecordBackends = Pick<Backends, "disk" | "openLog" | "openLock" | "hasLog" | "now" | "newId">;

/**
 * Opens a record store. If there is no store, makes the store and its folder. With `readOnly`, throws `NOT_FOUND`
 * instead.
 */
export function openFileRecordStore(
  options: RecordStoreOptions,
  backends: RecordBackends,
): Promise<StandaloneRecordStoreApi> {
  return withCode(async () => {
    const { disk, now, newId } = backends;
    const layout = recordStoreLayout(wholePath("folder", options.folder));
    const readOnly = options.readOnly === true;
    if (!readOnly) makeFolders(disk, layout.folder);
    else if (!backends.hasLog(layout.log)) {
      throw new ChronicleError("NOT_FOUND", `there is no record store in ${options.folder}`, {
        hint: "the first command that writes a record makes the store",
      });
    }
    const ledger = new FolderLedger({
      files: new DiskRecordFiles(disk, layout),
      open: async () => ({ log: await backends.openLog(layout), lock: await backends.openLock(layout.lock) }),
      newFolder: newFolders(disk),
      now,
      newId,
      waitMs: options.waitMs ?? DEFAULT_WAIT_MS,
      readOnly,
    });
    await ledger.start();
    return new FolderRecordStore(ledger);
  });
}

class DiskRecordFiles implements RecordFiles {
  readonly #disk: Disk;
  readonly #layout: RecordStoreLayout;

  constructor(disk: Disk, layout: RecordStoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  get folder(): string {
    return this.#layout.folder;
  }

  readCheckpoint(): Buffer | undefined {
    return this.#read(this.#layout.checkpoint);
  }

  writeCheckpoint(bytes: Uint8Array): void {
    writeFileDurably(this.#disk, this.#layout.checkpoint, bytes);
  }

  readHead(): string | undefined {
    return readText(this.#disk, this.#layout.head);
  }

  writeHead(text: string): void {
    writeFileDurably(this.#disk, this.#layout.head, Buffer.from(text));
  }

  readBase(hash: Parameters<RecordFiles["readBase"]>[0]): Buffer | undefined {
    return this.#read(this.#layout.base(hash));
  }

  writeBase(hash: Parameters<RecordFiles["writeBase"]>[0], bytes: Uint8Array): void {
    makeFolders(this.#disk, this.#layout.bases);
    writeFileDurably(this.#disk, this.#layout.base(hash), bytes);
  }

  keepOnlyBase(hash: Parameters<RecordFiles["keepOnlyBase"]>[0]): void {
    const kept = this.#layout.base(hash);
    for (const { name } of this.#disk.list(this.#layout.bases)) {
      const path = `${this.#layout.bases}/${name.toString()}`;
      if (path !== kept) this.#disk.unlink(path);
    }
    this.#disk.syncFolder(this.#layout.bases);
  }

  #read(path: string): Buffer | undefined {
    return this.#disk.lstat(path) === undefined ? undefined : readDiskFile(this.#disk, path);
  }
}
