import type { Socket } from "node:net";
import type { WorkspaceApi } from "./workspace-api.ts";

// This file is the interface through which a server serves replicas. The server admits a connection and identifies the
// caller. The implementation of `ReplicaAcceptor` exchanges the messages with the replica.

/**
 * The members of `WebSocket` (of the package `ws`) that Chronicle uses. They are declared here, because the types in
 * this file are published. Users of the published types do not have the package `ws`, because it is bundled.
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

/** An admitted connection. Nothing has been read from it yet. */
export type ReplicaConnection =
  | { readonly kind: "socket"; readonly socket: Socket }
  | { readonly kind: "web-socket"; readonly socket: OpenWebSocket };

/** An open workspace from which a replica is served. Disposal releases the workspace. */
export interface ReplicaPlace extends Disposable {
  readonly workspace: WorkspaceApi;
  /** Aborts when the workspace is archived or removed. Connections with replicas of this workspace must then end. */
  readonly gone: AbortSignal;
}

/** The caller that connects a replica. */
export interface ReplicaPresenter {
  /** An id of the caller. The id is not a secret. */
  readonly id: string;
  /** True if the caller may connect any replica. */
  readonly isOperator: boolean;
  /**
   * The ids of the replicas for which the token of the caller was made. The caller may connect these replicas even if
   * they belonged to another caller before.
   */
  readonly replicas: readonly string[];
}

/** The server's facts about the connection of a replica. */
export interface ReplicaAdmission {
  /**
   * Opens the workspace that the replica asks for. `asked` is the id or name of the workspace. Without `asked`, opens
   * the default workspace. Throws `NOT_FOUND` for a workspace that is unknown or that this caller may not see. Throws
   * `AMBIGUOUS` if there is no default, so that the replica must name a workspace.
   */
  place(asked: string | undefined): Promise<ReplicaPlace>;
  /** The caller that connects the replica. A replica belongs to the first caller that connects it. */
  readonly presenter: ReplicaPresenter;
  /** True if the replica may not write back. */
  readonly readOnly: boolean;
  /**
   * The actor that replaces a reserved name in the replica's changes. The names for people and for Chronicle, such as
   * `human` and `chronicle`, are reserved. Absent: all changes keep their actors.
   */
  readonly actor?: string;
}

/** The load of replication. */
export interface ReplicaLoad {
  /** The number of connected replicas. */
  readonly replicas: number;
  /** The largest number of events that a connected replica has not acknowledged. */
  readonly lag: number;
}

/** The origin's side of replication: exchanges messages with replicas. */
export interface ReplicaAcceptor {
  /**
   * Serves one connection. Must be called in the turn of the event loop in which the connection was opened. Otherwise,
   * the first messages may be lost. Resolves when the connection has ended. Never rejects, because errors that a
   * replica causes are reported to that replica.
   */
  accept(connection: ReplicaConnection, admission: ReplicaAdmission): Promise<void>;
  /** Returns the present load. */
  load(): Promise<ReplicaLoad>;
  /**
   * Accepts no more connections, and ends the open ones. Resolves once the replicas have an answer to every batch of
   * write-backs whose processing had begun.
   */
  close(): Promise<void>;
}
