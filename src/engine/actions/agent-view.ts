import { maskLine } from "../../core/shell/mask-secrets.ts";
import type { RecordStoreApi } from "../../api/record-api.ts";
import type { ActingAs, SnapshotOptions, VerifyOptions, WorkspaceApi } from "../../api/workspace-api.ts";
import { WHO_CAN } from "../../core/values/agents-role.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { decodeRefused, encodeRefused, REFUSED } from "../../core/records/refused-record.ts";
import { secretError } from "../../core/shell/secret-error.ts";
import { withCommit, archivedSince } from "../commit/commit.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";
import { memoKey } from "../log/memo.ts";
import { actionOfEvent } from "../facts/actions.ts";
import type { RefusalShape } from "../../api/action-shapes.ts";
import { protectedNames } from "../state/protected.ts";
import type { Classed } from "../../api/file-api.ts";
import { refuseClaimedName } from "../../core/records/actor-name.ts";
import { parseGivenPath } from "../log/known-paths.ts";

/**
 * Methods that an agent must not call. Each of these methods does one of the following:
 * - give up, free, move or rebuild recorded data
 * - change which data is kept or recorded, or which history is accepted
 */
const DENIED = [
  "prune",
  "erase",
  "unerase",
  "pin",
  "compact",
  "gc",
  "configure",
  "rebuild",
  "acceptHead",
] as const satisfies readonly (keyof WorkspaceApi)[];

/** Methods whose options name the actor. */
const NAMED = [
  ...(["startSession", "startTurn", "snapshotAction", "action", "beginTransaction", "transaction"] as const),
  ...(["putFile", "makeFolder", "deleteFile"] as const),
] as const satisfies readonly (keyof WorkspaceApi)[];
type Named = (typeof NAMED)[number];

type Denied = (typeof DENIED)[number];

/** The maximum length, in UTF-16 code units, of the arguments in the record of a refused attempt. */
const MAX_DETAIL = 500;

/**
 * Returns the workspace with the methods that an agent may call. A call of a denied method throws `FORBIDDEN`, and is
 * recorded. `context`: a context whose caller is the agent.
 */
export function agentView(workspace: WorkspaceApi, context: Context): WorkspaceApi {
  const refuse = async (what: string, args: readonly unknown[]): Promise<never> => {
    await recordRefusal(context, what, args);
    throw forbidden(what);
  };
  const records = (): RecordStoreApi =>
    onlyAllowed(workspace.records, ["compact", "migrate"], (name, args) => refuse(`records.${name}`, args));
  const as = (who: ActingAs): WorkspaceApi => {
    if (who.role === "person") throw forbidden("act as a person", WHO_CAN);
    refuseClaimedName(who.actor);
    return workspace.as({ ...who, role: "agent" });
  };
  // A repair is denied because it reads any place that the caller names, and moves damaged files away.
  const verify = (options?: VerifyOptions): ReturnType<WorkspaceApi["verify"]> =>
    options?.repairFrom === undefined ? workspace.verify(options) : refuse("repair", options.repairFrom);
  // Options that only a person may use are denied, too.
  const snapshot = (options?: SnapshotOptions): ReturnType<WorkspaceApi["snapshot"]> => {
    if (options?.acceptDeletions === true) return refuse("snapshot --accept-deletions", [options]);
    if (options?.onRecord !== undefined) return refuse("snapshot --on-record", [options]);
    return options?.pin === true ? refuse("pin", [options]) : workspace.snapshot(options);
  };
  const shown = withoutSecrets(workspace, context);
  return new Proxy(
    onlyAllowed(underOwnName(workspace), DENIED, (name: Denied, args) => refuse(name, args)),
    {
      get: (target, key) => {
        if (key === "records") return records();
        if (key === "verify") return verify;
        if (key === "snapshot") return snapshot;
        if (Object.hasOwn(shown, key)) return Reflect.get(shown, key);
        // Call `close` through the target, because the code that hands out the view may have replaced `close`.
        if (key === Symbol.asyncDispose) return () => target.close();
        return key === "as" ? as : Reflect.get(target, key, target);
      },
    },
  );
}

/** Returns the error of a denied call. The default `hint` says that the attempt was recorded. */
export function forbidden(
  what: string,
  hint = `${WHO_CAN}; the attempt was recorded (\`chronicle log --prefix refused:\`)`,
): ChronicleError {
  return new ChronicleError("FORBIDDEN", `an agent may not do this: ${what}`, { hint, data: { what } });
}

/**
 * The methods that are guarded: those that return the bytes of a file, and `moveFile`, which could give a secret an
 * ordinary name. `restore` with `to` needs no guard, because it leaves out secrets itself.
 */
type SecretGuards = Pick<WorkspaceApi, "file" | "cat" | "blob" | "blame" | "moveFile">;

