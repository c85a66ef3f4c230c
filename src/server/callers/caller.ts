import type { Role } from "../../api/routes/role.ts";

/** The sender of a request, and the sender's rights. */
export interface Caller {
  /** Identifies the caller, for limits and idempotency keys. It is not secret. */
  readonly id: string;
  /** The name that people are shown: that of the token. */
  readonly name: string;
  readonly role: Role;
  /** The ids and names of the workspaces that this caller may see. Default: all. */
  readonly workspaces?: readonly string[];
  /** The ids of replicas that this caller may present, even if another caller presented them before. */
  readonly replicas?: readonly string[];
  /**
   * True for the owner of the store, on its Unix socket. The owner may call hooks. The owner's requests are not
   * limited, except streams of events.
   */
  readonly isOwner: boolean;
}

/** The caller on the store's Unix socket, to which only the owner can connect. */
export const OWNER: Caller = { id: "owner", name: "owner", role: "operator", isOwner: true };
