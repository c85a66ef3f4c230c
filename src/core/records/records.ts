import type { RecordBody, Json } from "../values/event.ts";
import {
  optionalText,
  damaged,
  flag,
  hashOf,
  jsonOf,
  list,
  object,
  oneOf,
  orNull,
  text,
  texts,
  whole,
} from "../values/record-fields.ts";
import { sha256, parseHash, type Hash } from "../values/hash.ts";
import { type Aside, decodeAside, encodeAside } from "./aside.ts";
import { decodeConflict, encodeConflict, type IdentifiedConflict } from "./conflict-record.ts";
import type { Coverage, Omission, OmissionReason, UnappliedRules } from "./coverage.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import { decodeOmittedChanges, encodeOmittedChanges, type OmittedChange } from "./omitted-change.ts";
import type { WorkspacePath } from "../values/path.ts";
import { decodeChanges, encodeChanges } from "../tree/plan.ts";
import { decodeReplica, encodeReplica, type ReplicaRecord } from "./replica-record.ts";
import { decodeRanges, type SeqRanges } from "../values/seq-ranges.ts";
import type { UpstreamChange } from "../tree/upstream-change.ts";
import { optional } from "../../util/optional.ts";

/**
 * Defines, encodes and decodes the records of snapshots, sessions and intents.
 *
 * Decoding is strict: a record that lacks a field, or has a field of another type, causes a `LOG_DAMAGED` error.
 */

/** `snapshot:<id>`: a snapshot, which names the state right after the event of this record. */
export interface SnapshotRecord {
  /** The number of the snapshot. The baseline has number 0. */
  readonly number: number;
  readonly cause: string;
  readonly root: Hash;
  /** The number of the previous snapshot; `null` for the first snapshot. */
  readonly parent: number | null;
  readonly pinned: boolean;
  readonly actor: string;
  /** The number of paths that changed since the previous snapshot; `null` for the baseline. */
  readonly changed: number | null;
  readonly coverage: Coverage;
  /** The hash of a blob with the canonical JSON of the filters in force, one filter per root. */
  readonly filter: Hash;
  /** The number of entries in the state, and the size of their contents in bytes. */
  readonly entries: number;
  readonly bytes: number;
  readonly name?: string;
  readonly message?: string;
  readonly session?: string;
  /** The hash of a blob: the base on which the log starts. Set only if the log starts at this snapshot. */
  readonly base?: Hash;
}

/**
 * `session:<id>`: a recorded session. Its `kind` is one of:
 * - `run`: a command that Chronicle runs.
 * - `watch`: a recording of changes of the workspace.
 * - `agent`: an agent's own session. The changes of the session belong to the session's actions.
 */
export interface SessionRecord {
  readonly kind: "run" | "watch" | "agent";
  readonly state: "running" | "ended" | "abandoned";
  readonly command: readonly string[];
  readonly started: string;
  readonly ended: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly paths: readonly string[];
  /** The last event before the session. The session began with the state right after this event. */
  readonly fromSeq: number;
  /** The Merkle roots of the states that the session recorded. */
  readonly merkleRoots: readonly Hash[];
  /** `snapshots`: the number of snapshots that the session made. `changed`: the number of paths that it changed. */
  readonly snapshots: number;
  readonly changed: number;
  readonly networkEvents: readonly Json[];
  readonly notes: readonly string[];
  readonly actor: string;
  /** The pid of the session's process; 0 if the session is not bound to a process. */
  readonly pid: number;
  /** A mark that distinguishes the process from earlier and later processes with the same pid. */
  readonly pidMark?: string;
  /** The PID namespace of `pid`. */
  readonly pidSpace?: string;
  /** The session's changes to omitted paths. Empty until the session has ended. */
  readonly omittedChanges: readonly OmittedChange[];
  /** The brackets within which the session was begun. Empty if there were none. */
  readonly within: Within;
  /** The contents that were kept aside for the session. Omitted if there are none. */
  readonly aside?: Aside;
  /**
   * Set only while a run is in progress: a blob with the state of the git repositories at the beginning of the run
   * (`git-record.ts`). Omitted if there are no git repositories.
   */
  readonly git?: Aside;
}