function withoutSecrets(workspace: WorkspaceApi, context: Context): SecretGuards {
  return {
    file: async (path, options) => withoutBytes(await workspace.file(path, options), path),
    cat: async (path, iteration) => withoutBytes(await workspace.cat(path, iteration), path),
    blob: async (hash) => withoutBytes(await workspace.blob(hash), hash),
    blame: async (path, options) => {
      const found = await workspace.blame(path, options);
      if (found.class === "protected") throw secretError(path);
      return found;
    },
    moveFile: async (from, to, options) => {
      refuseClaimedName(options?.actor);
      const names = await answer(context, () => protectedNames(context));
      if (names.holds(parseGivenPath(from)) && !names.holds(parseGivenPath(to))) {
        await recordRefusal(context, "moveFile", [from, to]);
        throw secretError(from);
      }
      return workspace.moveFile(from, to, options);
    },
  };
}

/**
 * Returns the content. If the content is protected and not empty, reading its bytes from the result throws `FORBIDDEN`.
 */
function withoutBytes<T extends Classed & { readonly size: number; pieces(): AsyncIterable<Uint8Array> }>(
  content: T,
  what: string,
): T {
  if (content.class !== "protected" || content.size === 0) return content;
  const pieces = (): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(secretError(what)) }),
  });
  return { ...content, pieces };
}

/**
 * Returns the workspace with methods that refuse an actor's name that looks like the name of a person or of Chronicle.
 * An agent's work must not be recorded under such a name.
 */
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

/**
 * Returns a view of the object in which each denied method calls `refuse`. The holder of the view can replace any other
 * method by assigning a new one.
 */
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
      if (!(denied as readonly PropertyKey[]).includes(key)) own.set(key, value);
      return true;
    },
  });
}

function maskedText(_key: string, value: unknown): unknown {
  return typeof value === "string" ? maskLine(value) : value;
}

/** The refusals up to an event, so that only later records are read for the next list. */
interface KnownRefusals {
  readonly upTo: number;
  readonly hash: string;
  readonly all: readonly RefusalShape[];
}

const known = memoKey<KnownRefusals>("refusals");

/** The number of records that are read at once. */
const TOGETHER = 1_000;

/** Returns the refused attempts, oldest first. */
export async function listRefusals(context: Context): Promise<RefusalShape[]> {
  return (await knownRefusals(context)).map((one) => ({ ...one }));
}

async function knownRefusals(context: Context): Promise<readonly RefusalShape[]> {
  const { index, memo } = context;
  const { seq: upTo, hash } = await index.head();
  const seen = memo.get(known);
  if (seen?.hash === hash) return seen.all;
  const isContinued = seen !== undefined && (await index.locate(seen.upTo))?.hash === seen.hash;
  const { upTo: after, all: earlier } = isContinued ? seen : { upTo: 0, all: [] };
  const rows = [...(await index.records(REFUSED)), ...(await index.records("action:"))];
  // A known event is left out if its record has a later event, or if a compaction has dropped the record.
  const last = new Set(rows.map(({ seq }) => seq));
  const all = earlier.filter(({ event }) => event <= after && last.has(event));
  const unread = rows.filter(({ seq }) => seq > after);
  for (let from = 0; from < unread.length; from += TOGETHER)
    for (const event of await readEvents(context, unread.slice(from, from + TOGETHER))) {
      const refusal = refusalIn(event);
      if (refusal !== undefined) all.push(refusal);
    }
  all.sort((a, b) => a.event - b.event);
  memo.set(known, { upTo, hash, all });
  return all;
}

/**
 * Returns the refusal in the last event of a refused attempt or of an action; `undefined` if the event records no
 * refusal.
 */
function refusalIn(event: LogEvent): RefusalShape | undefined {
  const { seq, recordId, record } = event;
  if (recordId.startsWith(REFUSED)) {
    const { what, actor, at, detail } = decodeRefused(record);
    return { id: recordId.slice(REFUSED.length), event: seq, at, actor, kind: "operation", what, detail };
  }
  const { id, state, ended, ts, actor, summary, reason = "" } = actionOfEvent(event);
  if (state !== "denied") return undefined;
  return { id, event: seq, at: ended ?? ts, actor, kind: "tool_call", what: summary, detail: reason };
}

/** Records a refused attempt, unless the workspace is archived or was opened for reading only. */
export async function recordRefusal(context: Context, what: string, args: readonly unknown[]): Promise<void> {
  if (context.readOnly || (await archivedSince(context)) !== undefined) return;
  const record = encodeRefused({
    what,
    actor: context.caller.actor,
    at: new Date(context.now()).toISOString(),
    detail: (JSON.stringify(args, maskedText) ?? "").slice(0, MAX_DETAIL),
  });
  await withCommit(context, (commit) =>
    commit.append([{ op: "upsert", recordId: `${REFUSED}${context.newId()}`, record }]),
  );
}
