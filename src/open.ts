import { type Around, type WorkAround, ROLE_VARIABLE, WHO_CAN } from "./core/values/agents-role.ts";
import { ChronicleError, withCode } from "./core/values/errors.ts";
import type { ReplicaAcceptor } from "./api/replication-api.ts";
import type { RecordStoreOptions, StandaloneRecordStoreApi } from "./api/record-api.ts";
import type { ExportOptions, ExportShape, ImportArchiveOptions, ImportArchiveShape } from "./api/archive-api.ts";
import type { DoctorCheck, OpenOptions, StoreApi, StoreOptions } from "./api/store-api.ts";
import type { RestoreShape, WorkspaceShape } from "./api/shapes.ts";
import type { RepairPlace, RestoreOptions, WorkspaceApi } from "./api/workspace-api.ts";
import { nodeBackends, nodeDisk, storePlace } from "./backends/registry.ts";
import { accessCheck } from "./store/store-owner.ts";
import { openFileRecordStore } from "./compose/file-record-store.ts";
import { openFileStore } from "./compose/file-store.ts";
import { type ForgottenShape, forgottenIn, unforgetWorkspace } from "./compose/forgotten.ts";
import { exportArchive as exportOf } from "./compose/export-archive.ts";
import { importArchive as importOf } from "./compose/import-archive.ts";
import { workspaceAround } from "./compose/folder-workspace.ts";
import { partsOf } from "./compose/open-parts.ts";
import { openAcceptor } from "./compose/replica-acceptor.ts";
import { FileSyncPlaces, type KnownOrigin } from "./compose/file-sync-places.ts";
import { workAround } from "./compose/within-agent.ts";
import { restoreFrom, type Source } from "./compose/restore-from.ts";
import { SyncController, type SyncControllerOptions } from "./replication/folder/sync/sync-controller.ts";

/** The composition root of a store on this machine. */

/** Opens a store on this machine. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export async function openStore(options: StoreOptions): Promise<StoreApi> {
  return openAt(options, { once: false });
}

/**
 * Opens a store for a process that makes one call and then ends. Closing the store may leave its databases open (see
 * `leftOpen`). Acknowledged changes are durable all the same, and closing the store signs them.
 */
export async function openStoreOnce(options: StoreOptions): Promise<StoreApi> {
  return openAt(options, { once: true });
}

async function openAt(options: StoreOptions, how: { readonly once: boolean }): Promise<StoreApi> {
  refuseWindows();
  const { backends, end, ...place } = storePlace(options, how);
  const store = await openFileStore({ ...options, ...place }, backends).catch((error: unknown) => {
    end();
    throw error;
  });
  const close = store.close.bind(store);
  store.close = async () => {
    try {
      await close();
    } finally {
      end();
    }
  };
  return store;
}

function refuseWindows(): void {
  if (process.platform !== "win32") return;
  throw new ChronicleError("PLATFORM_UNSUPPORTED", "Chronicle does not run on Windows", { hint: "use it inside WSL" });
}

/** Opens a store of records. Begins the store if there is none. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export async function openRecordStore(options: RecordStoreOptions): Promise<StandaloneRecordStoreApi> {
  refuseWindows();
  return openFileRecordStore(options, nodeBackends());
}

/** Returns the acceptor of a store's replicas. `onError` receives errors on this side of a connection. */
export function openReplicaAcceptor(store: StoreApi, onError: (error: unknown) => void): ReplicaAcceptor {
  return openAcceptor(partsOf(store), onError);
}

/**
 * Runs, in this process, the syncs of a store on this machine. `onError` receives errors that no caller waits for. In a
 * process that an agent or a run started, starting a sync with `withProtected` throws `FORBIDDEN`. Throws
 * `PLATFORM_UNSUPPORTED` for a store on a server.
 */
export function openSyncs(store: StoreApi, onError: (error: unknown) => void): SyncController {
  return syncsOf(store, { onError, refuseSecrets: () => refuseAgent(store, "withProtected") });
}

/** Runs the syncs in a server. The server itself decides whether a caller may sync protected files. */
export function openServedSyncs(store: StoreApi, onError: (error: unknown) => void): SyncController {
  return syncsOf(store, { onError });
}

function syncsOf(store: StoreApi, how: Pick<SyncControllerOptions, "onError" | "refuseSecrets">): SyncController {
  const places = new FileSyncPlaces(store, partsOf(store));
  return new SyncController({ places, now: () => Date.now(), random: Math.random, ...how });
}

async function refuseAgent(store: StoreApi, what: string): Promise<void> {
  // A run sets this variable for its command. A process that has left its parents (`setsid`) still has the variable.
  // oxlint-disable-next-line node/no-process-env
  if (process.env[ROLE_VARIABLE] !== "agent" && (await startedWithin(store)) === undefined) return;
  throw new ChronicleError("FORBIDDEN", `an agent may not do this: ${what}`, { hint: WHO_CAN });
}