/**
 * A path of which an undo of selected work undoes only some hunks. The event that the undo writes to the path tells
 * which hunks these are.
 */
export interface UndonePart {
  readonly path: WorkspacePath;
  /** The events at the path whose changes are undone in part. These events are not in the undo's `took`. */
  readonly took: SeqRanges;
}

/**
 * `intent:<id>`: an operation that changes files. The record is written as `open` before the first file is changed, and
 * is written again as `done` or `abandoned` when the operation ends. A crash can leave an intent open. A later change
 * of the workspace then first finishes the operation and closes the intent. An incomplete write to a hosted workspace
 * is undone instead of finished. The state `abandoned` means that the operation changed nothing, or was undone after a
 * crash.
 */
export interface IntentRecord {
  /**
   * The kind of the operation. The kind `replica` has two uses:
   * - In a folder that follows an origin: the changes that a sync makes to the folder. The record's id is the workspace
   *   id of the origin.
   * - At an origin: the changes that a replica writes back to the origin's folder. The record's id is derived from the
   *   replica's id.
   *
   * In both uses, all operations with the same origin, or with the same replica, share one record. Each operation
   * writes this record anew.
   */
  readonly kind: "restore" | "undo" | "redo" | "resolve" | "write" | "replica";
  readonly state: "open" | "done" | "abandoned";
  readonly summary: string;
  readonly actor: string;
  /** The client that requested the operation, by the name that the client gives itself. */
  readonly client?: string;
  /**
   * The mark of the process that carried out the operation (see `pidMark`). Omitted if the mark is unknown. The
   * client's name alone does not identify the process, because several processes can have the same client name.
   */
  readonly process?: string;
  readonly started: string;
  /**
   * The hash of a blob with the canonical JSON of the changes (see `plan.ts`). Omitted if `changes` has the changes,
   * and for a write to a hosted workspace, which needs no plan.
   */
  readonly plan?: Hash;
  /** The number of paths that the operation is to change. */
  readonly paths: number;
  /** The last event before the intent. */
  readonly fromSeq: number;
  /** Only for undo and redo: the operation that is undone or redone. */
  readonly target?: string;
  /** Set when the intent is closed: the number of paths that could not be changed, and were left alone. */
  readonly skipped?: number;
  /**
   * Only for an undo of selected work: the selection, as `action <id>`, `turn <id>`, `session <id>`, `actor <name>`,
   * `file <path>`, `since <event>`, `to <event>`, `transaction <id>` or `operation <id>`.
   */
  readonly selection?: string;
  /**
   * Only for an undo of selected work: the ids of the operations that the undo undoes completely, except at the paths
   * in `left`. The list can also have the id of an earlier undo of selected work that was redone, because such an undo
   * can be undone again.
   */
  readonly takes?: readonly string[];
  /**
   * Only for an undo of selected work: the ids of the operations of which the undo undoes only a part. The other
   * changes of these operations did not merge with later work, or were left alone. An `undo` without a selection skips
   * these operations when it looks for the next operation to undo. Such an `undo` also skips an operation in `takes`
   * that changed a path in `left`.
   */
  readonly passes?: readonly string[];
  /** Only for an undo of selected work: the events that the undo undoes. */
  readonly took?: SeqRanges;
  /**
   * Only for an undo of selected work: the events at paths whose changes did not merge with later work. These events
   * are not undone.
   */
  readonly met?: SeqRanges;
  /**
   * Only for an undo (of selected work or not): the paths that the undo left alone. The events of these paths are not
   * undone, even if `took` has them. The list is complete once the intent is closed.
   */
  readonly left?: readonly WorkspacePath[];
  /** Only for an undo of selected work: the paths of which the undo undoes only some hunks (see `UndonePart`). */
  readonly parts?: readonly UndonePart[];
  /**
   * Only for a write: the session, the action and the transaction that own the write, as in the write's file records
   * (see `FileRecord`). Each field is omitted if there is no such owner.
   */
  readonly session?: string;
  readonly action?: string;
  readonly transaction?: string;
  /**
   * `request`: the id that the caller gave the request. `asked`: the SHA-256 of the request's method and arguments. A
   * request with the same id and another hash is a different request. Both fields are omitted if the caller gave no id.
   */
  readonly request?: string;
  readonly asked?: Hash;
  /**
   * Only for a request that has an id and is not a write: the paths that were left alone, at most `MAX_STAYED`. If the
   * caller repeats the request, the answer is made from this list. The list is complete once the intent is closed.
   */
  readonly stayed?: readonly StayedPath[];
  /**
   * Only for a request that has an id and is not a write: the files that somebody wrote during the request, and the
   * paths at which these files were kept. Set when the intent is closed.
   */
  readonly keptAt?: readonly KeptBeside[];
  /** The plan of the operation's changes to paths that were kept aside. Omitted if there are none. */
  readonly aside?: Aside;
  /**
   * A blob with the operation's changes to the state of git repositories (`git-record.ts`). Omitted if there are none.
   */
  readonly git?: Aside;
  /**
   * Only for a rollback with `aside`: the id of the action that is rolled back. The paths in `aside` were kept aside
   * for this action.
   */
  readonly brings?: string;
  /** Set while the intent is open: the hashes of contents that the operation needs and that no other record names. */
  readonly contents?: readonly Hash[];
  /** Set while the intent is open: the conflicts that are written as separate records when the intent is closed. */
  readonly conflicts?: readonly IdentifiedConflict[];
  /** Set while the intent is open: the changes, if they are few. The intent then has no `plan`. */
  readonly changes?: readonly UpstreamChange[];
  /**
   * Set while the intent is open: true if the operation gives files their recorded modification times. Default: false.
   */
  readonly keepMtime?: true;
  /** Set while the intent is open: the replica's progress, which is recorded when the intent is closed. */
  readonly replica?: ReplicaRecord;
  /** Set while the intent is open: the paths whose states are proposed to the origin when the intent is closed. */
  readonly proposals?: readonly WorkspacePath[];
}

