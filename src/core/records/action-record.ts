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

/** `action:<id>`: one thing that an actor did: one tool call, one command. The first event is its snapshot. */
export interface ActionRecord {
  readonly state: ActionState;
  /** `write_file`, `run_command`, any other word. */
  readonly type: string;
  /** For people: `write_file: main.go`. Secrets are masked. */
  readonly summary: string;
  /**
   * `paths`: changes at `paths` and beneath them are its own. `workspace`: changes anywhere, as long as no other action
   * names them: the whole workspace was captured before, and is captured after.
   */
  readonly scope: "paths" | "workspace";
  readonly paths: readonly WorkspacePath[];
  /** What there was at the paths that it was about to touch. */
  readonly files: readonly BackedUpFile[];
  /** Folders above its paths that were not there. */
  readonly missing: readonly WorkspacePath[];
  /** Absolute paths outside of the workspace whose state was kept (`outside:<path>`). */
  readonly outside: readonly string[];
  readonly actor: string;
  /** The agent's session, its turn, and the id that the agent gave the call. */
  readonly session?: string;
  readonly turn?: string;
  readonly toolCall?: string;
  readonly transaction?: string;
  /** The run within which it began: an undo of the run takes it along. */
  readonly run?: string;
  /** The action within which it began: a tool call that started another agent, say. */
  readonly action?: string;
  /** The hash of the snapshot (the first event) of the action that was begun before it; empty for the first. */
  readonly previous: Hash | "";
  /** In every later event of it: where its first one is. */
  readonly begun?: BegunAt;
  /** The process that will finish it; `null`: nobody's end closes it. */
  readonly pid: number | null;
  /** What tells that process from others of its number. */
  readonly pidMark?: string;
  /** The PID namespace in which that process has its number. */
  readonly pidSpace?: string;
  /** The state before it is that after this event. */
  readonly fromSeq: number;
  readonly pinned: boolean;
  readonly coverage: Coverage;
  readonly started: string;
  readonly ended: string | null;
  /** Once it is closed: its changes are events up to this one. */
  readonly toSeq?: number;
  /** Paths that it changed; `null` while it is open. */
  readonly changed: number | null;
  /** Why it failed, was denied or abandoned. */
  readonly reason?: string;
  /** As long as it may end (open, denied, abandoned): a blob with the list of the omitted paths before it (`omitted-list.ts`). Private. */
  readonly omittedBefore?: Hash;
  /** The contents that were kept aside for it. */
  readonly aside?: Aside;
  /** Once it is closed: what it changed of paths that no capture takes. */
  readonly omittedChanges: readonly OmittedChange[];
}

/** An action begins `open`; a tool that failed or was denied leaves its snapshot; `abandoned`: never finished. */
export type ActionState = "open" | "done" | "failed" | "denied" | "abandoned";

/** The first event of an action. */
export interface BegunAt {
  readonly seq: number;
  readonly hash: Hash;
  readonly ts: string;
  /** How deep in nested agents. */
  readonly depth: number;
}

/** One path as it was before an action. */
export interface BackedUpFile {
  readonly path: WorkspacePath;
  /** The iteration that holds it; 0: it was never recorded and not there. */
  readonly iteration: number;
  /** It was not there: a rollback removes what is there then. */
  readonly absent: boolean;
}

/** The record id of an action. */
export function actionRecordId(id: string): string {
  return `action:${id}`;
}

/** An action record as JSON. */
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

/** The action record in a body. Throws `LOG_DAMAGED`. */
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
