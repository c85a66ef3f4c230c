import type { Json, RecordBody } from "../values/event.ts";
import { oneOf, optionalText, orNull, text, whole } from "../values/record-fields.ts";

/** `transaction:<id>`: actions that land whole or are rolled back whole. A savepoint is a transaction with a parent. */
export interface TransactionRecord {
  readonly status: TransactionStatus;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** The state before it is that after this event. */
  readonly fromSeq: number;
  /** The transaction within which it is a savepoint. */
  readonly parent?: string;
  readonly name?: string;
  readonly actor: string;
  /** The agent's session that it belongs to: actions of others are not in it. None: everybody's are. */
  readonly session?: string;
  /**
   * `actions`: only what actions and writes did belongs to it, and the steps of the client that began it. Not there: also what
   * nobody's action did to the folder while it was the innermost bracket.
   */
  readonly scope?: "actions";
  /** The program that began it, as that calls itself. */
  readonly client?: string;
  /** Of a transaction of actions whose owner began it itself: the mark of that process. Only its operations are steps. */
  readonly process?: string;
  /** The process whose death ends it; `null`: it stays until it is told (the command line begins such). */
  readonly pid: number | null;
  /** What tells that process from others of its number. */
  readonly pidMark?: string;
  /** The PID namespace in which that process has its number. */
  readonly pidSpace?: string;
  /** What becomes of it when its owner dies. */
  readonly onOwnerDeath: "rollback" | "keep";
  /** The operation that rolled it back. */
  readonly undo?: string;
  /** The run, and the action, within which it was begun: then that is what `undo` takes back. */
  readonly run?: string;
  readonly action?: string;
  /** The run that it holds (`run --rollback-on-failure`): what others do meanwhile is not in it. */
  readonly holds?: string;
  /** Once it is committed: the paths that it changed, with its savepoints. */
  readonly changed?: number;
}

/** Where a transaction stands. */
export type TransactionStatus = "active" | "committed" | "rolled_back";

/** Does a transaction hold what no action did to the folder, while it is the innermost bracket? */
export function holdsFolder({ scope, session }: Pick<TransactionRecord, "scope" | "session">): boolean {
  return scope === undefined && session === undefined;
}

/** Do restores, undos and redos that are made within a transaction belong to it? */
export function holdsSteps({ scope, session }: Pick<TransactionRecord, "scope" | "session">): boolean {
  return scope === "actions" || session === undefined;
}

/** The record id of a transaction. */
export function transactionRecordId(id: string): string {
  return `transaction:${id}`;
}

/** A transaction record as JSON. */
export function encodeTransaction(record: TransactionRecord): RecordBody {
  const { parent, name, session, scope, client, process, undo, run, action, holds, changed, pidMark, pidSpace } =
    record;
  const optional: Record<string, Json> = {};
  for (const [key, value] of Object.entries({
    parent,
    name,
    session,
    scope,
    client,
    process,
    undo,
    run,
    action,
    holds,
  })) {
    if (value !== undefined) optional[key] = value.toWellFormed();
  }
  if (changed !== undefined) optional["changed"] = changed;
  if (pidMark !== undefined) optional["pid_mark"] = pidMark;
  if (pidSpace !== undefined) optional["pid_space"] = pidSpace;
  return {
    status: record.status,
    started_at: record.startedAt,
    finished_at: record.finishedAt,
    from_seq: record.fromSeq,
    ...optional,
    actor: record.actor.toWellFormed(),
    pid: record.pid,
    on_owner_death: record.onOwnerDeath,
  };
}

const STATUSES: ReadonlySet<TransactionStatus> = new Set(["active", "committed", "rolled_back"]);
const ENDINGS: ReadonlySet<TransactionRecord["onOwnerDeath"]> = new Set(["rollback", "keep"]);
const SCOPES: ReadonlySet<string> = new Set(["actions"]);

/** The transaction record in a body. Throws `LOG_DAMAGED`. */
export function decodeTransaction(body: RecordBody): TransactionRecord {
  const optional: Record<string, string> = {};
  for (const key of ["parent", "name", "session", "scope", "client", "process", "undo", "run", "action", "holds"]) {
    const value = optionalText(body, key);
    if (value !== undefined) optional[key] = value;
  }
  const pidMark = optionalText(body, "pid_mark");
  const pidSpace = optionalText(body, "pid_space");
  if (body["scope"] !== undefined) oneOf(body, "scope", SCOPES);
  return {
    status: oneOf(body, "status", STATUSES),
    startedAt: text(body, "started_at"),
    finishedAt: orNull(body, "finished_at", text),
    fromSeq: whole(body, "from_seq"),
    ...optional,
    ...(body["changed"] === undefined ? {} : { changed: whole(body, "changed") }),
    actor: text(body, "actor"),
    pid: orNull(body, "pid", whole),
    ...(pidMark === undefined ? {} : { pidMark }),
    ...(pidSpace === undefined ? {} : { pidSpace }),
    onOwnerDeath: oneOf(body, "on_owner_death", ENDINGS),
  };
}