/** A path that an operation left alone. */
export interface StayedPath {
  readonly path: WorkspacePath;
  readonly reason: string;
  /** The reason in words, for people. */
  readonly detail: string;
}

/** A file that somebody wrote while an operation replaced it. */
export interface KeptBeside {
  readonly path: WorkspacePath;
  /** The path at which the file was kept. */
  readonly keptAt: WorkspacePath;
}

/** The maximum number of paths that an intent lists in `stayed`. */
export const MAX_STAYED = 1_000;

/**
 * The maximum number of omissions that a snapshot record lists. The record counts all omissions, including those that
 * it does not list. The same maximum applies to `unapplied`, the list of rules that are not applied. Rules beyond the
 * maximum are dropped.
 */
const MAX_OMITTED = 2_000;

function encodeCoverage(coverage: Coverage): Json {
  const { omitted } = coverage;
  // If not all omissions can be listed, excluded paths come last, because they can be derived from the filter.
  const isExcluded = (one: Omission): number => (one.reason === "excluded" ? 1 : 0);
  const ordered = omitted.length <= MAX_OMITTED ? omitted : omitted.toSorted((a, b) => isExcluded(a) - isExcluded(b));
  const listed = ordered.slice(0, MAX_OMITTED).map((one) => ({
    ...encodePath(one.path),
    reason: one.reason,
    ...(one.detail === undefined ? {} : { detail: one.detail.toWellFormed() }),
  }));
  const { unapplied } = coverage;
  const rules = unapplied === undefined ? {} : { unapplied: unapplied.slice(0, MAX_OMITTED).map(unappliedJson) };
  return { complete: coverage.complete, count: coverage.omitted.length, omitted: listed, ...rules };
}

function unappliedJson({ source, detail }: UnappliedRules): Json {
  return { source: source.toWellFormed(), detail: detail.toWellFormed() };
}

function unappliedOf(item: Json): UnappliedRules {
  const one = object(item, "rules that are not applied");
  return { source: text(one, "source"), detail: text(one, "detail") };
}

