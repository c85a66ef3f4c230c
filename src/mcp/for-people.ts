import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";

type Attempt = (workspace: WorkspaceApi) => Promise<unknown>;

/**
 * Operations that only people may do, by the names under which an agent may look for them. There are no such tools. If
 * an agent calls one all the same, the engine refuses it and records the attempt. (Each call would do no harm if it
 * were allowed.)
 */
const FOR_PEOPLE: ReadonlyMap<string, Attempt | undefined> = new Map<string, Attempt | undefined>([
  ["prune", (workspace) => workspace.prune({ dryRun: true })],
  ["erase", (workspace) => workspace.erase({ match: "/", dryRun: true })],
  ["unerase", (workspace) => workspace.unerase("no-such-id")],
  ["gc", (workspace) => workspace.gc()],
  ["compact", (workspace) => workspace.compact()],
  ["config", (workspace) => workspace.configure({})],
  ["configure", (workspace) => workspace.configure({})],
  ["pin", (workspace) => workspace.pin("no-such-id")],
  ["rebuild", (workspace) => workspace.rebuild()],
  // These concern the store or the machine: a workspace has no such method.
  ["forget", undefined],
  ["stop", undefined],
]);

/** True if only people may do this. Prefixes that clients add to the name are ignored. */
export function isForPeople(name: string): boolean {
  return FOR_PEOPLE.has(bare(name));
}

/** Makes the engine refuse and record the attempt. Always throws; `FORBIDDEN` if a workspace could be opened. */
export async function refuseForPeople(workspace: () => Promise<WorkspaceApi>, name: string): Promise<never> {
  await FOR_PEOPLE.get(bare(name))?.(await workspace());
  throw new ChronicleError("FORBIDDEN", `${bare(name)} is not for an agent's connection`, {
    hint: "a person can do it on the command line",
  });
}

function bare(name: string): string {
  return name.replace(/^chronicle[_.-]+/, "").toLowerCase();
}
