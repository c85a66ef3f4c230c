import type { ConflictShape } from "../../../api/conflict-shape.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Channel } from "../../channel.ts";
import type { FolderSyncParts } from "./folder-sync.ts";

/** A folder that follows an origin, or once did, as its log says. */
export interface SyncPlace {
  /** The id of its workspace. */
  readonly id: string;
  /** Absolute. */
  readonly folder: string;
  /** The record of its sync; `undefined` if the workspace has never followed an origin, as when it was just begun. */
  readonly record: ReplicaRecord | undefined;
  /** Open conflicts with the origin. */
  readonly conflicts: readonly ConflictShape[];
}

/** A place that is open for its sync: no other process runs it. */
export interface OpenSyncPlace extends AsyncDisposable, Pick<SyncPlace, "id" | "folder" | "record"> {
  readonly parts: Pick<
    FolderSyncParts,
    "context" | "mirror" | "session" | "identity" | "nameRules" | "apart" | "watchOwn" | "beforeMove"
  >;
  /** Resolves to the conflicts with the origin that are open now. */
  conflicts(): Promise<ConflictShape[]>;
}

/** Options for beginning the workspace of a folder. */
export interface BeginOptions {
  readonly force?: boolean;
  /** The origin to follow, as asked for. `answered`: the id of the workspace there, if the origin has answered. */
  readonly follows?: Pick<ReplicaRecord, "url" | "workspace"> & { readonly answered?: string };
}

/** The address of an origin, and the token to ask it with. */
export interface AskedOrigin extends Pick<ReplicaRecord, "url" | "workspace"> {
  readonly token?: string | undefined;
}

/** The folders of a store that follow origins, and the means to reach those. */
export interface SyncPlaces {
  /** Returns the folders that have a sync, stopped ones too. */
  list(): Promise<SyncPlace[]>;
  /**
   * Returns the id of the workspace of this folder; makes and begins one if there is none. Throws as `StoreApi.init`.
   * Without `force`, throws `UNSAFE` also for folders of the system. With `follows`, throws `UNSAFE` also for a folder
   * within another one that follows the same origin, and, if `answered` is a workspace of this store, for one that is,
   * contains or lies in the folder of that workspace.
   */
  begin(folder: string, options?: BeginOptions): Promise<string>;
  /** Opens a place for its sync. Throws `LOCKED` if another process runs the sync, `NOT_FOUND`. */
  open(id: string): Promise<OpenSyncPlace>;
  /** Keeps the token that a sync's origin is asked with; `undefined` removes it. */
  keepToken(id: string, token: string | undefined): void;
  /** Returns the place of this folder; `undefined` if it has none. */
  find(folder: string): Promise<SyncPlace | undefined>;
  /** Returns the token that is kept for a sync. */
  tokenOf(id: string): string | undefined;
  /** Connects to an origin that no sync follows yet; rejects as `dialOrigin`. */
  dial(asked: AskedOrigin, signal: AbortSignal): Promise<Channel>;
  /** Connects to the origin of a sync; rejects as `dialOrigin`. */
  connect(id: string, record: Pick<ReplicaRecord, "url" | "workspace">, signal: AbortSignal): Promise<Channel>;
}
