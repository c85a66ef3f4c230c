import type { Role } from "../../api/routes/role.ts";

/** The sender of a request, and the sender's rights. */
export interface Caller {
  /** Identifies the caller, for limits and idempotency keys. Not secret. */
  readonly id: string;
  /** The name that is shown to people, such as the name of the token. */
  readonly name: string;
  readonly role: Role;
  /** The ids and names of the workspaces that this caller may see. If absent, the caller may see all workspaces. */
  readonly workspaces?: readonly string[];
  /** The ids of replicas that this caller may connect even if another caller connected them before. Default: none. */
  readonly replicas?: readonly string[];
  /**
   * True for the owner of the store, on its Unix socket. Only the owner may call hooks and start syncs. The number and
   * the rate of the owner's requests are not limited, except for event streams and for replicas over WebSocket.
   */
  readonly isOwner: boolean;
  /** True for a page that the owner has opened with a one-time code. Such a page may also show and control syncs. */
  readonly isOfPage?: true;
}

/** The caller on the store's Unix socket. Only the owner can connect to this socket. */
export const OWNER: Caller = { id: "owner", name: "owner", role: "operator", isOwner: true };

/**
 * Returns the person whose marks (changes marked as looked at) a caller sees and sets. The socket and all pages of the
 * owner count as one person. `isForAgent`: the caller acts on behalf of an agent, which has marks of its own.
 */
export function personOf({ id, isOwner, isOfPage }: Caller, isForAgent: boolean): string | undefined {
  const person = isOwner || isOfPage === true ? undefined : id;
  return isForAgent ? `agent of ${person ?? OWNER.id}` : person;
}
