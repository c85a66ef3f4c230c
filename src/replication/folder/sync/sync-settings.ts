import { isDeepStrictEqual } from "node:util";
import { ChronicleError } from "../../../core/values/errors.ts";
import { EMPTY_HEAD } from "../../../core/values/event.ts";
import { sha256 } from "../../../core/values/hash.ts";
import { asFatal, type Channel } from "../../channel.ts";
import { replicaHello } from "../../replica/replica-hello.ts";
import type { Timers } from "../../../util/timers.ts";
import { isRefusal } from "../link/connection-keeper.ts";
import { optional } from "../../../util/optional.ts";
import type { SyncMode, SyncShape, SyncStart } from "../../../api/sync-api.ts";
import type { ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { haltedBecause, hintFor, haltTrouble } from "../link/sync-shape.ts";
import type { SyncPlace } from "./sync-places.ts";
import { upstreamUrl } from "../../../core/text/upstream-url.ts";
import { wholePath } from "../../../core/tree/root-place.ts";

const MODES: readonly SyncMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];
const MOST_DEBOUNCE_MS = 60_000;

/** Throws `USAGE` if an option of the start is invalid. */
export function checkStart({ upstream, folder, mode, policy, editorFiles, debounceMs, ...filters }: SyncStart): void {
  upstreamUrl(upstream);
  void wholePath("the folder", folder);
  if (mode !== undefined && !MODES.includes(mode))
    throw usage(`there is no mode ${mode}`, `the modes are: ${MODES.join(", ")}`);
  if (policy !== undefined && policy !== "sandbox")
    throw usage(`there is no policy ${String(policy)}`, "the only policy is: sandbox");
  if (editorFiles !== undefined && editorFiles !== "leave" && editorFiles !== "sync")
    throw usage(`editorFiles is ${String(editorFiles)}`, "say leave or sync");
  const isDebounce = Number.isInteger(debounceMs) && (debounceMs ?? 0) >= 0 && (debounceMs ?? 0) <= MOST_DEBOUNCE_MS;
  if (debounceMs !== undefined && !isDebounce)
    throw usage(`${debounceMs} is no debounce time`, `give a number of milliseconds from 0 to ${MOST_DEBOUNCE_MS}`);
  const { filterTo = [], filterFrom = [] } = filters;
  const broken = [...filterTo, ...filterFrom].find((pattern) => !isWhole(pattern));
  if (broken !== undefined)
    throw usage(
      `a bracket of the pattern ${JSON.stringify(broken)} is not closed: the pattern would match nothing`,
      "write `\\[` for the character",
    );
  // The constructor throws for invalid patterns, so that they are reported at the start of the sync.
  void new ReplicatedPaths({ mode: mode ?? "two-way-safe", filterTo, filterFrom, ...(policy && { policy }) });
}

/**
 * True if each `[` of the pattern is closed. A `]` right after `[`, `[!` or `[^` closes nothing, because it is one of
 * the characters in the brackets.
 */
function isWhole(pattern: string): boolean {
  const rest = pattern.replaceAll(/\\.|\[[!^]?(?:\]|(?!\]))(?:\\.|\[:[a-z]+:\]|(?!\[:[a-z]+:\])[^\]\\])*\]/gs, "");
  return !rest.includes("[");
}

function usage(message: string, hint: string): ChronicleError {
  return new ChronicleError("USAGE", message, { hint });
}

/**
 * Returns the known record, or a new record if none is known, with the requested changes. The result is neither stopped
 * nor paused. Throws `REFUSED` if the folder follows another workspace.
 */
export function recordFor(known: ReplicaRecord | undefined, start: SyncStart, id: string): ReplicaRecord {
  const url = upstreamUrl(start.upstream);
  if (known !== undefined) refuseOther(known, url, start.workspace);
  const { stopped: _stopped, paused: _paused, workspace: named, withProtected: had, ...before } = known ?? fresh(id);
  const workspace = start.workspace ?? (isConfirmed(before) ? named : undefined);
  const { mode, filterTo, filterFrom, policy, editorFiles, debounceMs, withProtected = had } = start;
  return {
    ...withFilterTo(before, filterTo ?? before.filterTo),
    url,
    ...optional({ workspace, mode, filterFrom, policy, editorFiles, debounceMs }),
    ...(withProtected === true ? { withProtected } : {}),
  };
}

