import type { ReplicaPlace, ReplicaAdmission } from "../../api/replication-api.ts";
import { mayDo } from "../../api/routes/role.ts";
import type { StoreApi } from "../../api/store-api.ts";
import { ChronicleError, STARTING } from "../../core/values/errors.ts";
import type { Caller } from "../callers/caller.ts";
import type { OpenWorkspaces } from "../callers/open-workspaces.ts";
import { openFor, seesShape } from "../callers/scope.ts";
import { agentName } from "../../core/records/actor-name.ts";

/** The store and workspaces that replicas are served from. */
export interface ReplicaSetting {
  readonly store: Pick<StoreApi, "workspaces">;
  readonly workspaces: OpenWorkspaces;
  /** The workspace of the folder that the server was started in, once that is known. */
  readonly defaultWorkspace: () => Promise<string | undefined>;
}

/** Admits a caller as a replica. `named`: the workspace in the address. */
export function replicaAdmission(setting: ReplicaSetting, caller: Caller, named: string | undefined): ReplicaAdmission {
  const isOperator = mayDo(caller.role, "operator");
  return {
    readOnly: !mayDo(caller.role, "agent"),
    // An agent's changes must not be recorded as a person's.
    ...(isOperator ? {} : { actor: agentName(caller.name) }),
    presenter: { id: caller.id, isOperator, replicas: caller.replicas ?? [] },
    place: (asked) => inTime(placeOf(setting, caller, asked ?? named)),
  };
}

/** If opening a workspace takes longer than this, in milliseconds, the replica is told why it waits. */
const OPENING_MS = 5_000;

/** Gives a workspace back that is opened too late. It stays open for a while, since the replica comes again. */
async function inTime(opening: Promise<ReplicaPlace>): Promise<ReplicaPlace> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(starting());
    opening.then(
      (place) => place[Symbol.dispose](),
      // The replica is told the error when it comes again.
      () => undefined,
    );
  }, OPENING_MS);
  try {
    return await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}

function starting(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the server is starting: it opens the workspace", {
    hint: "it is tried again by itself, every few seconds: nothing is to be done",
    data: { about: STARTING },
  });
}

/**
 * Opens the workspace of a replica. If neither the replica nor the address names one, takes that of the server's own
 * folder, else the only one there is.
 */
async function placeOf(setting: ReplicaSetting, caller: Caller, named: string | undefined): Promise<ReplicaPlace> {
  if (named !== undefined) return openFor(setting.workspaces, caller, named);
  // The server may be about to begin the history of its folder: before that, it is no workspace.
  const own = await setting.defaultWorkspace();
  const seen = (await setting.store.workspaces()).filter((one) => seesShape(caller, one) && one.archived !== true);
  const [only, second] = seen.some(({ id }) => id === own) ? seen.filter(({ id }) => id === own) : seen;
  if (only === undefined) {
    const isBound = caller.workspaces !== undefined;
    throw new ChronicleError(
      "NOT_FOUND",
      isBound ? "no workspace that this token is for is there" : "there is no workspace to replicate",
      { hint: "on the origin's machine: start the server in the folder that is meant, or `workspaces create NAME`" },
    );
  }
  if (second === undefined) return openFor(setting.workspaces, caller, only.id);
  throw new ChronicleError("AMBIGUOUS", `the server has ${seen.length} workspaces`, {
    hint: "say which one is meant, by its id or name",
    data: { workspaces: seen.slice(0, MOST_LISTED).map(({ id, name }) => name ?? id) },
  });
}

const MOST_LISTED = 20;
