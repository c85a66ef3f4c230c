import type { Json, RecordBody } from "../values/event.ts";
import { oneOf, optionalText, orNull, text, whole } from "../values/record-fields.ts";

/**
 * `transaction:<id>`: actions that are completed or rolled back as a whole. A savepoint is a transaction with a parent.
 */
export interface TransactionRecord {
  readonly status: TransactionStatus;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** The state before the transaction is the state after this event. */
  readonly fromSeq: number;
  /** Only for a savepoint: the enclosing transaction. */
  readonly parent?: string;
  readonly name?: string;
  readonly actor: string;
  /**
   * The agent's session to which the transaction belongs. Only actions of this session are part of the transaction.
   * Default: actions of all sessions are part of it.
   */
  readonly session?: string;
  /**
   * `actions`: only the following changes belong to the transaction:
   * - changes of actions and writes
   * - restores, undos and redos of the client that began the transaction
   *
   * If this field and `session` are omitted, changes that no action made also belong to the transaction while it is the
   * innermost bracket.
   */
  readonly scope?: "actions";
  /** The client that began the transaction, by its own name. */
  readonly client?: string;
  /**
   * Only for a transaction of actions: the mark of the process that began it. A restore, undo or redo is a step of the
   * transaction only if it has the same actor, client and mark. If the mark of the step is unknown, the actor and the
   * client decide.
   */
  readonly process?: string;
  /**
   * The process whose death ends the transaction. `null` if only a command ends the transaction, as for transactions of
   * the command line.
   */
  readonly pid: number | null;
  /** Distinguishes the process from others that had the same pid. */
  readonly pidMark?: string;
  /** The PID namespace of `pid`. */
  readonly pidSpace?: string;
  /** The way in which the transaction ends if the process `pid` dies. */
  readonly onOwnerDeath: "rollback" | "keep";
  /** The operation that rolled the transaction back. */
  readonly undo?: string;
  /**
   * The run and the action within which the transaction was begun. A transaction within a run cannot be undone by
   * itself. Only the run can be undone.
   */
  readonly run?: string;
  readonly action?: string;
  /**
   * The run that the transaction contains (`run --rollback-on-failure`). Changes that others make during the run are
   * not part of the transaction.
   */
  readonly holds?: string;
  /** The number of paths that the transaction and its savepoints changed. Set once the transaction is committed. */
  readonly changed?: number;
}

export type TransactionStatus = "active" | "committed" | "rolled_back";

/** Returns true if changes that no action made belong to the transaction while it is the innermost bracket. */
export function holdsFolder({ scope, session }: Pick<TransactionRecord, "scope" | "session">): boolean {
  return scope === undefined && session === undefined;
}

/** Returns true if restores, undos and redos within the transaction belong to it. */
export function holdsSteps({ scope, session }: Pick<TransactionRecord, "scope" | "session">): boolean {
  return scope === "actions" || session === undefined;
}

export function transactionRecordId(id: string): string {
  return `transaction:${id}`;
}

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

/** Decodes a transaction record. Throws `LOG_DAMAGED` if it is invalid. */
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
