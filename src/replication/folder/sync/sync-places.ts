import type { ConflictShape } from "../../../api/conflict-shape.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Channel } from "../../channel.ts";
import type { FolderSyncParts } from "./folder-sync.ts";

/** A folder that follows an origin, or has followed one, according to its log. */
export interface SyncPlace {
  readonly id: string;
  /** The absolute path of the folder. */
  readonly folder: string;
  /** `undefined` if the workspace has never followed an origin, for instance because it is new. */
  readonly record: ReplicaRecord | undefined;
  readonly conflicts: readonly ConflictShape[];
}

/** A place that is open for its sync. While the place is open, no other process can run the sync. */
export interface OpenSyncPlace extends AsyncDisposable, Pick<SyncPlace, "id" | "folder" | "record"> {
  readonly parts: Pick<
    FolderSyncParts,
    "context" | "mirror" | "session" | "identity" | "nameRules" | "apart" | "watchOwn" | "beforeMove"
  >;
  conflicts(): Promise<ConflictShape[]>;
}

export interface BeginOptions {
  readonly force?: boolean;
  /** The requested origin. `answered` is the id of the origin's workspace, if the origin has answered. */
  readonly follows?: Pick<ReplicaRecord, "url" | "workspace"> & { readonly answered?: string };
}

export interface AskedOrigin extends Pick<ReplicaRecord, "url" | "workspace"> {
  readonly token?: string | undefined;
}

export interface SyncPlaces {
  /** Returns the folders that have a sync. Stopped syncs are included. */
  list(): Promise<SyncPlace[]>;
  /**
   * Returns the id of the folder's workspace. Creates the workspace if there is none. Throws as `StoreApi.init` does,
   * and `USAGE` for a single file. Throws `UNSAFE` in these cases:
   * - the folder is a system folder, and `force` is not set;
   * - the folder lies in another folder that follows the same origin (`follows`);
   * - `answered` is a workspace of this store whose folder is, contains, or lies in the given folder.
   */
  begin(folder: string, options?: BeginOptions): Promise<string>;
  /** Throws `LOCKED` if another process runs the sync, and `NOT_FOUND` if there is no such place. */
  open(id: string): Promise<OpenSyncPlace>;
  /** Keeps the token of a sync. If `token` is `undefined`, removes the kept token. */
  keepToken(id: string, token: string | undefined): void;
  find(folder: string): Promise<SyncPlace | undefined>;
  tokenOf(id: string): string | undefined;
  /** Connects to an origin that no sync follows yet. Rejects as `dialOrigin` does. */
  dial(asked: AskedOrigin, signal: AbortSignal): Promise<Channel>;
  /** Connects to the origin of a sync. Rejects as `dialOrigin` does. */
  connect(id: string, record: Pick<ReplicaRecord, "url" | "workspace">, signal: AbortSignal): Promise<Channel>;
}
