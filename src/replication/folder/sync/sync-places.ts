import type { ConflictShape } from "../../../api/conflict-shape.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Channel } from "../../channel.ts";
import type { FolderSyncParts } from "./folder-sync.ts";

/** A folder that follows an origin, or followed one, as its log tells of it. */
export interface SyncPlace {
  /** Of its workspace. */
  readonly id: string;
  /** Absolute. */
  readonly folder: string;
  /** The sync; `undefined`: it is a workspace that never was one. */
  readonly record: ReplicaRecord | undefined;
  /** Open conflicts with the origin. */
  readonly conflicts: readonly ConflictShape[];
}

/** A place that is open for its sync: nobody else runs it. */
export interface OpenSyncPlace extends AsyncDisposable, Pick<SyncPlace, "id" | "folder" | "record"> {
  readonly parts: Pick<
    FolderSyncParts,
    "context" | "mirror" | "session" | "identity" | "nameRules" | "apart" | "watchOwn" | "beforeMove"
  >;
  /** Open conflicts with the origin, as they are now. */
  conflicts(): Promise<ConflictShape[]>;
}

/** How a folder is begun. */
export interface BeginOptions {
  readonly force?: boolean;
  /** What it is to follow, as it was asked for; `answered`: the id of the workspace there, where that has answered. */
  readonly follows?: Pick<ReplicaRecord, "url" | "workspace"> & { readonly answered?: string };
}

/** Where an origin is, and with which token it is asked. */
export interface AskedOrigin extends Pick<ReplicaRecord, "url" | "workspace"> {
  readonly token?: string | undefined;
}

/** The folders of a store that follow origins, and the way to those. */
export interface SyncPlaces {
  /** Those that have a sync, stopped ones too. */
  list(): Promise<SyncPlace[]>;
  /**
   * The id of the workspace whose folder this is; made, and begun, where there is none. Throws as `StoreApi.init`; `UNSAFE`, too,
   * for folders of the system, without `force`, for those within another one that follows the same, and for those within or around the
   * origin's own folder, where that is of this store.
   */
  begin(folder: string, options?: BeginOptions): Promise<string>;
  /** Throws `LOCKED` where another process runs its sync, `NOT_FOUND`. */
  open(id: string): Promise<OpenSyncPlace>;
  /** Keeps the token that a sync's origin is asked with; `undefined`: none any more. */
  keepToken(id: string, token: string | undefined): void;
  /** The one of this folder; `undefined`: it has none. */
  find(folder: string): Promise<SyncPlace | undefined>;
  /** The token that is kept for a sync. */
  tokenOf(id: string): string | undefined;
  /** Connects to an origin that no sync follows yet; rejects as `dialOrigin`. */
  dial(asked: AskedOrigin, signal: AbortSignal): Promise<Channel>;
  /** Connects to the origin of a sync; rejects as `dialOrigin`. */
  connect(id: string, record: Pick<ReplicaRecord, "url" | "workspace">, signal: AbortSignal): Promise<Channel>;
}
