import type { Json, RecordBody } from "../values/event.ts";
import { oneOf, optionalText, orNull, text, whole } from "../values/record-fields.ts";

/** `transaction:<id>`: work that is committed or rolled back as a whole. A savepoint is a transaction with a parent. */
export interface TransactionRecord {
  readonly status: TransactionStatus;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** The last event before the transaction. The transaction began with the state right after this event. */
  readonly fromSeq: number;
  /** Only for a savepoint: the enclosing transaction. */
  readonly parent?: string;
  readonly name?: string;
  readonly actor: string;
  /**
   * The agent's session to which the transaction belongs. Only actions and writes of this session are part of the
   * transaction. Default: actions and writes of all sessions are part of the transaction.
   */
  readonly session?: string;
  /**
   * With `actions`, only the following changes belong to the transaction:
   * - the changes of actions and writes
   * - the restores, undos and redos of the client that began the transaction
   *
   * If both this field and `session` are omitted, these changes belong to the transaction, too:
   * - all restores, undos and redos while the transaction is active
   * - the changes that no action makes while the transaction is the innermost bracket
   */
  readonly scope?: "actions";
  /** The client that began the transaction, by the name that the client gives itself. */
  readonly client?: string;
  /**
   * Only with the scope `actions`: the mark of the process that began the transaction. Omitted if this process does not
   * own the transaction. A restore, undo or redo belongs to the transaction only if it has the transaction's actor,
   * client and mark. If the mark of the transaction or of the operation is unknown, only the actor and the client are
   * compared.
   */
  readonly process?: string;
  /**
   * The pid of the process that owns the transaction. If this process ends, the transaction is ended, too. `null` if no
   * process owns the transaction. Then only a commit or a rollback ends the transaction. Transactions that the command
   * line begins have no owner.
   */
  readonly pid: number | null;
  /** A mark that distinguishes the process from earlier and later processes with the same pid. */
  readonly pidMark?: string;
  /** The PID namespace of `pid`. */
  readonly pidSpace?: string;
  /**
   * The way in which the transaction is ended if the process `pid` ends first. `keep`: the transaction is committed.
   * `rollback`: the transaction is rolled back, or committed if it cannot be rolled back.
   */
  readonly onOwnerDeath: "rollback" | "keep";
  /**
   * The id of the operation that rolled the transaction back. Omitted if the rollback changed nothing, and for a
   * savepoint that was rolled back with its parent.
   */
  readonly undo?: string;
  /**
   * The run and the action within which the transaction was begun. A transaction within a run cannot be undone by
   * itself. Only the run can be undone.
   */
  readonly run?: string;
  readonly action?: string;
  /**
   * Only for the transaction of `run --rollback-on-failure`: the id of the run that the transaction contains. Changes
   * that others make during the run are not part of the transaction.
   */
  readonly holds?: string;
  /**
   * The number of paths that the transaction and its savepoints changed. Set once the transaction is committed, but not
   * for a savepoint that was committed with its parent.
   */
  readonly changed?: number;
}

export type TransactionStatus = "active" | "committed" | "rolled_back";

/** Returns true if changes that no action makes belong to the transaction while it is the innermost bracket. */
export function holdsFolder({ scope, session }: Pick<TransactionRecord, "scope" | "session">): boolean {
  return scope === undefined && session === undefined;
}

/** Returns true if restores, undos and redos can belong to the transaction while it is active. */
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