function decodeCoverage(value: Json | undefined): Coverage {
  const body = object(value, "coverage");
  const omitted = list(body, "omitted").map((item) => {
    const one = object(item, "an omission");
    const detail = optionalText(one, "detail");
    const base = { path: decodePath(one), reason: text(one, "reason") as OmissionReason };
    return detail === undefined ? base : { ...base, detail };
  });
  const unlisted = whole(body, "count") - omitted.length;
  if (unlisted < 0) damaged("count is less than what is listed");
  // Excluded paths are listed last. If the list has an excluded path, only excluded paths are missing from the list.
  const isKnown = unlisted === 0 || omitted.some((one) => one.reason === "excluded");
  const rules = body["unapplied"] === undefined ? {} : { unapplied: list(body, "unapplied").map(unappliedOf) };
  return { complete: flag(body, "complete"), omitted, ...rules, ...(isKnown ? {} : { unlisted }) };
}

export function encodeSnapshot(record: SnapshotRecord): RecordBody {
  const { coverage, ...rest } = record;
  return { ...rest, coverage: encodeCoverage(coverage) } as RecordBody;
}

/** Decodes a snapshot record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeSnapshot(body: RecordBody): SnapshotRecord {
  const optional: { name?: string; message?: string; session?: string; base?: Hash } = {};
  for (const key of ["name", "message", "session"] as const) {
    const value = optionalText(body, key);
    if (value !== undefined) optional[key] = value;
  }
  if (body["base"] !== undefined) optional.base = hashOf(body, "base");
  return {
    number: whole(body, "number"),
    cause: text(body, "cause"),
    root: hashOf(body, "root"),
    parent: orNull(body, "parent", whole),
    pinned: flag(body, "pinned"),
    actor: text(body, "actor"),
    changed: orNull(body, "changed", whole),
    coverage: decodeCoverage(body["coverage"]),
    filter: hashOf(body, "filter"),
    entries: whole(body, "entries"),
    bytes: whole(body, "bytes"),
    ...optional,
  };
}

export function encodeSession(record: SessionRecord): RecordBody {
  return {
    kind: record.kind,
    state: record.state,
    command: record.command,
    started: record.started,
    ended: record.ended,
    exit_code: record.exitCode,
    signal: record.signal,
    paths: record.paths,
    from_seq: record.fromSeq,
    merkle_roots: record.merkleRoots,
    snapshots: record.snapshots,
    changed: record.changed,
    // Each network event is stored as JSON text. A caller's event may have fractional numbers, which Chronicle's own
    // records must not have.
    network_events: record.networkEvents.map((event) => JSON.stringify(event)),
    notes: record.notes,
    actor: record.actor,
    pid: record.pid,
    ...optional({ pid_mark: record.pidMark, pid_space: record.pidSpace }),
    ...(record.omittedChanges.length === 0 ? {} : { omitted_changes: encodeOmittedChanges(record.omittedChanges) }),
    ...encodeWithin(record.within),
    ...(record.aside === undefined ? {} : { aside: encodeAside(record.aside) }),
    ...(record.git === undefined ? {} : { git: encodeAside(record.git) }),
  };
}

const SESSION_KINDS: ReadonlySet<SessionRecord["kind"]> = new Set(["run", "watch", "agent"]);
const SESSION_STATES: ReadonlySet<SessionRecord["state"]> = new Set(["running", "ended", "abandoned"]);

/** Decodes a session record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeSession(body: RecordBody): SessionRecord {
  const aside = decodeAside(body);
  const pidMark = optionalText(body, "pid_mark");
  const pidSpace = optionalText(body, "pid_space");
  return {
    kind: oneOf(body, "kind", SESSION_KINDS),
    state: oneOf(body, "state", SESSION_STATES),
    command: texts(body, "command"),
    started: text(body, "started"),
    ended: orNull(body, "ended", text),
    exitCode: orNull(body, "exit_code", whole),
    signal: orNull(body, "signal", text),
    paths: texts(body, "paths"),
    fromSeq: whole(body, "from_seq"),
    merkleRoots: texts(body, "merkle_roots").map(parseHash),
    snapshots: whole(body, "snapshots"),
    changed: whole(body, "changed"),
    networkEvents: texts(body, "network_events").map((one) => jsonOf(one, "network_events")),
    notes: texts(body, "notes"),
    actor: text(body, "actor"),
    pid: whole(body, "pid"),
    ...optional({ pidMark, pidSpace }),
    omittedChanges: decodeOmittedChanges(body, "omitted_changes"),
    within: decodeWithin(body),
    ...optional({ aside, git: decodeAside(body, "git") }),
  };
}

export function encodeIntent(record: IntentRecord): RecordBody {
  const {
    fromSeq,
    left,
    parts,
    conflicts,
    changes,
    replica,
    proposals,
    aside,
    git,
    stayed,
    keptAt,
    keepMtime,
    ...rest
  } = record;
  return {
    ...rest,
    ...(keepMtime === true ? { keep_mtime: true } : {}),
    ...(stayed === undefined || stayed.length === 0 ? {} : { stayed: stayed.slice(0, MAX_STAYED).map(stayedJson) }),
    ...(keptAt === undefined || keptAt.length === 0
      ? {}
      : { kept_at: keptAt.map((one) => ({ ...encodePath(one.path), at: encodePath(one.keptAt) })) }),
    ...(aside === undefined ? {} : { aside: encodeAside(aside) }),
    ...(git === undefined ? {} : { git: encodeAside(git) }),
    from_seq: fromSeq,
    ...(changes === undefined ? {} : { changes: encodeChanges(changes) }),
    ...(replica === undefined ? {} : { replica: encodeReplica(replica) }),
    ...(proposals === undefined ? {} : { proposals: proposals.map(encodePath) }),
    ...(left === undefined ? {} : { left: left.map(encodePath) }),
    ...(parts === undefined ? {} : { parts: parts.map(({ path, took }) => ({ ...encodePath(path), took })) }),
    ...(conflicts === undefined
      ? {}
      : { conflicts: conflicts.map(({ id, record: one }) => ({ id, record: encodeConflict(one) })) }),
  } as RecordBody;
}

function stayedJson({ path, reason, detail }: StayedPath): Json {
  return { ...encodePath(path), reason, detail: detail.toWellFormed() };
}

function decodeStayed(body: RecordBody): Pick<IntentRecord, "stayed" | "keptAt"> {
  const { stayed, kept_at: keptAt } = body;
  return {
    ...(stayed === undefined
      ? {}
      : {
          stayed: list(body, "stayed").map((item) => {
            const one = object(item, "a path that stayed");
            return { path: decodePath(one), reason: text(one, "reason"), detail: text(one, "detail") };
          }),
        }),
    ...(keptAt === undefined
      ? {}
      : {
          keptAt: list(body, "kept_at").map((item) => {
            const one = object(item, "a file that was kept beside");
            return { path: decodePath(one), keptAt: decodePath(object(one["at"], "a path")) };
          }),
        }),
  };
}

const INTENT_KINDS: ReadonlySet<IntentRecord["kind"]> = new Set([
  "restore",
  "undo",
  "redo",
  "resolve",
  "write",
  "replica",
]);
const INTENT_STATES: ReadonlySet<IntentRecord["state"]> = new Set(["open", "done", "abandoned"]);

/** Decodes an intent record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeIntent(body: RecordBody): IntentRecord {
  const target = optionalText(body, "target");
  const client = optionalText(body, "client");
  const process = optionalText(body, "process");
  const brings = optionalText(body, "brings");
  const aside = decodeAside(body);
  return {
    ...optional({ aside, git: decodeAside(body, "git") }),
    kind: oneOf(body, "kind", INTENT_KINDS),
    state: oneOf(body, "state", INTENT_STATES),
    summary: text(body, "summary"),
    actor: text(body, "actor"),
    started: text(body, "started"),
    ...(body["plan"] === undefined ? {} : { plan: hashOf(body, "plan") }),
    paths: whole(body, "paths"),
    fromSeq: whole(body, "from_seq"),
    ...decodeWrite(body),
    ...optional({ client, process, brings, target }),
    ...(body["skipped"] === undefined ? {} : { skipped: whole(body, "skipped") }),
    ...(body["keep_mtime"] === true ? { keepMtime: true } : {}),
    ...decodeSelective(body),
    ...decodeSynced(body),
    ...decodeStayed(body),
  };
}

function decodeSynced(body: RecordBody): Pick<IntentRecord, "changes" | "replica" | "proposals"> {
  const { changes, replica, proposals } = body;
  return {
    ...(changes === undefined ? {} : { changes: decodeChanges(changes) }),
    ...(replica === undefined ? {} : { replica: decodeReplica(object(replica, "a replica's record")) }),
    ...(proposals === undefined
      ? {}
      : { proposals: list(body, "proposals").map((one) => decodePath(object(one, "a path that is proposed"))) }),
  };
}

type OfWrite = Pick<IntentRecord, "session" | "action" | "transaction" | "request" | "asked">;

function decodeWrite(body: RecordBody): OfWrite {
  const found: { -readonly [Key in keyof OfWrite]: OfWrite[Key] } = {};
  for (const key of ["session", "action", "transaction", "request"] as const) {
    const value = optionalText(body, key);
    if (value !== undefined) found[key] = value;
  }
  if (body["asked"] !== undefined) found.asked = hashOf(body, "asked");
  return found;
}

type Selective = Pick<
  IntentRecord,
  "selection" | "takes" | "passes" | "took" | "met" | "left" | "parts" | "contents" | "conflicts"
>;

function decodePart(item: Json): UndonePart {
  const one = object(item, "a path that was undone in part");
  return { path: decodePath(one), took: decodeRanges(one["took"] ?? null) };
}

function decodeSelective(body: RecordBody): Selective {
  const selection = optionalText(body, "selection");
  return {
    ...optional({ selection }),
    ...(body["takes"] === undefined ? {} : { takes: texts(body, "takes") }),
    ...(body["passes"] === undefined ? {} : { passes: texts(body, "passes") }),
    ...(body["took"] === undefined ? {} : { took: decodeRanges(body["took"]) }),
    ...(body["met"] === undefined ? {} : { met: decodeRanges(body["met"]) }),
    ...(body["left"] === undefined
      ? {}
      : { left: list(body, "left").map((one) => decodePath(object(one, "a path left alone"))) }),
    ...(body["parts"] === undefined ? {} : { parts: list(body, "parts").map(decodePart) }),
    ...(body["contents"] === undefined ? {} : { contents: texts(body, "contents").map(parseHash) }),
    ...(body["conflicts"] === undefined
      ? {}
      : {
          conflicts: list(body, "conflicts").map((item) => {
            const one = object(item, "a conflict");
            return { id: text(one, "id"), record: decodeConflict(object(one["record"], "a conflict's record")) };
          }),
        }),
  };
}

/**
 * The ids of the innermost run, action and transaction within which a bracket was begun. Each id is omitted if there is
 * no such bracket.
 */
