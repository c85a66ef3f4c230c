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

/** `action:<id>`: one thing that an actor did (one tool call, one command). Its first event is its snapshot. */
export interface ActionRecord {
  readonly state: ActionState;
  /** `write_file`, `run_command`, or any other word. */
  readonly type: string;
  /** For messages: `write_file: main.go`. Secrets are masked. */
  readonly summary: string;
  /**
   * `paths`: changes at `paths` and beneath them belong to it. `workspace`: changes anywhere belong to it, except at
   * paths that another action names; the whole workspace was captured before it and is captured after it.
   */
  readonly scope: "paths" | "workspace";
  readonly paths: readonly WorkspacePath[];
  /** The states of its paths before it. */
  readonly files: readonly BackedUpFile[];
  /** Folders above its paths that were not there. */
  readonly missing: readonly WorkspacePath[];
  /** Absolute paths outside of the workspace whose state was kept (`outside:<path>`). */
  readonly outside: readonly string[];
  readonly actor: string;
  /** The agent's session, the turn, and the id that the agent gave the call. */
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  readonly transaction?: string;
  /** The run within which it began. An undo of that run also undoes this action. */
  readonly run?: string;
  /** The action within which it began, such as a tool call that started another agent. */
  readonly action?: string;
  /** The hash of the previous action's snapshot (its first event); empty for the first action. */
  readonly previous: Hash | "";
  /** The place of its first event. Every later event of the action has this field. */
  readonly begun?: BegunAt;
  /** The process that will finish it. `null`: none is known, so it does not count as abandoned when a process ends. */
  readonly pid: number | null;
  /** Distinguishes the process from others that had the same pid. */
  readonly pidMark?: string;
  /** The PID namespace of `pid`. */
  readonly pidSpace?: string;
  /** The state before the action is the state after this event. */
  readonly fromSeq: number;
  readonly pinned: boolean;
  readonly coverage: Coverage;
  readonly started: string;
  readonly ended: string | null;
  /** Set once it is closed: the last event that can be one of its changes. */
  readonly toSeq?: number;
  /** The number of paths that it changed; `null` while it is open. */
  readonly changed: number | null;
  /** The reason why it failed, or was denied or abandoned. */
  readonly reason?: string;
  /**
   * A blob with the list of the omitted paths before it (`omitted-change.ts`), kept as long as the action may still end
   * (open, denied, abandoned). Private.
   */
  readonly omittedBefore?: Hash;
  /** The contents kept aside for it. */
  readonly aside?: Aside;
  /** Its changes to omitted paths. Empty until it is closed. */
  readonly omittedChanges: readonly OmittedChange[];
}

/** An action begins `open`. A `failed` or `denied` one keeps its snapshot. An `abandoned` one was never finished. */
export type ActionState = "open" | "done" | "failed" | "denied" | "abandoned";

/** The first event of an action. */
export interface BegunAt {
  readonly seq: number;
  readonly hash: Hash;
  readonly ts: string;
  /** The nesting depth of the agent. */
  readonly depth: number;
}

/** One path as it was before an action. */
export interface BackedUpFile {
  readonly path: WorkspacePath;
  /** The iteration that holds it; 0 if none does: it never existed (`absent`), or it is kept aside (not `absent`). */
  readonly iteration: number;
  /** True if it did not exist. A rollback then removes whatever is there. */
  readonly absent: boolean;
}

/** Returns the record id of an action. */
export function actionRecordId(id: string): string {
  return `action:${id}`;
}

/** Returns an action record as JSON. */
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
    ...(record.omittedChanges.length === 0 ? {} : { omitted_changes: encodeOmittedChanges(record.omittedChanges) }),
  };
}

const STATES: ReadonlySet<ActionState> = new Set(["open", "done", "failed", "denied", "abandoned"]);
const SCOPES: ReadonlySet<ActionRecord["scope"]> = new Set(["paths", "workspace"]);

/** Decodes an action record. Throws `LOG_DAMAGED`. */
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
    omittedChanges: decodeOmittedChanges(body, "omitted_changes"),
  };
}

function decodeBegun(value: Json): BegunAt {
  const body = object(value, "begun");
  return { seq: whole(body, "seq"), hash: hashOf(body, "hash"), ts: text(body, "ts"), depth: whole(body, "depth") };
}
