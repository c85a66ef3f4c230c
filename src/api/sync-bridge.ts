import { ChronicleError } from "../core/values/errors.ts";
import { upstreamUrl } from "../core/text/upstream-url.ts";
import type { SyncApi, SyncResolution, SyncShape, SyncState, SyncStart } from "./sync-api.ts";

/** The state of the sync of a session, for a desktop client. */
export interface SyncStatus {
  readonly state: SyncState;
  /** The origin's address; `null` until the process that runs the sync has reached the origin. */
  readonly peer: string | null;
  /** The number of the origin's events that are not yet applied to the folder. */
  readonly lag: number;
  /** The number of the folder's changes to which the origin has not yet replied. */
  readonly pending: number;
  /** The number of open conflicts. */
  readonly conflicts: number;
}

/** A person's decision about a conflict. */
export type ConflictResolution = "keep_local" | "accept_upstream" | "merge";

/**
 * The sync interface for a desktop client. A *session* is a workspace of the origin, identified by its name or id. A
 * session is synced to one folder. The methods have the names and the arguments of the client's own commands.
 */
export interface SyncBridge {
  /**
   * Starts a sync of the session with the absolute folder `local_dir`. Throws the errors of `SyncApi.start`. Also
   * throws `REFUSED` while the session is synced to another folder.
   */
  readonly start_sync: (session_id: string, local_dir: string) => Promise<void>;
  /**
   * Stops the sync of the session. This and the following methods throw `NOT_FOUND` for a session that is not synced to
   * a folder.
   */
  readonly stop_sync: (session_id: string) => Promise<void>;
  readonly sync_status: (session_id: string) => Promise<SyncStatus>;
  /**
   * Settles the open conflict at `path`. `path` must be as the conflict names it. Throws the errors of
   * `SyncApi.resolve`, such as `REFUSED` if the resolution is `merge` and the sides do not merge. Throws `USAGE` for an
   * unknown resolution.
   */
  readonly resolve_conflict: (session_id: string, path: string, resolution: ConflictResolution) => Promise<void>;
}

/** Options of a `SyncBridge`: the syncs, the address of the origin, and the settings of each sync that it starts. */
export interface SyncBridgeOptions extends Omit<SyncStart, "workspace" | "folder"> {
  /** The result of `openSyncs`, or `client.syncs` of a client of the store's process. */
  readonly syncs: SyncApi;
}

const KEPT: Readonly<Record<ConflictResolution, SyncResolution["keep"]>> = {
  keep_local: "local",
  accept_upstream: "upstream",
  merge: "merge",
};

/** Returns a `SyncBridge`. Its sessions are the workspaces of the origin `upstream`. */
export function syncBridge({ syncs, ...start }: SyncBridgeOptions): SyncBridge {
  const isOf = (session: string, sync: SyncShape): boolean =>
    sync.upstream === upstreamUrl(start.upstream) && (sync.workspace === session || sync.asked === session);
  const allOf = async (session: string): Promise<SyncShape[]> =>
    (await syncs.list()).filter((one) => isOf(session, one));
  const find = async (session: string): Promise<SyncShape> => {
    const all = await allOf(session);
    const found = all.find(({ state }) => state !== "stopped") ?? all[0];
    if (found !== undefined) return found;
    throw new ChronicleError("NOT_FOUND", `session ${session} is synced to no folder`, {
      hint: "start_sync(session_id, local_dir) starts a sync",
      data: { session },
    });
  };
  const isAt = async ({ id, folder }: SyncShape, asked: string): Promise<boolean> =>
    folder === asked || (await idAt(syncs, asked)) === id;
  return {
    start_sync: async (session_id, local_dir) => {
      const live = (await allOf(session_id)).find(({ state }) => state !== "stopped");
      if (live !== undefined && !(await isAt(live, local_dir))) throw elsewhere(session_id, live.folder);
      await syncs.start({ ...start, workspace: session_id, folder: local_dir });
    },
    stop_sync: async (session_id) => {
      await syncs.stop((await find(session_id)).id);
    },
    sync_status: async (session_id) => {
      const { state, peer, lag, pending, conflicts } = await find(session_id);
      return { state, peer, lag, pending, conflicts };
    },
    resolve_conflict: async (session_id, path, resolution) => {
      const keep = Object.hasOwn(KEPT, resolution) ? KEPT[resolution] : undefined;
      if (keep === undefined) {
        throw new ChronicleError("USAGE", `${resolution} is not a way to settle a conflict`, {
          hint: `give one of: ${Object.keys(KEPT).join(", ")}`,
        });
      }
      await syncs.resolve((await find(session_id)).id, path, { keep });
    },
  };
}

/**
 * Returns the id of the folder's sync; `undefined` if the folder has no sync. `folder` may also be a link to the synced
 * folder, because the process that runs the syncs resolves links.
 */
async function idAt(syncs: SyncApi, folder: string): Promise<string | undefined> {
  try {
    return (await syncs.status(folder)).id;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

function elsewhere(session: string, folder: string): ChronicleError {
  return new ChronicleError("REFUSED", `session ${session} is synced to ${folder}`, {
    hint: "to sync the session to another folder, first call stop_sync(session_id)",
    data: { session, folder },
  });
}