/**
 * Returns the origin that a workspace follows, or `undefined` if it follows none. Throws `PLATFORM_UNSUPPORTED` for a
 * store on a server.
 */
export function findOrigin(store: StoreApi, workspaceId: string): Promise<KnownOrigin | undefined> {
  return new FileSyncPlaces(store, partsOf(store)).originOf(workspaceId);
}

/** Returns what `unforget` can bring back: forgotten histories, and the parts of histories that were given up. */
export function listForgotten(store: StoreApi): readonly ForgottenShape[] {
  return forgottenIn(partsOf(store));
}

/**
 * Brings back a forgotten history, or a part of a history that was given up. `id` is the history's id, a unique prefix
 * of this id, or the history's name. Throws `NOT_FOUND` if nothing matches, `AMBIGUOUS` if several match, and `UNSAFE`
 * if another history has taken its folder or its name.
 */
export function unforget(store: StoreApi, id: string): Promise<WorkspaceShape> {
  return withCode(async () => {
    const back = await unforgetWorkspace(partsOf(store), id);
    const shape = (await store.workspaces()).find((one) => one.id === back);
    if (shape !== undefined) return shape;
    throw new ChronicleError("NOT_FOUND", `${back} was brought back, and forgotten again meanwhile`);
  });
}

/**
 * Writes the whole history of a workspace into one file, the archive. `id` is the workspace's id, its name, or a unique
 * prefix of its id. Throws `REFUSED` if the file exists or if the history is not signed, and `BLOB_MISSING` if a
 * content is missing. In a process that an agent or a run started, throws `FORBIDDEN` if `options` ask for the key,
 * secrets or private contents. If the export fails, no file is left.
 */
export function exportArchive(store: StoreApi, id: string, options: ExportOptions): Promise<ExportShape> {
  return withCode(async () => {
    const { withKey = false, withProtected = false, withPrivate = false } = options;
    if (withKey || withProtected || withPrivate) await refuseAgent(store, "export with secrets");
    const workspace = await store.openById(id, { readOnly: true });
    await workspace.close();
    return exportOf(partsOf(store), workspace.id, options);
  });
}

/**
 * Imports an archive that `exportArchive` has written. The imported workspace has no folder; `init` with `adopt` gives
 * it a folder. Throws `INTEGRITY_VIOLATION` if the archive is damaged, and `REFUSED` if the store already has a
 * workspace with the same id or name, or if `to` or `useKey` cannot be met. If the import fails, nothing is left. In a
 * process that an agent or a run started, throws `FORBIDDEN`.
 */
export function importArchive(store: StoreApi, options: ImportArchiveOptions): Promise<ImportArchiveShape> {
  return withCode(async () => {
    await refuseAgent(store, "import");
    return importOf(partsOf(store), options);
  });
}

/**
 * Returns the open work in this store that started the process `pid` (default: this process): an agent's session, an
 * action or a run. With `agents` as `whose`, runs do not count. Returns `undefined` if there is no such work.
 */
export function startedWithin(store: StoreApi, whose?: Around, pid?: number): Promise<WorkAround | undefined> {
  return workAround(partsOf(store), whose, pid);
}

/**
 * Returns the id of the workspace that `open` would open for an absolute folder. Returns `undefined` if there is no
 * such workspace, and also if the workspace's folder was moved or is bind-mounted here.
 */
export function findAround(store: StoreApi, folder: string): Promise<string | undefined> {
  return workspaceAround(partsOf(store), folder);
}

/** Checks the permissions in a store, even in a store that cannot be opened. */
export function checkAccess(places: Pick<StoreOptions, "home" | "configFolder" | "userHome">): DoctorCheck {
  return accessCheck(nodeDisk, places);
}

/** Returns the place at a path from which a repair takes good bytes: a store, or a folder of files. */
export function repairPlaceAt(path: string): RepairPlace {
  return nodeBackends().isStore(path) ? { store: path } : { folder: path };
}

/** Fills an empty folder on this machine with files of a workspace on a server (see `restore-from.ts`). */
export async function restoreHere(
  source: Source,
  moment: string,
  options: RestoreOptions & { readonly to: string },
): Promise<RestoreShape> {
  refuseWindows();
  return restoreFrom(source, moment, options, nodeBackends());
}

/** Opens one workspace. Closing the workspace closes its store. Throws `PLATFORM_UNSUPPORTED` on Windows. */
export async function open(options: StoreOptions & OpenOptions): Promise<WorkspaceApi> {
  const store = await openStore(options);
  try {
    const workspace = await store.open(options);
    const close = workspace.close.bind(workspace);
    workspace.close = async () => {
      try {
        await close();
      } finally {
        await store.close();
      }
    };
    return workspace;
  } catch (error) {
    await store.close();
    throw error;
  }
}
