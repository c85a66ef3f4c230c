import type {
  SyncTroubleShape,
  LeftOutPathShape,
  NotHeldPathShape,
  SyncShape,
  SyncState,
} from "../../../api/sync-api.ts";
import { type ChronicleError, STARTING } from "../../../core/values/errors.ts";
import type { ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { LinkState } from "./connection-keeper.ts";
import { comparePaths, type WorkspacePath } from "../../../core/values/path.ts";
import { exactPath, shownPath } from "../../../engine/log/shape.ts";
import type { SidesOf } from "../paths/git-paths.ts";
import type { NotHeld } from "../paths/not-held-paths.ts";
import { refusedPaths, type Refusal } from "../paths/refused-paths.ts";
import type { LeftOut } from "../paths/editor-files.ts";
import { errnoIn } from "../../../core/values/failure-in-words.ts";
import { isOwnFailure } from "../../protocol/wire-errors.ts";
import { optional } from "../../../util/optional.ts";

export interface SyncFacts {
  readonly id: string;
  readonly folder: string;
  readonly record: ReplicaRecord;
  readonly link: LinkState;
  readonly linkError: ChronicleError | undefined;
  readonly wasReached: boolean;
  /** The time since which the origin's folder is missing, in epoch milliseconds. */
  readonly originAwaySince: number | undefined;
  readonly failure: ChronicleError | undefined;
  /** The reasons why paths cannot be written into the folder (see `ConflictShape.detail`). */
  readonly blocked: readonly string[];
  /** The time of the next retry, in epoch milliseconds. */
  readonly retryAt: number | undefined;
  readonly isBusy: boolean;
  readonly isWatchDegraded: boolean;
  /**
   * The seqs of three events of the origin: the last known event (`origin`), the last event in the mirror (`head`), and
   * the last event that was applied to the folder (`applied`).
   */
  readonly origin: number;
  readonly head: number;
  readonly applied: number;
  readonly pending: number;
  /** The paths whose last change the origin has refused. These changes stay in the folder and are not sent. */
  readonly refused: ReadonlyMap<WorkspacePath, Refusal>;
  readonly leftOut: ReadonlyMap<WorkspacePath, LeftOut>;
  readonly gitLeftOut: ReadonlyMap<WorkspacePath, SidesOf>;
  readonly secrets: ReadonlyMap<WorkspacePath, SidesOf>;
  readonly notHeld: ReadonlyMap<WorkspacePath, NotHeld>;
  /** The paths in the folder whose content was erased from the history. Such a content is neither recorded nor sent. */
  readonly erased: readonly WorkspacePath[];
  readonly isReadOnly: boolean;
  readonly conflicts: number;
  readonly progress: SyncShape["progress"];
}

export function syncShape(given: SyncFacts): SyncShape {
  const facts = withOwnFailure(given);
  const { record, linkError } = facts;
  const { halted } = record;
  const reason = halted === undefined ? linkError?.message : haltedBecause(halted);
  const hint = halted === undefined ? linkError?.hint : hintFor(halted, record.stopped === true);
  return {
    id: facts.id,
    folder: facts.folder,
    upstream: record.url,
    workspace: record.origin === "" ? (record.workspace ?? "") : record.origin,
    ...optional({ asked: record.workspace }),
    mode: record.mode,
    state: stateOf(facts),
    ...(halted === undefined ? {} : { halted: halted.reason }),
    ...told(facts),
    ...optional({ reason, hint }),
    peer: facts.wasReached ? record.url : null,
    ...(facts.originAwaySince === undefined
      ? {}
      : { origin_away_since: new Date(facts.originAwaySince).toISOString() }),
    lag: Math.max(0, facts.origin - facts.applied),
    pending: facts.pending,
    conflicts: facts.conflicts,
    ...keptBack(facts),
    ...(record.withProtected === true ? { with_protected: true as const } : {}),
    applied: facts.applied,
    head: facts.head,
    ...trouble(facts),
    ...optional({ progress: facts.progress }),
  };
}

/**
 * Returns the facts, changed only if a failure of this side's disk (no room, a limit of file sizes) has ended the
 * connection. The changed facts have a connected link and a failed step (reconciliation), because the origin can be
 * reached and is not at fault.
 */
function withOwnFailure(facts: SyncFacts): SyncFacts {
  const { linkError, failure, link } = facts;
  if (link !== "offline" || linkError === undefined || !isOwnFailure(linkError)) return facts;
  if (errnoIn(linkError) === undefined) return facts;
  return { ...facts, link: "connected", linkError: undefined, failure: failure ?? linkError };
}

/** The maximum number of refused paths in the answer to a flush. */
const MOST_AFTER_FLUSH = 1_000;

/**
 * Returns the answer to a flush: `syncShape` with up to `MOST_AFTER_FLUSH` of the changes that the origin still
 * refuses. Unlike `syncShape`, names these changes even if the token may only read.
 */
export function flushedShape(facts: SyncFacts): SyncShape {
  const { refused } = facts;
  const shape = syncShape(facts);
  return refused.size === 0 ? shape : { ...shape, refused: refusedPaths(refused, MOST_AFTER_FLUSH) };
}

function told(facts: SyncFacts): Pick<SyncShape, "trouble"> {
  const { halted } = facts.record;
  const next = halted === undefined ? undefined : hintFor(halted);
  const found = troubleOf(facts, next);
  return found === undefined ? {} : { trouble: found };
}

type LeftOutShape = Pick<
  SyncShape,
  | "left_out"
  | "left_out_paths"
  | "git_left_out"
  | "git_left_out_paths"
  | "secrets"
  | "secret_paths"
  | "not_held"
  | "not_held_paths"
  | "erased"
  | "erased_paths"
>;

function keptBack(facts: SyncFacts): Pick<SyncShape, "kept_back" | "refused" | "read_only"> & LeftOutShape {
  const { refused, leftOut, gitLeftOut, secrets, notHeld, erased } = facts;
  const isReadOnly = mayOnlyRead(facts);
  const kept = refused.size + leftOut.size + gitLeftOut.size + secrets.size + notHeld.size + erased.length;
  return {
    ...(kept === 0 ? {} : { kept_back: kept }),
    ...(leftOut.size === 0 ? {} : { left_out: leftOut.size, left_out_paths: leftOutPaths(leftOut) }),
    ...(gitLeftOut.size === 0 ? {} : { git_left_out: gitLeftOut.size, git_left_out_paths: leftOutPaths(gitLeftOut) }),
    ...(secrets.size === 0 ? {} : { secrets: secrets.size, secret_paths: leftOutPaths(secrets) }),
    ...(notHeld.size === 0 ? {} : { not_held: notHeld.size, not_held_paths: notHeldPaths(notHeld) }),
    ...(erased.length === 0 ? {} : { erased: erased.length, erased_paths: erasedPaths(erased) }),
    ...(refused.size === 0 || isReadOnly ? {} : { refused: refusedPaths(refused) }),
    ...(isReadOnly ? { read_only: true } : {}),
  };
}

function trouble(facts: SyncFacts): Pick<SyncShape, "degraded" | "retry_at"> {
  const degraded = degradedBecause(facts);
  const { retryAt } = facts;
  if (degraded === undefined) return {};
  return retryAt === undefined ? { degraded } : { degraded, retry_at: new Date(retryAt).toISOString() };
}

function stateOf({ record, link, ...facts }: SyncFacts): SyncState {
  if (record.stopped === true) return "stopped";
  if (record.halted !== undefined) return "halted";
  if (record.paused === true) return "paused";
  // While a sync runs, the link is `ended` only until the first attempt to connect.
  if (link === "connecting" || link === "ended") return "connecting";
  if (link !== "connected") return "offline";
  const isBehind = facts.origin > facts.applied || facts.pending > 0 || facts.failure !== undefined;
  return isBehind || record.keeps !== undefined || facts.isBusy ? "syncing" : "in-sync";
}

/**
 * True if this replica must not write to the origin, although the mode would allow it. Always false in one-way modes.
 */
function mayOnlyRead({ record, isReadOnly }: SyncFacts): boolean {
  return isReadOnly && (record.mode === "two-way-safe" || record.mode === "two-way-resolved");
}

/** Returns the reason for a halt, in words for people. */
export function haltedBecause({ reason, detail }: ReplicaHalt): string {
  return detail ?? reason;
}

/** Returns, in words for people, how to end a halt. */
export function hintFor({ reason }: ReplicaHalt, isStopped = false): string {
  if (reason === "nested" && isStopped)
    return "the sync stays on the list until its history is given up: chronicle forget ID";
  return HINTS[reason] ?? "remove the reason, then resume the sync";
}

const LOST =
  "if the files are gone on purpose, resume with --accept-deletions; if not, with --restore-files; if they are back, just resume";

const HINTS: Readonly<Record<string, string>> = {
  not_found:
    "check the address, the workspace (#NAME or #ID after the address, or --workspace: `chronicle workspaces` lists them at the origin) and the purpose of the token, and start the sync again with the right ones; if the origin's server was started without --replication, start it with `serve --replication`, then resume",
  ambiguous:
    "start the sync again with the workspace's whole id or name (#NAME after the address, or --workspace NAME)",
  unauthenticated:
    "start the sync again with another token (--token-file FILE): on the origin's machine, `token create --role agent` makes one",
  forbidden:
    "start the sync again with another token (--token-file FILE): on the origin's machine, `token list` shows the purpose of each",
  format_unsupported: "once both sides have the same version of chronicle, resume",
  "root-vanished":
    "mount the folder, or put it back, then resume; if the folder was moved for good, start the sync again with its new place; or stop the sync",
  "root-replaced":
    "if the folder was put back, resume with --restore-files; if its present content is right, with --accept-deletions",
  "root-emptied": LOST,
  "mass-deletion": `${LOST}. To let a tool always delete files that it can make again: list them in .gitignore, or exclude them from the sync with --filter-from`,
  nested: "stop the sync, and choose a folder that lies beside both: chronicle sync stop",
  forked:
    "`chronicle sync adopt-as-new` continues as a new replica: this folder's files are proposed to the origin, the origin's files come here, and nothing is deleted",
  diverged:
    "`chronicle sync rejoin` continues with the origin as it is: the changes that the origin has lost are kept here and proposed to it, by a three-way merge, and nothing is deleted; or, once the origin has its history back, `chronicle sync resume`",
};

function degradedBecause(facts: SyncFacts): string | undefined {
  const {
    record,
    failure,
    isWatchDegraded,
    refused: { size: refused },
    originAwaySince,
  } = facts;
  if (record.stopped === true) return undefined;
  if (originAwaySince !== undefined) {
    const since = new Date(originAwaySince).toISOString();
    return `the origin's folder has been missing since ${since} (removed, moved, not mounted?): changes wait until it is back`;
  }
  if (failure !== undefined) {
    const hint = failure.hint === undefined ? "" : ` (${failure.hint})`;
    return `a step has failed, and is tried again: ${failure.message}${hint}`;
  }
  // The following troubles do not matter until a person has decided about the halt.
  if (record.halted !== undefined) return undefined;
  if (mayOnlyRead(facts)) return `${READ_ONLY} (${refused === 0 ? "none so far" : `${changes(refused)} so far`})`;
  if (isWatchDegraded) return "the folder cannot be watched as a whole: it is scanned every few seconds instead";
  if (refused === 1) return "1 change of this folder stays here: the origin refuses it";
  if (refused > 0) return `${changes(refused)} of this folder stay here: the origin refuses them`;
  return undefined;
}

const READ_ONLY = "the token may only read, so changes in this folder stay here";

function changes(count: number): string {
  return count === 1 ? "1 change" : `${count} changes`;
}

type Kind = SyncTroubleShape["kind"];

interface Facts {
  readonly record: Pick<ReplicaRecord, "halted" | "stopped" | "paused">;
  readonly link: LinkState;
  readonly linkError: ChronicleError | undefined;
  readonly failure: ChronicleError | undefined;
  readonly blocked: readonly string[];
}

/** Maps the error code of a failed system call to the kind of trouble. */
const ERRNOS: Readonly<Record<string, Kind>> = {
  ENOSPC: "disk-full",
  EDQUOT: "disk-full",
  EFBIG: "disk-full",
  EACCES: "no-permission",
  EPERM: "no-permission",
  EROFS: "no-permission",
};

/** Maps the reason why a path is blocked to the kind of trouble. */
const BLOCKS: Readonly<Record<string, Kind>> = { "no-space": "disk-full", "not-permitted": "no-permission" };

/** The reasons of halts that are about a refused token. */
const TOKEN: ReadonlySet<string> = new Set(["unauthenticated", "forbidden"]);

/** Maps a kind of trouble to the hint for people. Used if no better hint is known. */
const NEXT: Readonly<Record<Kind, string>> = {
  "disk-full": "free some space on the disk of the folder, and of the store; the sync then continues within seconds",
  "no-permission":
    "let this user write there (`ls -ld` shows who may), or mount the file system for writing; Chronicle tries again by itself, at once: chronicle sync flush",
  unreachable: "is the origin running, and reachable from here? Chronicle tries again by itself, every few seconds",
  "token-refused": "start the sync again with another token (--token-file FILE)",
  starting: "wait: Chronicle tries again by itself, every few seconds",
};

/**
 * Returns the first trouble that a person can resolve on this side. If the sync is halted, `next` is the hint for the
 * halt.
 */
function troubleOf(facts: Facts, next: string | undefined): SyncTroubleShape | undefined {
  const { record, failure, blocked, linkError, link } = facts;
  const { halted } = record;
  if (halted !== undefined) return haltTrouble(halted, next);
  if (record.paused === true || record.stopped === true) return undefined;
  const kind = failure === undefined ? undefined : ERRNOS[String(failure.data["errno"])];
  if (failure !== undefined && kind !== undefined) return troubleShape(kind, failure.message, failure.hint);
  for (const detail of blocked) {
    const [reason = ""] = detail.split(": ", 1);
    const why = BLOCKS[reason];
    if (why !== undefined) return troubleShape(why, detail.slice(reason.length + 2));
  }
  return link === "offline" && linkError !== undefined ? awayTrouble(linkError) : undefined;
}

/**
 * Returns the trouble of a halted sync, even if the sync was stopped later. Returns `undefined` unless the halt is
 * about a refused token.
 */
export function haltTrouble({ reason, detail }: ReplicaHalt, next: string | undefined): SyncTroubleShape | undefined {
  return TOKEN.has(reason) ? troubleShape("token-refused", detail ?? reason, next) : undefined;
}

function awayTrouble({ code, data, message, hint }: ChronicleError): SyncTroubleShape | undefined {
  // `LOCKED` means that the origin's server cannot open its store yet, because another process still has the store
  // open.
  if (code === "LOCKED") return troubleShape("starting", message, hint);
  if (code !== "UNAVAILABLE") return undefined;
  if (data["about"] === STARTING) return troubleShape("starting", message);
  const next = hint === undefined ? NEXT.unreachable : `${hint} (Chronicle tries again by itself, every few seconds)`;
  return troubleShape("unreachable", message, next);
}

function troubleShape(kind: Kind, message: string, next = NEXT[kind]): SyncTroubleShape {
  return { kind, message, next };
}

const MOST_NAMED = 20;

function notHeldPaths(notHeld: ReadonlyMap<WorkspacePath, NotHeld>): NotHeldPathShape[] {
  const first = [...notHeld].toSorted(([a], [b]) => comparePaths(a, b)).slice(0, MOST_NAMED);
  return leftOutPaths(new Map(first)).map((one, i) => ({ ...one, why: first[i]?.[1].why ?? "" }));
}

function erasedPaths(erased: readonly WorkspacePath[]): LeftOutPathShape[] {
  return leftOutPaths(new Map(erased.map((path) => [path, { here: true, there: false }])));
}

/** Returns the first `MOST_NAMED` paths, in path order. */
function leftOutPaths(leftOut: ReadonlyMap<WorkspacePath, SidesOf>): LeftOutPathShape[] {
  const sorted = [...leftOut].toSorted(([a], [b]) => comparePaths(a, b));
  return sorted.slice(0, MOST_NAMED).map(([path, { here, there }]) => ({
    path: shownPath(path),
    ...exactPath(path),
    side: here && there ? "both" : here ? "local" : "upstream",
  }));
}
