import type { ReplicaDoor } from "../api/replication-api.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { SyncRunner } from "../api/sync-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { Disk } from "../disk/disk.ts";
import type { PortPlace } from "../server/http-server.ts";
import type { ServerLimits } from "../server/limits/limits.ts";
import type { OidcOptions } from "../server/callers/oidc.ts";
import type { RunFolder } from "./run-folder.ts";

type OnError = (error: unknown) => void;

/** A port to listen on, and by which names it may be asked. */
export interface PortPlan {
  readonly place: PortPlace;
  readonly hosts: readonly string[];
  readonly sharedWith: readonly string[];
  /** True if this address is only used where the machine has it: IPv6's loopback. */
  readonly optional?: true;
}

/** A provider whose tokens are taken. */
export type OidcPlan = Omit<OidcOptions, "now" | "newKeyMs">;

/** The options of the one long-lived process of a store. */
export interface ServeOptions {
  readonly store: StoreApi;
  readonly configFolder: string;
  /** `HOME`, as far as it is known. */
  readonly userHome?: string;
  readonly disk: Disk;
  readonly run: RunFolder;
  readonly version: string;
  /** Leave after this many milliseconds without a request; 0: stay. */
  readonly idleMs: number;
  readonly ports: readonly PortPlan[];
  /** Needed with ports. */
  readonly operatorToken?: string;
  /** A provider whose tokens are taken, too. */
  readonly oidc?: OidcPlan;
  /** True if everybody who may connect may read the metrics. */
  readonly metricsPublic?: boolean;
  /** What the store has recorded, counted by its `onCommit`. */
  readonly recorded?: { readonly commits: number; readonly events: number };
  /** A folder to host, whose history is begun where there is none. */
  readonly folder?: string;
  /**
   * Number of the store's folders that are watched all the time, beside `folder` (default 32). A process that leaves
   * when idle watches none.
   */
  readonly watchMost?: number;
  /** Loads the code that serves replicas. Absent: none are served. */
  readonly replicaDoor?: (onError: OnError) => Promise<ReplicaDoor>;
  /** Loads the code that runs the store's syncs. Absent: this process runs none. */
  readonly syncs?: (onError: OnError) => Promise<SyncRunner>;
  readonly limits?: Partial<ServerLimits>;
  /** Takes a line of the diagnostics that the store's disk does not take. */
  readonly onUnwritten?: (line: string) => void;
  /** Called when everybody can be answered. */
  readonly onListening: (urls: readonly string[]) => void;
  /** Called when the folder is hosted, or with why it is not. */
  readonly onFolder?: (hosted: WorkspaceApi | Error) => void;
  /** Called when it is known how many folders are watched from the start, and how many there are beyond the most. */
  readonly onWatching?: (watched: number, left: number) => void;
}
