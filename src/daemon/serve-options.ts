import type { ReplicaAcceptor } from "../api/replication-api.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { SyncRunner } from "../api/sync-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import type { Disk } from "../disk/disk.ts";
import type { PortPlace } from "../server/http-server.ts";
import type { OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import type { ServerLimits } from "../server/limits/limits.ts";
import type { PageFiles } from "../server/page/page-routes.ts";
import type { OidcOptions } from "../server/callers/oidc.ts";
import type { ClientRuns } from "./client-runs.ts";
import type { CommandAnswer, CommandCall } from "./command-call.ts";
import type { RunFolder } from "./run-folder.ts";

type OnError = (error: unknown) => void;

/** A port on which the process listens, with its host names and allowed origins. */
export interface PortPlan {
  readonly place: PortPlace;
  readonly hosts: readonly string[];
  readonly sharedWith: readonly string[];
  /** True if the port offers the page. */
  readonly page?: true;
  /** True if a failure to listen is ignored. The machine may lack the address, such as the loopback address of IPv6. */
  readonly optional?: true;
}

/** The parts of the process that a command uses while the process carries it out. */
export interface PerformHost {
  readonly workspaces: OpenWorkspaces;
  readonly runs: ClientRuns;
  /** The progress of the commands under way, by the ids of their requests. */
  readonly progress: Map<string, string>;
  readonly onError: OnError;
}

export type OidcPlan = Omit<OidcOptions, "now" | "newKeyMs">;

export interface ServeOptions {
  readonly store: StoreApi;
  readonly configFolder: string;
  /** The user's home folder, if it is known. */
  readonly userHome?: string;
  readonly disk: Disk;
  readonly run: RunFolder;
  readonly version: string;
  /** Carries out a command of another process. If absent, this process carries out no commands of other processes. */
  readonly perform?: (call: CommandCall, host: PerformHost) => Promise<CommandAnswer>;
  /** The time without requests after which the process ends, in milliseconds; 0: the process keeps running. */
  readonly idleMs: number;
  readonly ports: readonly PortPlan[];
  /** The operator's token. Required if there are ports. */
  readonly operatorToken?: string;
  readonly oidc?: OidcPlan;
  /** True if the metrics can be read without a token. */
  readonly metricsPublic?: boolean;
  /**
   * The numbers of commits and events that the store has recorded. The caller updates them in the store's `onCommit`.
   */
  readonly recorded?: { readonly commits: number; readonly events: number };
  /**
   * The folder in which the server was started (see `HostedFolder`). If the folder has no history, a history is begun.
   */
  readonly folder?: string;
  /**
   * The maximum number of the store's folders, in addition to `folder`, that are watched all the time (default 32). A
   * process that ends when it is idle does not watch such folders.
   */
  readonly watchMost?: number;
  /** Loads the code that serves replicas. If absent, this process serves no replicas. */
  readonly replicaAcceptor?: (onError: OnError) => Promise<ReplicaAcceptor>;
  /** Loads the code that runs the store's syncs. If absent, this process runs no syncs. */
  readonly syncs?: (onError: OnError) => Promise<SyncRunner>;
  readonly limits?: Partial<ServerLimits>;
  /** The files of the page. Default: those of this installation. */
  readonly page?: PageFiles;
  /** Called with a line of the diagnostics that could not be written to the store's disk. */
  readonly onUnwritten?: (line: string) => void;
  /**
   * Called with the URLs of the ports when the process answers on its socket and all ports. `newCode` returns a new code
   * for the page.
   */
  readonly onListening: (urls: readonly string[], newCode: () => string) => void;
  /** Called with the workspace of `folder` once the workspace is open, or with the error if it cannot be opened. */
  readonly onFolder?: (hosted: WorkspaceApi | Error) => void;
  /**
   * Called once, when the folders to watch are chosen. `left` is the number of folders that are not watched because of
   * `watchMost`.
   */
  readonly onWatching?: (watched: number, left: number) => void;
}
