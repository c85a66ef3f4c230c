import type { ReplicaAcceptor } from "../api/replication-api.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { SyncRunner } from "../api/sync-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { Disk } from "../disk/disk.ts";
import type { PortPlace } from "../server/http-server.ts";
import type { ServerLimits } from "../server/limits/limits.ts";
import type { OidcOptions } from "../server/callers/oidc.ts";
import type { RunFolder } from "./run-folder.ts";

type OnError = (error: unknown) => void;

/** A port to listen on, and the host names it answers to. */
export interface PortPlan {
  readonly place: PortPlace;
  readonly hosts: readonly string[];
  readonly sharedWith: readonly string[];
  /** True if this address is only used where the machine has it: IPv6's loopback. */
  readonly optional?: true;
}

/** A provider whose tokens are accepted. */
export type OidcPlan = Omit<OidcOptions, "now" | "newKeyMs">;

/** The options of the one long-lived process of a store. */
export interface ServeOptions {
  readonly store: StoreApi;
  readonly configFolder: string;
  /** `HOME`, if known. */
  readonly userHome?: string;
  readonly disk: Disk;
  readonly run: RunFolder;
  readonly version: string;
  /** The process leaves after this many milliseconds without a request; 0: it stays. */
  readonly idleMs: number;
  readonly ports: readonly PortPlan[];
  /** Needed with ports. */
  readonly operatorToken?: string;
  /** A further provider whose tokens are accepted. */
  readonly oidc?: OidcPlan;
  /** True if everybody who may connect may read the metrics. */
  readonly metricsPublic?: boolean;
  /** The counts of what the store has recorded, by its `onCommit`. */
  readonly recorded?: { readonly commits: number; readonly events: number };
  /** A folder to host; its history is begun if there is none. */
  readonly folder?: string;
  /**
   * Number of the store's folders that are watched all the time, beside `folder` (default 32). A process that leaves
   * when idle watches none.
   */
  readonly watchMost?: number;
  /** Loads the code that serves replicas. Absent: none are served. */
  readonly replicaAcceptor?: (onError: OnError) => Promise<ReplicaAcceptor>;
  /** Loads the code that runs the store's syncs. Absent: this process runs none. */
  readonly syncs?: (onError: OnError) => Promise<SyncRunner>;
  readonly limits?: Partial<ServerLimits>;
  /** Takes a line of the diagnostics that could not be written to the store's disk. */
  readonly onUnwritten?: (line: string) => void;
  /** Called once every caller can be answered. */
  readonly onListening: (urls: readonly string[]) => void;
  /** Called once the folder is hosted, or with the error if it is not. */
  readonly onFolder?: (hosted: WorkspaceApi | Error) => void;
  /** Called with the number of folders watched from the start, and the number beyond the limit. */
  readonly onWatching?: (watched: number, left: number) => void;
}
