import type { WorkspaceShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Caller } from "./caller.ts";
import type { Lease, OpenWorkspaces } from "./open-workspaces.ts";

/** Matches an id. A name never has this form. */
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Matches every valid id or name (see `CreateOptions`). */
const KEY = /^[A-Za-z0-9._:@-]{1,128}$/;

/** Returns true if the caller may see the workspace: its token has the id or the name, or is for all workspaces. */
export function seesShape({ workspaces }: Caller, { id, name }: WorkspaceShape): boolean {
  return workspaces === undefined || workspaces.includes(id) || (name !== undefined && workspaces.includes(name));
}

/**
 * Opens the workspace `key` (a whole id or an exact name) for a caller. Throws the same `NOT_FOUND` for a workspace
 * that does not exist and for one that the caller may not see.
 */
export async function openFor(workspaces: OpenWorkspaces, caller: Caller, key: string): Promise<Lease> {
  if (!KEY.test(key)) throw notThere(key);
  if (!(await mayAskFor(workspaces, caller, key))) throw notThere(key);
  try {
    return await workspaces.openKey(key);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") throw notThere(key);
    throw error;
  }
}

/** Returns the id of the workspace `key`. Throws `NOT_FOUND` in the same cases as `openFor`. */
export async function mustSee(workspaces: OpenWorkspaces, caller: Caller, key: string): Promise<string> {
  using lease = await openFor(workspaces, caller, key);
  return lease.workspace.id;
}

async function mayAskFor(workspaces: OpenWorkspaces, { workspaces: own }: Caller, key: string): Promise<boolean> {
  if (own === undefined || own.includes(key)) return true;
  // If the token has a name while `key` is an id, open the workspace of that name, and compare its id with `key`. If
  // the token has an id while `key` is a name, the match is found only if the workspace was opened by this name before.
  for (const mine of own) if (ID.test(mine) !== ID.test(key) && (await isSame(workspaces, mine, key))) return true;
  return false;
}

async function isSame(workspaces: OpenWorkspaces, mine: string, key: string): Promise<boolean> {
  if (workspaces.idOf(mine) === workspaces.idOf(key)) return true;
  if (!ID.test(key)) return false;
  try {
    using lease = await workspaces.openKey(mine);
    return lease.workspace.id === key;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "NOT_FOUND") return false;
    throw error;
  }
}

function notThere(key: string): ChronicleError {
  const shown = KEY.test(key) ? key : "of this name";
  return new ChronicleError("NOT_FOUND", `there is no workspace ${shown}`, {
    hint: "give a whole id or an exact name from the list of workspaces",
  });
}
