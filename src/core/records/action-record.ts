import { type Aside, decodeAside, encodeAside } from "./aside.ts";
import { coverageOf, type Coverage, type OmissionReason } from "./coverage.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import type { Hash } from "../values/hash.ts";
import { decodeOmittedChanges, encodeOmittedChanges, type OmittedChange } from "./omitted-change.ts";
import type { WorkspacePath } from "../values/path.ts";
import {
  flag,
  hashOf,
  list,
  object,
  oneOf,
  optionalText,
  orNull,
  text,
  texts,
  whole,
} from "../values/record-fields.ts";

/**
 * `action:<id>`: one thing that an actor does, such as a tool call or a command. The first event of the record is the
 * snapshot that was made before the action.
 */
export interface ActionRecord {
  readonly state: ActionState;
  /** The type of the tool: `write_file`, `run_command`, or any other word. */
  readonly type: string;
  /** A text for messages: `write_file: main.go`. Secrets are masked. */
  readonly summary: string;
  /**
   * The changes that belong to the action.
   * - `paths`: changes at the declared paths (the field `paths`) and beneath them.
   * - `workspace`: changes anywhere, except at paths that another action declares. For this scope, the whole workspace
   *   is captured before and after the action.
   */
  readonly scope: "paths" | "workspace";
  /** The declared paths: the paths that the action says it will change. */
  readonly paths: readonly WorkspacePath[];
  /**
   * The paths whose states before the action were kept. If there are more than 20,000 of these paths, only the declared
   * paths are listed.
   */
  readonly files: readonly BackedUpFile[];
  /** Folders above the action's paths that did not exist before the action. */
  readonly missing: readonly WorkspacePath[];
  /** Absolute paths outside of the workspace whose states before the action were kept, in records `outside:<path>`. */
  readonly outside: readonly string[];
  readonly actor: string;
  /**
   * The id of the agent's session, of the turn in the session, and of the agent's tool call. Each id is omitted if it
   * is unknown.
   */
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  /** The innermost transaction to which the action belongs. */
  readonly transaction?: string;
  /** The run within which the action began. An undo of this run also undoes the action. */
  readonly run?: string;
  /** The other action within which this action began, such as a tool call that started another agent. */
  readonly action?: string;
  /** The hash of the first event of the previous action (its snapshot); `""` for the first action. */
  readonly previous: Hash | "";
  /** The seq, hash, time and depth of the action's first event. Only the later events of the record have this field. */
  readonly begun?: BegunAt;
  /**
   * The process that will finish the action; `null` if no process is known. If the process ends before the action is
   * finished, the action is abandoned.
   */
  readonly pid: number | null;
  /** A text that distinguishes the process from earlier and later processes with the same pid. */
  readonly pidMark?: string;
  /** The PID namespace of `pid`. */
  readonly pidSpace?: string;
  /** The seq of an event. The state after this event is the state before the action. */
  readonly fromSeq: number;
  readonly pinned: boolean;
  readonly coverage: Coverage;
  readonly started: string;
  readonly ended: string | null;
  /** The seq of the last event that can be a change of the action. Set once the action is no longer open. */
  readonly toSeq?: number;
  /** The number of paths that the action changed; `null` while the action is open. */
  readonly changed: number | null;
  /** The reason why the action failed, or was denied or abandoned. */
  readonly reason?: string;
  /**
   * The hash of a private blob that lists the paths that were omitted before the action (`omitted-change.ts`). The blob
   * is needed while the action can still be finished (`open`, `denied`, `abandoned`).
   */
  readonly omittedBefore?: Hash;
  /** The contents that were kept aside for the action. Omitted if there are none. */
  readonly aside?: Aside;
  /**
   * The state of the git repositories when the action began, as a blob (`git-record.ts`). Set only for a command's
   * action, and only while the action can still be finished. Omitted if there are no repositories.
   */
  readonly git?: Aside;
  /** The action's changes to omitted paths. Empty while the action is open. */
  readonly omittedChanges: readonly OmittedChange[];
}

/**
 * The state of an action:
 * - `open`: the action is not finished. Every action begins in this state.
 * - `done`, `failed` or `denied`: the outcome with which the action was finished. A `failed` or `denied` action keeps
 *   its snapshot. A `denied` action can still be finished as `done` or `failed`, if it has run after all.
 * - `abandoned`: nobody finished the action. The action can still be finished later.
 */
export type ActionState = "open" | "done" | "failed" | "denied" | "abandoned";

/** The seq, hash and time of an action's first event, and the depth. */
export interface BegunAt {
  readonly seq: number;
  readonly hash: Hash;
  readonly ts: string;
  /** The nesting depth of the agent. */
  readonly depth: number;
}

/** A path whose state before an action can be restored. */
export interface BackedUpFile {
  readonly path: WorkspacePath;
  /**
   * The number of the iteration that has the state; 0 if no iteration has the state. If the number is 0, the path did
   * not exist (`absent` is true), or its state is kept aside (`absent` is false).
   */
  readonly iteration: number;
  /** True if the path did not exist. In that case, a rollback removes whatever is at the path. */
  readonly absent: boolean;
}

