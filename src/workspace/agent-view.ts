import type { RecordStoreApi } from "../api/record-api.ts";
import type { ActingAs, VerifyOptions, WorkspaceApi } from "../api/workspace-api.ts";
import { WHO_CAN } from "../core/agents-role.ts";
import { ChronicleError } from "../core/errors.ts";
import { encodeRefused } from "../core/refused-record.ts";
import { withCommit } from "./commit.ts";
import type { Context } from "./context.ts";
import { archivedSince } from "./refuse-archived.ts";
import { refuseClaimedName } from "../core/actor-name.ts";

/** What an agent may not do: give up, free, move away or make anew what was recorded, or change what will be. */
const DENIED = [
  "prune",
  "pin",
  "compact",
  "gc",
  "configure",
  "rebuild",
  "acceptHead",
] as const satisfies readonly (keyof WorkspaceApi)[];

/** What is done under a name that the caller gives. */
const NAMED = [
  ...(["startSession", "snapshotAction", "action", "beginTransaction", "transaction"] as const),
  ...(["putFile", "makeFolder", "deleteFile", "moveFile"] as const),
] as const satisfies readonly (keyof WorkspaceApi)[];
type Named = (typeof NAMED)[number];

type Denied = (typeof DENIED)[number];

/** How much of the arguments of an attempt is kept. */
const MAX_DETAIL = 500;

/** The workspace as an agent gets it: what it may not do throws `FORBIDDEN`, and every attempt is recorded. */
export function agentView(workspace: WorkspaceApi, context: Context): WorkspaceApi {
  const refuse = async (what: string, args: readonly unknown[]): Promise<never> => {
    await recordRefusal(context, what, args);
    throw forbidden(what);
  };
  const records = (): RecordStoreApi =>
    onlyAllowed(workspace.records, ["compact", "migrate"], (name, args) => refuse(`records.${name}`, args));
  const as = (who: ActingAs): WorkspaceApi => {
    if (who.role === "person") throw forbidden("act as a person");
    refuseClaimedName(who.actor);
    return workspace.as({ ...who, role: "agent" });
  };
  // A repair reads wherever it is told to, and moves damaged files away.
  const verify = (options?: VerifyOptions): ReturnType<WorkspaceApi["verify"]> =>
    options?.repairFrom === undefined ? workspace.verify(options) : refuse("repair", options.repairFrom);
  return new Proxy(
    onlyAllowed(underOwnName(workspace), DENIED, (name: Denied, args) => refuse(name, args)),
    {
      get: (target, key) => {
        if (key === "records") return records();
        if (key === "verify") return verify;
        return key === "as" ? as : Reflect.get(target, key, target);
      },
    },
  );
}

/** The error for what only a person may do. */
export function forbidden(what: string): ChronicleError {
  return new ChronicleError("FORBIDDEN", `an agent may not do this: ${what}`, {
    hint: `${WHO_CAN}; the attempt was recorded (\`chronicle log --prefix refused:\`)`,
    data: { what },
  });
}

/** An agent's work is not told as a person's. */
function underOwnName(workspace: WorkspaceApi): WorkspaceApi {
  return new Proxy(workspace, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (!NAMED.includes(key as Named)) return value.bind(target) as unknown;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        for (const given of args) refuseClaimedName(actorIn(given));
        return (await Reflect.apply(value, target, args)) as unknown;
      };
    },
  });
}

function actorIn(given: unknown): string | undefined {
  const named = typeof given === "object" && given !== null && "actor" in given ? given.actor : undefined;
  return typeof named === "string" ? named : undefined;
}

function onlyAllowed<T extends object, K extends keyof T & string>(
  whole: T,
  denied: readonly K[],
  refuse: (name: K, args: readonly unknown[]) => Promise<never>,
): T {
  const own = new Map<PropertyKey, unknown>();
  for (const name of denied) own.set(name, (...args: readonly unknown[]) => refuse(name, args));
  return new Proxy(whole, {
    get: (target, key) => {
      if (own.has(key)) return own.get(key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
    set: (_, key, value) => {
      // What is denied stays denied; anything else may be wrapped by whoever hands it out.
      if (!(denied as readonly PropertyKey[]).includes(key)) own.set(key, value);
      return true;
    },
  });
}

/** A workspace that was opened to look only, or is archived, is not written to, not even for that. */
export async function recordRefusal(context: Context, what: string, args: readonly unknown[]): Promise<void> {
  if (context.readOnly || (await archivedSince(context)) !== undefined) return;
  const record = encodeRefused({
    what,
    actor: context.actor,
    at: new Date(context.now()).toISOString(),
    detail: (JSON.stringify(args) ?? "").slice(0, MAX_DETAIL),
  });
  await withCommit(context, (commit) =>
    commit.append([{ op: "upsert", recordId: `refused:${context.newId()}`, record }]),
  );
}
