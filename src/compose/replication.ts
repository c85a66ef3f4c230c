import type { OriginOptions } from "../replication/origin/origin-session.ts";
import type { Mirror } from "../replication/replica/mirror.ts";
import type { ReplicaOptions } from "../replication/replica/replica-session.ts";
import type { Context } from "../workspace/context.ts";

/** What joins the engine of a workspace to replication; made by `Origins` (`origins.ts`) and `openReplica` (`open-replica.ts`). */

/** A workspace that replicas follow, open in this process; all its sessions share it. Disposed of, it is let go. */
export interface OriginLease extends Disposable {
  /** The engine that accepts what replicas write back. */
  readonly context: Context;
  /** For `OriginSession`. */
  readonly options: Pick<OriginOptions, "history" | "contents" | "cursors" | "signedHead">;
}

/** A workspace that follows an origin, open in this process: the only one that does so, until it is disposed of. */
export interface ReplicaHold extends AsyncDisposable {
  /** The replica's own history and folder. */
  readonly context: Context;
  /** The origin's history as it is held here. */
  readonly mirror: Mirror;
  /** For `ReplicaSession`, with `sandboxId` (the workspace's id) and what else the caller brings. */
  readonly options: Pick<ReplicaOptions, "upstream" | "blobs" | "notes">;
}