export interface Within {
  readonly run?: string;
  readonly action?: string;
  readonly transaction?: string;
}

const KINDS = ["run", "action", "transaction"] as const;

function encodeWithin(within: Within): Readonly<Record<string, string>> {
  return Object.fromEntries(KINDS.flatMap((kind) => (within[kind] === undefined ? [] : [[kind, within[kind]]])));
}

function decodeWithin(body: RecordBody): Within {
  const within: { -readonly [Kind in keyof Within]: Within[Kind] } = {};
  for (const kind of KINDS) {
    const id = optionalText(body, kind);
    if (id !== undefined) within[kind] = id;
  }
  return within;
}

const OPEN: readonly (readonly [prefix: string, key: string, state: string])[] = [
  ["action:", "state", "open"],
  ["intent:", "state", "open"],
  ["session:", "state", "running"],
  ["transaction:", "status", "active"],
  ["conflict:", "state", "open"],
];

/**
 * Returns true if an event with this content leaves the record unfinished. Unfinished records are open actions, intents
 * and conflicts, running sessions, and active transactions. The index stores the result, so that unfinished records are
 * found without reading all records.
 */
export function leavesOpen(recordId: string, record: RecordBody): boolean {
  return OPEN.some(([prefix, key, state]) => recordId.startsWith(prefix) && record[key] === state);
}

/** The maximum length, in characters, of a request id that a caller chooses. */
export const MOST_REQUEST_CHARS = 200;

/**
 * Returns the id of the intent for a request id that a caller has chosen. The same request id always gives the same
 * intent id, so that a repeated request is recognised.
 */
export function intentOfRequest(request: string): string {
  return idOfText(`chronicle request\0${request}`);
}

/**
 * Derives an id from a text: a UUID of version 8 (RFC 9562), made from the SHA-256 of the text. The same text always
 * gives the same id.
 */
export function idOfText(text: string): string {
  const hex = sha256(text);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}
