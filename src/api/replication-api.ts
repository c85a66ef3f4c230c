import type { Socket } from "node:net";
import type { WorkspaceApi } from "./workspace-api.ts";

/**
 * The interface through which a server serves replicas. The server admits a connection and says who it is from; the
 * implementation of `ReplicaAcceptor` leads the conversation.
 */

/**
 * The members of the package `ws`'s `WebSocket` that are used. They are declared here, since these types are published
 * and that package is bundled.
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

/** An admitted connection, from which nothing has been read. */
export type ReplicaConnection =
  | { readonly kind: "socket"; readonly socket: Socket }
  | { readonly kind: "web-socket"; readonly socket: OpenWebSocket };

/** A workspace, open for as long as a replica is served from it. */
export interface ReplicaPlace extends Disposable {
  readonly workspace: WorkspaceApi;
  /** Aborts when the workspace is archived or removed: replicas that are served from it have to leave. */
  readonly gone: AbortSignal;
}

/** The caller that connects a replica. */
export interface ReplicaPresenter {
  /** Identifies the caller. Not a secret. */
  readonly id: string;
  /** True if the caller may connect any replica. */
  readonly isOperator: boolean;
  /** Ids of the replicas that its token was made for, whoever owned them before. */
  readonly replicas: readonly string[];
}

/** The server's knowledge about a replica's connection. */
export interface ReplicaAdmission {
  /**
   * Opens the workspace that the replica asks for by id or name, or the default one. Throws `NOT_FOUND` for a workspace
   * that this caller may not see, `AMBIGUOUS` if it must be named.
   */
  place(asked: string | undefined): Promise<ReplicaPlace>;
  /** The caller that connects the replica. A replica belongs to its first caller from then on. */
  readonly presenter: ReplicaPresenter;
  /** True if the replica may not write back. */
  readonly readOnly: boolean;
  /** Replaces the actor of changes that name a person, or Chronicle itself. `undefined`: changes may name any actor. */
  readonly actor?: string;
}

/** The load of replication. */
export interface ReplicaLoad {
  /** The number of connected replicas. */
  readonly replicas: number;
  /** The number of events that the replica furthest behind has not acknowledged. */
  readonly lag: number;
}

/** The origin's side: leads conversations with replicas. */
export interface ReplicaAcceptor {
  /**
   * Must be called in the turn of the event loop in which the connection opened, or its first messages may be lost.
   * Resolves when the conversation is over. Never rejects: errors of the peer are reported to it.
   */
  accept(connection: ReplicaConnection, admission: ReplicaAdmission): Promise<void>;
  load(): Promise<ReplicaLoad>;
  /** Accepts no more connections and ends the present ones. Resolves once every started batch is answered. */
  close(): Promise<void>;
}
