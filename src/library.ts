import type { ExportOptions, ExportShape, ImportArchiveOptions, ImportArchiveShape } from "./api/archive-api.ts";
import type { RecordStoreOptions, StandaloneRecordStoreApi } from "./api/record-api.ts";
import type { WorkspaceShape } from "./api/shapes.ts";
import type { OpenOptions, StoreApi, StoreOptions } from "./api/store-api.ts";
import type { SyncRunner } from "./api/sync-api.ts";
import type { WorkspaceApi } from "./api/workspace-api.ts";
import * as opening from "./open.ts";

/**
 * The functions with which programs open stores and workspaces. `open.ts` implements these functions. Their types here
 * come from `api/` alone. A program therefore compiles without the types of the engine and of bundled packages.
 */

/** Opens a store on this machine. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export function openStore(options: StoreOptions): Promise<StoreApi> {
  return opening.openStore(options);
}

/** Opens one workspace. Closing the workspace closes its store. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export function open(options: StoreOptions & OpenOptions): Promise<WorkspaceApi> {
  return opening.open(options);
}

/**
 * Opens a store of records in a folder of its own. Begins the store if there is none. Throws `PLATFORM_UNSUPPORTED` on
 * Windows.
 */
export function openRecordStore(options: RecordStoreOptions): Promise<StandaloneRecordStoreApi> {
  return opening.openRecordStore(options);
}

/**
 * Runs, in this process, the syncs of a store on this machine. `onError` receives errors that no caller waits for. In a
 * process that an agent or a run started, starting a sync with `withProtected` throws `FORBIDDEN`. Throws
 * `PLATFORM_UNSUPPORTED` for a store on a server.
 */
export function openSyncs(store: StoreApi, onError: (error: unknown) => void): SyncRunner {
  return opening.openSyncs(store, onError);
}

/**
 * Brings back a forgotten history, or a part of a history that was given up, in a store on this machine. `id` is the
 * history's id, a unique prefix of this id, or the history's name. Throws `NOT_FOUND` if nothing matches, `AMBIGUOUS`
 * if several match, and `UNSAFE` if another history has taken its folder or its name.
 */
export function unforget(store: StoreApi, id: string): Promise<WorkspaceShape> {
  return opening.unforget(store, id);
}

/**
 * Writes the whole history of a workspace into one file, the archive (docs/archive.md). `id` is the workspace's id, its
 * name, or a unique prefix of its id. The store must be on this machine. Throws `REFUSED` if the file exists or if the
 * history is not signed, and `BLOB_MISSING` if a content is missing. In a process that an agent or a run started,
 * throws `FORBIDDEN` if `options` ask for the key, secrets or private contents. If the export fails, no file is left.
 */
export function exportArchive(store: StoreApi, id: string, options: ExportOptions): Promise<ExportShape> {
  return opening.exportArchive(store, id, options);
}

/**
 * Imports an archive that `exportArchive` has written, into a store on this machine. The imported workspace has no
 * folder; `init` with `adopt` gives it a folder. Throws `INTEGRITY_VIOLATION` if the archive is damaged, and `REFUSED`
 * if the store already has a workspace with the same id or name. If the import fails, nothing is left. In a process
 * that an agent or a run started, throws `FORBIDDEN`.
 */
export function importArchive(store: StoreApi, options: ImportArchiveOptions): Promise<ImportArchiveShape> {
  return opening.importArchive(store, options);
}
