import type { RecordStoreOptions, StandaloneRecordStoreApi } from "./api/record-api.ts";
import type { WorkspaceShape } from "./api/shapes.ts";
import type { OpenOptions, StoreApi, StoreOptions } from "./api/store-api.ts";
import type { SyncRunner } from "./api/sync-api.ts";
import type { WorkspaceApi } from "./api/workspace-api.ts";
import * as opening from "./open.ts";

/**
 * How programs open things: `open.ts` with the contract's types alone. What a program compiles against names neither the engine nor a
 * package that is bundled.
 */

/** Opens a store on this machine. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export function openStore(options: StoreOptions): Promise<StoreApi> {
  return opening.openStore(options);
}

/** Opens one workspace: the store is closed with it. */
export function open(options: StoreOptions & OpenOptions): Promise<WorkspaceApi> {
  return opening.open(options);
}

/** Opens a store of records in a folder of its own; begins it where there is none. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export function openRecordStore(options: RecordStoreOptions): Promise<StandaloneRecordStoreApi> {
  return opening.openRecordStore(options);
}

/**
 * Runs the syncs of a store of this machine in this process. `onError` is told what goes wrong where nobody waits for it. A start with
 * `withProtected` throws `FORBIDDEN` in a process of an agent's or a run's, as on the command line.
 */
export function openSyncs(store: StoreApi, onError: (error: unknown) => void): SyncRunner {
  return opening.openSyncs(store, onError);
}

/**
 * Brings a history back that was forgotten in a store of this machine: by its id, its name, or the unique beginning of its id. Throws
 * `NOT_FOUND` where there is none (any more), `UNSAFE` where its folder or its name has another history now.
 */
export function unforget(store: StoreApi, id: string): Promise<WorkspaceShape> {
  return opening.unforget(store, id);
}