export function actionRecordId(id: string): string {
  return `action:${id}`;
}

export function encodeAction(record: ActionRecord): RecordBody {
  const { session, turn, toolCall, transaction, run, action, reason } = record;
  const optional: Record<string, Json> = {};
  for (const [key, value] of Object.entries({ session, turn, tool_call: toolCall, transaction, run, action, reason })) {
    if (value !== undefined) optional[key] = value.toWellFormed();
  }
  return {
    state: record.state,
    type: record.type.toWellFormed(),
    summary: record.summary.toWellFormed(),
    scope: record.scope,
    paths: record.paths.map(encodePath),
    files: record.files.map(({ path, iteration, absent }) => ({ ...encodePath(path), iteration, absent })),
    ...(record.missing.length === 0 ? {} : { missing: record.missing.map(encodePath) }),
    outside: record.outside,
    actor: record.actor.toWellFormed(),
    ...optional,
    ...(record.begun === undefined ? {} : { begun: { ...record.begun } }),
    previous: record.previous,
    pid: record.pid,
    ...(record.pidMark === undefined ? {} : { pid_mark: record.pidMark }),
    ...(record.pidSpace === undefined ? {} : { pid_space: record.pidSpace }),
    from_seq: record.fromSeq,
    pinned: record.pinned,
    omitted: record.coverage.omitted.map((one) => ({
      ...encodePath(one.path),
      reason: one.reason,
      ...(one.detail === undefined ? {} : { detail: one.detail.toWellFormed() }),
    })),
    started: record.started,
    ended: record.ended,
    ...(record.toSeq === undefined ? {} : { to_seq: record.toSeq }),
    changed: record.changed,
    ...(record.omittedBefore === undefined ? {} : { omitted_before: record.omittedBefore }),
    ...(record.aside === undefined ? {} : { aside: encodeAside(record.aside) }),
    ...(record.git === undefined ? {} : { git: encodeAside(record.git) }),
    ...(record.omittedChanges.length === 0 ? {} : { omitted_changes: encodeOmittedChanges(record.omittedChanges) }),
  };
}

const STATES: ReadonlySet<ActionState> = new Set(["open", "done", "failed", "denied", "abandoned"]);
const SCOPES: ReadonlySet<ActionRecord["scope"]> = new Set(["paths", "workspace"]);

/** Decodes an action record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeAction(body: RecordBody): ActionRecord {
  const optional: Record<string, string> = {};
  const names = {
    session: "session",
    turn: "turn",
    toolCall: "tool_call",
    pidMark: "pid_mark",
    pidSpace: "pid_space",
  } as const;
  for (const [name, key] of Object.entries({
    ...names,
    transaction: "transaction",
    run: "run",
    action: "action",
    reason: "reason",
  })) {
    const value = optionalText(body, key);
    if (value !== undefined) optional[name] = value;
  }
  const aside = decodeAside(body);
  const git = decodeAside(body, "git");
  return {
    state: oneOf(body, "state", STATES),
    type: text(body, "type"),
    summary: text(body, "summary"),
    scope: oneOf(body, "scope", SCOPES),
    paths: list(body, "paths").map((one) => decodePath(object(one, "a path"))),
    files: list(body, "files").map((item) => {
      const one = object(item, "a file");
      return { path: decodePath(one), iteration: whole(one, "iteration"), absent: flag(one, "absent") };
    }),
    missing:
      body["missing"] === undefined ? [] : list(body, "missing").map((one) => decodePath(object(one, "a folder"))),
    outside: texts(body, "outside"),
    actor: text(body, "actor"),
    ...optional,
    ...(body["begun"] === undefined ? {} : { begun: decodeBegun(body["begun"]) }),
    previous: body["previous"] === "" ? "" : hashOf(body, "previous"),
    pid: orNull(body, "pid", whole),
    fromSeq: whole(body, "from_seq"),
    pinned: flag(body, "pinned"),
    coverage: coverageOf(
      list(body, "omitted").map((item) => {
        const one = object(item, "an omission");
        const detail = optionalText(one, "detail");
        const base = { path: decodePath(one), reason: text(one, "reason") as OmissionReason };
        return detail === undefined ? base : { ...base, detail };
      }),
    ),
    started: text(body, "started"),
    ended: orNull(body, "ended", text),
    ...(body["to_seq"] === undefined ? {} : { toSeq: whole(body, "to_seq") }),
    changed: orNull(body, "changed", whole),
    ...(body["omitted_before"] === undefined ? {} : { omittedBefore: hashOf(body, "omitted_before") }),
    ...(aside === undefined ? {} : { aside }),
    ...(git === undefined ? {} : { git }),
    omittedChanges: decodeOmittedChanges(body, "omitted_changes"),
  };
}

function decodeBegun(value: Json): BegunAt {
  const body = object(value, "begun");
  return { seq: whole(body, "seq"), hash: hashOf(body, "hash"), ts: text(body, "ts"), depth: whole(body, "depth") };
}
