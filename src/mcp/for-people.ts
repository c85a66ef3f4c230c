import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";

type Attempt = (workspace: WorkspaceApi) => Promise<unknown>;

/**
 * What belongs to people, by the names under which an agent may look for it. There are no such tools; who calls one all
 * the same is refused by the engine, which records the attempt. (Each call would do no harm if it were let through.)
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
  // These are the store's or the machine's: a workspace has no such door.
  ["forget", undefined],
  ["stop", undefined],
]);

/** Is this a thing that only people may do? Clients' prefixes do not hide it. */
export function isForPeople(name: string): boolean {
  return FOR_PEOPLE.has(bare(name));
}

/** Has the attempt refused and recorded. Always throws, `FORBIDDEN` where a workspace could be opened. */
export async function refuseForPeople(workspace: () => Promise<WorkspaceApi>, name: string): Promise<never> {
  await FOR_PEOPLE.get(bare(name))?.(await workspace());
  throw new ChronicleError("FORBIDDEN", `${bare(name)} is not for an agent's connection`, {
    hint: "a person can do it on the command line",
  });
}

function bare(name: string): string {
  return name.replace(/^chronicle[_.-]+/, "").toLowerCase();
}