/**
 * Returns the record with a new `filterTo`. If the patterns change, `filteredTo` keeps the patterns of the folder's
 * last reconciliation until the folder is reconciled again.
 */
export function withFilterTo(record: ReplicaRecord, filterTo: readonly string[]): ReplicaRecord {
  const { filteredTo = record.filterTo, ...rest } = record;
  const isSame = record.applied === 0 || isDeepStrictEqual(filteredTo, filterTo);
  return { ...rest, filterTo, ...(isSame ? {} : { filteredTo }) };
}

function fresh(id: string): ReplicaRecord {
  const filters = { filterTo: [], filterFrom: [] };
  return { origin: "", sandboxId: id, url: "", mode: "two-way-safe", ...filters, applied: 0, settled: 0 };
}

/** True if an origin has confirmed the recorded workspace. If false, another workspace may be requested. */
function isConfirmed({ origin, halted }: ReplicaRecord): boolean {
  return origin !== "" && halted?.reason !== "not_found" && halted?.reason !== "ambiguous";
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Throws `REFUSED` if the request certainly names another workspace: by a different id, or by a different name at the
 * same address. For a new address, or for a name in place of an id, only the origin's answer can show whether the
 * workspace is the same, so this function does not throw.
 */
function refuseOther(known: ReplicaRecord, url: string, workspace: string | undefined): void {
  if (workspace === undefined || workspace === known.origin || known.origin === "") return;
  const { workspace: named = known.origin } = known;
  const isOtherName = isConfirmed(known) && known.url === url && !ID.test(named) && workspace !== named;
  if (!ID.test(workspace) && !isOtherName) return;
  throw followsAnother(known);
}

function followsAnother({ origin, url }: ReplicaRecord): ChronicleError {
  return new ChronicleError("REFUSED", `this folder follows workspace ${origin} at ${url}, for good`, {
    hint: "nothing was changed; to follow another workspace, choose another folder for it",
    data: { origin, upstream: url },
  });
}

/**
 * Throws the origin's refusal, if the answer is a refusal. Throws `REFUSED` if another workspace has answered than the
 * workspace that the folder follows. If no origin has answered, throws `REFUSED` unless the address and the workspace
 * are those of the record. A new address is accepted only once the same workspace answers at this address.
 */
export function judgeAnswer(known: ReplicaRecord | undefined, start: SyncStart, answer: OriginAnswer): void {
  if ("refused" in answer) throw refusedBy(answer.refused, known);
  const isHeld = known !== undefined && known.origin !== "";
  if (!isHeld) return;
  if ("workspace" in answer) {
    if (answer.workspace !== known.origin) throw followsAnother(known);
    return;
  }
  const url = upstreamUrl(start.upstream);
  const isSame = known.url === url && (start.workspace === undefined || isAskedFor(known, start.workspace));
  if (isSame) return;
  throw new ChronicleError(
    "REFUSED",
    `${answer.unknown.message}: it is unknown whether the new address has the same workspace`,
    {
      hint: `this folder follows workspace ${known.origin} at ${known.url}, and nothing was changed; try again once the new address answers`,
      data: { origin: known.origin, upstream: known.url },
      cause: answer.unknown,
    },
  );
}

function isAskedFor({ origin, workspace }: ReplicaRecord, asked: string): boolean {
  return asked === origin || asked === workspace;
}

/** Returns the origin's refusal, with the hint of a halt for the same reason. */
function refusedBy(error: ChronicleError, known: ReplicaRecord | undefined): ChronicleError {
  const follows =
    known === undefined || known.origin === "" ? "" : `; this folder still follows ${known.origin} at ${known.url}`;
  return new ChronicleError(error.code, `${error.message}${follows}`, {
    hint: hintFor({ reason: error.code.toLowerCase() }),
    data: error.data,
    cause: error,
  });
}

/** The reason why this process does not run a sync, with a hint for people. */
export type RestReason = Pick<SyncShape, "elsewhere" | "reason" | "hint">;

/** The reason for a sync that another process seems to run. */
export const ELSEWHERE: RestReason = { elsewhere: true, reason: "another process runs it" };

/**
 * Returns the shape of a sync that this process does not run; `undefined` if the place has no sync. `why` says why this
 * process does not run the sync. The shape of a stopped or halted sync, which no process runs, has no `why`.
 */
export function restingShape({ id, folder, record, conflicts }: SyncPlace, why: RestReason): SyncShape | undefined {
  if (record === undefined) return undefined;
  const { halted, stopped, applied } = record;
  return {
    id,
    folder,
    upstream: record.url,
    workspace: record.origin === "" ? (record.workspace ?? "") : record.origin,
    ...optional({ asked: record.workspace }),
    mode: record.mode,
    state:
      stopped === true ? "stopped" : halted !== undefined ? "halted" : record.paused === true ? "paused" : "offline",
    ...(halted !== undefined ? haltedShape(halted, hintFor(halted, record.stopped === true)) : {}),
    ...(stopped !== true && halted === undefined ? why : {}),
    peer: null,
    lag: 0,
    pending: 0,
    conflicts: conflicts.length,
    applied,
    head: applied,
  };
}

function haltedShape(halted: ReplicaHalt, hint: string): Pick<SyncShape, "halted" | "reason" | "hint" | "trouble"> {
  const trouble = haltTrouble(halted, hint);
  const told = { halted: halted.reason, reason: haltedBecause(halted), hint };
  return trouble === undefined ? told : { ...told, trouble };
}

/** The result of asking an origin whether a folder may follow it. */
export type OriginAnswer =
  | { readonly workspace: string }
  /** The origin refused, and would refuse again. */
  | { readonly refused: ChronicleError }
  /** The origin was not reached, or did not answer in time. */
  | { readonly unknown: ChronicleError };

interface OriginQuestion {
  readonly connect: (signal: AbortSignal) => Promise<Channel>;
  /** The workspace, by id or name. Default: the origin's own choice. */
  readonly workspace?: string | undefined;
  readonly token?: string | undefined;
  readonly withProtected?: boolean | undefined;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

/** The time to wait for the answer, in ms. This is also the time limit of the handshake with an origin's server. */
const PATIENCE_MS = 8_000;

/**
 * Asks an origin which workspace it would serve. Connects as a separate replica, which receives and writes nothing. All
 * calls with the same token use the same replica, so that the origin's list of replicas stays short. Callers with
 * different tokens use different replicas, so that they do not disturb each other.
 */
export async function askOrigin({ connect, timers, signal, ...asked }: OriginQuestion): Promise<OriginAnswer> {
  const enough = new AbortController();
  using _late = timers.after(PATIENCE_MS, () => enough.abort());
  let channel: Channel | undefined;
  try {
    channel = await connect(AbortSignal.any([signal, enough.signal]));
    const { token, withProtected, workspace } = asked;
    await channel.send(
      replicaHello({
        sandboxId: `asks-${sha256(token ?? "").slice(0, 32)}`,
        upstream: { head: EMPTY_HEAD },
        withProtected,
        ...optional({ asked: workspace }),
      }),
    );
    for await (const message of channel.receive()) {
      if (message.type === "HelloAck") return { workspace: message.workspace };
    }
    return { unknown: unanswered() };
  } catch (cause) {
    const error = asFatal(cause);
    return isRefusal({ stage: "asking", error }) ? { refused: error } : { unknown: error };
  } finally {
    channel?.close();
  }
}

function unanswered(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the origin has not answered");
}
