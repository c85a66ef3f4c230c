import type { LogEvent, RecordBody } from "../values/event.ts";

/**
 * The kinds of ticks:
 * - `tool`, `command`: an action of an agent. A tool declares its paths; a command may change any path.
 * - `run`: a command that Chronicle ran.
 * - `edit`: changes that belong to no action and to no operation.
 * - `write`, `restore`, `undo`, `redo`, `resolve`: an operation.
 * - `sync`: changes that came from another copy of the workspace.
 * - `snapshot`: a snapshot, the baseline included.
 * - `conflict`: a conflict between a folder and its origin.
 */
export const TICK_KINDS = [
  ...(["tool", "command", "run", "edit", "write", "restore", "undo", "redo", "resolve", "sync"] as const),
  ...(["snapshot", "conflict"] as const),
] as const;

export type TickKind = (typeof TICK_KINDS)[number];

/**
 * The outcomes of the work of a tick. `conflict`: an undo that did not merge with later work, or an open conflict
 * between a folder and its origin.
 */
export const TICK_OUTCOMES = ["done", "open", "failed", "denied", "abandoned", "conflict"] as const;

export type TickOutcome = (typeof TICK_OUTCOMES)[number];

/** One piece of work, for drawing all work of a history over time. */
export interface Tick {
  /** The seq of the event from which the tick was made. */
  readonly seq: number;
  /**
   * The id of the record of the work. A later tick with the same record id replaces this tick. `undefined` for the
   * change of a file, which is a piece of work of its own.
   */
  readonly recordId: string | undefined;
  readonly kind: TickKind;
  readonly outcome: TickOutcome;
  /** The start and the end of the work, in ms since the epoch. The two times are equal if the duration is unknown. */
  readonly started: number;
  readonly ended: number;
  /**
   * The actor. For changes that a replica has written, the id of the replica; `""` for changes that came from an
   * origin, because the events of these changes do not name the origin.
   */
  readonly actor: string;
  /** The ids of the session and of the turn; `""` if there is no session or turn. */
  readonly session: string;
  readonly turn: string;
  /** The number of changed paths; 0 while this number is unknown. */
  readonly changed: number;
}

/**
 * The fields of an event from which a tick is made. A record in a base has no other fields of its last event, except
 * the recursion depth.
 */
export type TickSource = Pick<LogEvent, "seq" | "ts" | "op" | "recordId" | "record">;

/** Returns the tick of an event; `undefined` if the event records no work, or only a part of other work. */
export function tickOf(event: TickSource): Tick | undefined {
  if (event.op !== "upsert") return undefined;
  const { recordId } = event;
  const kind = recordId.slice(0, recordId.indexOf(":"));
  if (kind.startsWith("file")) return tickOfFile(event);
  const made = MAKERS[kind]?.(event);
  return made === undefined ? undefined : { ...plain(event), recordId, ...made };
}

type Made = Partial<Tick> & Pick<Tick, "kind">;

const MAKERS: Readonly<Record<string, ((event: TickSource) => Made | undefined) | undefined>> = {
  action: tickOfAction,
  session: tickOfRun,
  intent: tickOfIntent,
  snapshot: tickOfSnapshot,
  conflict: tickOfConflict,
};

function plain({ seq, ts, record }: TickSource): Omit<Tick, "kind"> {
  const time = timeOf(ts, 0);
  return {
    ...{ seq, recordId: undefined, outcome: "done", started: time, ended: time },
    ...{ actor: textOf(record, "actor"), session: textOf(record, "session"), turn: textOf(record, "turn") },
    changed: countOf(record, "changed"),
  };
}

/**
 * The causes of changes without a tick of their own. These changes belong to the tick of an action or of an operation,
 * or are not work.
 */
const OF_OTHERS: ReadonlySet<unknown> = new Set([
  ...(["baseline", "action", "write", "restore", "undo", "redo", "resolve", "erase"] as const),
]);

function tickOfFile(event: TickSource): Tick | undefined {
  const { record } = event;
  const { cause } = record;
  // If an event with one of these causes names an action, this action is recorded in the other copy, and has no tick
  // here.
  if (cause === "replica" || cause === "merge")
    return { ...plain(event), kind: "sync", actor: replicaOf(record), changed: 1 };
  if (OF_OTHERS.has(cause) || record["action"] !== undefined || record["intent"] !== undefined) return undefined;
  return { ...plain(event), kind: "edit", changed: 1 };
}

/** Returns the replica that wrote a change; `""` if none did. */
function replicaOf({ replica }: RecordBody): string {
  return typeof replica === "object" && replica !== null && "id" in replica ? textOf(replica, "id") : "";
}

function tickOfAction({ ts, record }: TickSource): Made {
  const state = textOf(record, "state");
  return {
    kind: record["scope"] === "workspace" ? "command" : "tool",
    outcome: TICK_OUTCOMES.find((one) => one === state) ?? "done",
    ...timesOf(record, ts),
  };
}

function tickOfRun({ ts, recordId, record }: TickSource): Made | undefined {
  if (record["kind"] !== "run") return undefined;
  const isFailed = (record["exit_code"] ?? 0) !== 0 || (record["signal"] ?? null) !== null;
  const state = record["state"];
  return {
    kind: "run",
    outcome: state === "running" ? "open" : state === "abandoned" ? "abandoned" : isFailed ? "failed" : "done",
    session: recordId.slice("session:".length),
    ...timesOf(record, ts),
  };
}

const OPERATIONS = ["write", "restore", "undo", "redo", "resolve"] as const;

/**
 * Returns the tick of an operation that is done; `undefined` for an open or abandoned operation, and for a sync. The
 * changes of a sync have ticks of their own.
 */
function tickOfIntent({ ts, record }: TickSource): Made | undefined {
  const kind = OPERATIONS.find((one) => one === record["kind"]);
  if (kind === undefined || record["state"] !== "done") return undefined;
  const time = timeOf(ts, 0);
  return {
    kind,
    outcome: record["met"] === undefined ? "done" : "conflict",
    started: timeOf(record["started"], time),
    ended: time,
    changed: Math.max(0, countOf(record, "paths") - countOf(record, "skipped")),
  };
}

/**
 * Returns the tick of a snapshot; `undefined` for a snapshot that a session made, because this snapshot is part of the
 * session.
 */
function tickOfSnapshot({ record }: TickSource): Made | undefined {
  return record["session"] === undefined ? { kind: "snapshot" } : undefined;
}

/**
 * Returns the tick of a conflict between a folder and its origin; `undefined` for a conflict of an undo, because the
 * tick of the undo has the outcome `conflict`.
 */
function tickOfConflict({ ts, record }: TickSource): Made | undefined {
  if (typeof record["origin"] !== "string") return undefined;
  const met = timeOf(record["met"], timeOf(ts, 0));
  return {
    ...{ kind: "conflict", outcome: record["state"] === "open" ? "conflict" : "done" },
    ...{ actor: record["origin"], changed: 1, started: met, ended: met },
  };
}

function timesOf(record: RecordBody, ts: string): Pick<Tick, "started" | "ended"> {
  const time = timeOf(ts, 0);
  const started = timeOf(record["started"], time);
  return { started, ended: Math.max(started, timeOf(record["ended"], time)) };
}

function textOf(record: RecordBody, name: string): string {
  const value = record[name];
  return typeof value === "string" ? value : "";
}

function countOf(record: RecordBody, name: string): number {
  const value = record[name];
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function timeOf(value: unknown, otherwise: number): number {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(time) ? time : otherwise;
}
