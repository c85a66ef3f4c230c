import type { Socket } from "node:net";
import type { WorkspaceApi } from "./workspace-api.ts";

/**
 * What a server needs to serve replicas, without knowing how that is done: it lets in and says who that is; the door leads
 * the conversation.
 */

/**
 * An open WebSocket: what is used of one of the package `ws`. Said here in full, since these types are published, and that package is
 * bundled.
 */
export interface OpenWebSocket {
  readonly readyState: number;
  readonly OPEN: number;
  readonly bufferedAmount: number;
  readonly isPaused: boolean;
  on(event: "message", listener: (data: Buffer | ArrayBuffer | Buffer[], isBinary: boolean) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "close", listener: (code: number) => void): unknown;
  send(
    data: Uint8Array,
    options: { readonly binary: boolean; readonly compress: boolean },
    done?: (error?: Error | null) => void,
  ): void;
  pause(): void;
  resume(): void;
  close(code?: number): void;
  terminate(): void;
}

/** A connection that was let in, of which nothing has been read. */
export type ReplicaConnection =
  | { readonly kind: "socket"; readonly socket: Socket }
  | { readonly kind: "web-socket"; readonly socket: OpenWebSocket };

/** A workspace, open for as long as a replica is served from it. */
export interface ReplicaPlace extends Disposable {
  readonly workspace: WorkspaceApi;
  /** It is archived or removed: whoever is served from it has to leave. */
  readonly gone: AbortSignal;
}

/** Who comes with a replica. */
export interface ReplicaPresenter {
  /** Tells callers apart. No secret. */
  readonly id: string;
  /** May come with every replica. */
  readonly isOperator: boolean;
  /** Replicas that its token was made for, whosever they were before. */
  readonly replicas: readonly string[];
}

/** Who a replica is, as the server knows it. */
export interface ReplicaAdmission {
  /**
   * The workspace that is meant, by the id or name that the replica asks for, or by none. Throws `NOT_FOUND` for what is not
   * there for this caller, `AMBIGUOUS` where it has to be named.
   */
  place(asked: string | undefined): Promise<ReplicaPlace>;
  /** As whom it comes: a replica is its own, from the first time on. */
  readonly presenter: ReplicaPresenter;
  /** May not write back. */
  readonly readOnly: boolean;
  /** By whom its changes are where they do not say it, or may not: `undefined`, they may say anything. */
  readonly actor?: string;
}

/** How much is going on. */
export interface ReplicaLoad {
  /** Replicas that are connected. */
  readonly replicas: number;
  /** Events that the one that is furthest behind has not acknowledged. */
  readonly lag: number;
}

/** The origin's side: leads conversations with replicas. */
export interface ReplicaDoor {
  /**
   * To be called in the turn in which the connection opened. Resolves when the conversation is over; never rejects: what a
   * peer does wrong is told to it.
   */
  accept(connection: ReplicaConnection, visitor: ReplicaAdmission): Promise<void>;
  load(): Promise<ReplicaLoad>;
  /** Takes no more, tells everybody, and resolves once every batch that was begun is answered. */
  close(): Promise<void>;
}
