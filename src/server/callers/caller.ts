import type { Role } from "../../api/routes/role.ts";

/** A known caller. */
export interface Caller {
  /** Tells callers apart: for limits, and for the keys of repeated requests. No secret. */
  readonly id: string;
  /** The name shown to people: a token's name. */
  readonly name: string;
  readonly role: Role;
  /** The ids and names of the workspaces visible to this caller; absent: all. */
  readonly workspaces?: readonly string[];
  /** The ids of replicas that it may use, no matter whose they were before. */
  readonly replicas?: readonly string[];
  /** True for the owner of the store, on its Unix socket: no limits, and hooks. */
  readonly isOwner: boolean;
}

/** The caller on the store's own Unix socket: only its owner can connect there. */
export const OWNER: Caller = { id: "owner", name: "owner", role: "operator", isOwner: true };
