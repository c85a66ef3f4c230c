import type { TransactionOptions } from "../../api/action-api.ts";
import type { TransactionRollbackShape, TransactionShape } from "../../api/action-shapes.ts";
import type { UndoShape } from "../../api/shapes.ts";
import { ChronicleError, type ErrorCode } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { decodeIntent, type Within } from "../../core/records/records.ts";
import {
  encodeTransaction,
  transactionRecordId,
  type TransactionRecord,
  type TransactionStatus,
} from "../../core/records/transaction-record.ts";
import { openRows } from "../facts/actions.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { onlyFinished } from "./before-change.ts";
import { capture } from "../capture/capture.ts";
import { catchUp } from "../log/catch-up.ts";
import { withCommit } from "../commit/commit.ts";
import { openBrackets } from "../facts/brackets.ts";
import { Nesting, placeOf } from "../facts/nesting.ts";
import type { Context } from "../log/context.ts";
import { coverageAt } from "../facts/recorded-coverage.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { isOwnerId, ownerOf, UNOWNED_HOURS } from "../log/owner-process.ts";
import { fileEvents, groupsOf, netChanges } from "../facts/own-work.ts";
import { readEvent } from "../log/read-events.ts";
import { shownPath } from "../log/shape.ts";
import { labelOf, workOfTransaction } from "../facts/transaction-work.ts";
import {
  allTransactions,
  activeTransactions,
  familyOf,
  findTransaction,
  transactionShapes,
  type LoggedTransaction,
} from "../facts/transactions.ts";
import { tellOfCopies } from "../log/tell-of-copies.ts";
import { undoOf, undoWork } from "./undo-selection.ts";
import { refuseTakenId } from "../facts/taken-ids.ts";
import { checkActorName, checkVisible } from "../../core/records/actor-name.ts";
import { optional } from "../../util/optional.ts";

/**
 * Transactions: the changes between the beginning and the end are all kept, or all rolled back.
 *
 * The whole workspace is captured at the beginning and at the end. If the transaction is for the whole folder
 * (`holdsFolder`), plain writes between the two captures therefore belong to the transaction. If the owner dies, the
 * next change of the workspace rolls the transaction back. A transaction that was begun with `onOwnerDeath: "keep"` is
 * committed instead.
 */

/**
 * Begins a transaction, or a savepoint (see `parentFor`). `actions` has the ids of the actions within whose functions
 * the program begins the transaction. Throws `USAGE` for invalid options, and for a session id that is not an agent's.
 */
export async function beginTransaction(
  context: Context,
  options: TransactionOptions = {},
  actions: readonly string[] = [],
): Promise<TransactionShape> {
  checkOptions(options);
  if (options.session !== undefined) await refuseTakenId(context, options.session);
  refuseOverQuota(context);
  await capture(context, { cause: "capture" });
  return shapeNow(context, await openTransaction(context, options, { actions }));
}

/** A run whose changes belong to a transaction. */
export interface HeldRun {
  readonly id: string;
  readonly within: Within;
}

/** The run that a new transaction holds, or the actions within whose functions the program begins the transaction. */
export interface Surroundings {
  readonly holds?: HeldRun;
  readonly actions?: readonly string[];
}

/**
 * Writes the record of a new transaction, and returns its id. If an active transaction holds the same run already,
 * returns the id of that transaction. The caller must capture the workspace before.
 */
export async function openTransaction(
  context: Context,
  options: TransactionOptions,
  around: Surroundings,
): Promise<string> {
  const { holds } = around;
  let id = context.newId();
  const { name, session } = options;
  const pid = options.pid === undefined ? context.processes.pid : options.pid;
  await withCommit(context, async (commit) => {
    const { seq } = await commit.head();
    const active = await activeTransactions(context);
    // An earlier attempt at the same request may have begun the run and its transaction.
    const known = holds === undefined ? undefined : active.find((one) => one.holds === holds.id && !one.orphaned);
    if (known !== undefined) {
      id = known.id;
      return;
    }
    const within = around.holds?.within ?? (await placeFor(context, pid, around.actions ?? []));
    const parent = parentFor(active, { pid, session, scope: options.scope, within, holds });
    const { run, action } = within;
    const owner = ownerOf(context, pid);
    const record: TransactionRecord = {
      status: "active",
      startedAt: new Date(context.now()).toISOString(),
      finishedAt: null,
      fromSeq: seq,
      ...optional({ parent }),
      ...(name === undefined ? {} : { name: name.toWellFormed() }),
      actor: options.actor ?? context.caller.actor,
      ...optional({ session }),
      ...(options.scope === "actions" ? { scope: options.scope } : {}),
      ...optional({ client: context.caller.client }),
      ...owner,
      ...(options.scope === "actions" && pid === context.processes.pid && owner.pidMark !== undefined
        ? { process: owner.pidMark }
        : {}),
      onOwnerDeath: options.onOwnerDeath ?? "rollback",
      ...optional({ run, action }),
      ...(holds === undefined ? {} : { holds: holds.id }),
    };
    await commit.append([draftOf(id, record)]);
  });
  return id;
}

/** Returns the brackets of which a new transaction is a part. An undo of such a bracket also undoes the transaction. */
async function placeFor(context: Context, pid: number | null, actions: readonly string[]): Promise<Within> {
  const nesting = await Nesting.of(context, await openBrackets(context));
  return (await placeOf(context, nesting, { pid, within: actions, guess: true })).within;
}

/** The maximum length of names of transactions, sessions and actors, in UTF-16 code units. */
const MOST_CHARS = 1_000;

/** Throws `USAGE` for an invalid option. */
function checkOptions({ name, session, actor, pid, onOwnerDeath, scope }: TransactionOptions): void {
  for (const [key, value] of Object.entries({ name, session, actor })) {
    if (value === undefined || (value !== "" && value.length <= MOST_CHARS && value.isWellFormed())) continue;
    throw new ChronicleError("USAGE", `the ${key} of a transaction is empty, too long or not well-formed text`, {
      hint: `give up to ${MOST_CHARS} characters, or leave it out`,
    });
  }
  checkActorName(actor);
  checkVisible("session", session);
  if (scope !== undefined && scope !== "folder" && scope !== "actions") {
    throw new ChronicleError("USAGE", `the scope of the transaction is unknown: ${String(scope)}`, {
      hint: "`scope` is `folder` or `actions`",
    });
  }
  const soundRule = onOwnerDeath === undefined || onOwnerDeath === "rollback" || onOwnerDeath === "keep";
  if (isOwnerId(pid) && soundRule) return;
  throw new ChronicleError("USAGE", "the owner of the transaction is not valid", {
    hint: "`pid` is a process's number or null, `onOwnerDeath` is `rollback` or `keep`",
  });
}

interface Begun {
  readonly pid: number | null;
  readonly session: string | undefined;
  readonly scope: TransactionOptions["scope"];
  readonly within: Within;
  readonly holds: HeldRun | undefined;
}

/**
 * Returns the id of the transaction in which a new transaction is a savepoint; `undefined` if there is none. Normally,
 * this is the innermost active transaction of the same session and scope that no other process owns and that is not
 * held for a run (`holds`). There are two exceptions:
 * - A new transaction that holds a run is a savepoint of the transaction around the run.
 * - A new transaction that begins within a held run is a savepoint of the transaction that holds the run, or of a later
 *   transaction of its own session.
 */
function parentFor(active: readonly LoggedTransaction[], of: Begun): string | undefined {
  const around = active.find((one) => one.id === of.within.transaction);
  if (of.holds !== undefined) return around?.id;
  const own = active.findLast(
    (one) =>
      one.session === of.session &&
      (one.scope ?? "folder") === (of.scope ?? "folder") &&
      one.holds === undefined &&
      !one.orphaned &&
      (one.pid === null || (one.pid === of.pid && !one.elsewhere)),
  );
  if (around?.holds === undefined) return own?.id;
  return own !== undefined && own.fromSeq > around.fromSeq ? own.id : around.id;
}

/**
 * Commits a transaction and its savepoints. Throws `NOT_FOUND` or `AMBIGUOUS` if the id does not name one transaction,
 * and `REFUSED` if the transaction is not active.
 */
export async function commitTransaction(
  context: Context,
  id: string,
  { byRule }: Pick<RollbackHow, "byRule"> = {},
): Promise<TransactionShape> {
  const transaction = await activeOne(context, id);
  await capture(context, { cause: "capture", ...(byRule === true ? {} : reopened(transaction)) });
  const changed = await countChanges(context, transaction);
  await finish(context, transaction.id, { status: "committed", changed });
  return shapeNow(context, transaction.id);
}

/**
 * Commits the transaction of a run. The caller has captured the changes of the run. Throws `REFUSED` if the transaction
 * is not active (see `endedBefore`).
 */
export async function commitRun(context: Context, id: string): Promise<void> {
  const transaction = await activeOne(context, id);
  await finish(context, id, { status: "committed", changed: await countChanges(context, transaction) });
}

/** Returns the number of paths with recorded changes of the transaction that are not undone yet. */
export async function countChanges(context: Context, transaction: LoggedTransaction): Promise<number> {
  const committed = { ...transaction, status: "committed" as const, lastSeq: (await context.index.head()).seq };
  const { own } = await undoOf(context, await workOfTransaction(context, committed));
  return netChanges(await groupsOf(context, own)).length;
}

export interface RollbackHow {
  /**
   * Set if the owner is gone and nobody asked for the rollback. The rollback then undoes only changes that the log
   * already attributes to the transaction.
   */
  readonly byRule?: true;
  /**
   * True if every path that cannot be changed is skipped and listed. If false, only paths that somebody changes during
   * the rollback are skipped. Another path that cannot be changed prevents the whole rollback, and the transaction
   * stays active.
   */
  readonly force?: boolean;
}

/**
 * Undoes a transaction and its savepoints, as one operation that can be redone. Later work of others stays. Throws
 * `NOT_FOUND` or `AMBIGUOUS` if the id does not name one transaction, and `REFUSED` if the transaction has ended or
 * cannot be rolled back.
 */
export async function rollbackTransaction(
  context: Context,
  id: string,
  { force = false, byRule }: RollbackHow = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<TransactionRollbackShape> {
  const transaction = await activeOne(context, id);
  if (transaction.orphaned && byRule !== true)
    await capture(context, { cause: "capture", reserve: true, ...reopened(transaction) });
  const undone =
    (await rollbackDone(context, transaction, { byRule, before })) ??
    (await undoWork(context, () => workOfTransaction(context, transaction), {
      finished: labelOf(transaction),
      options: { force },
      before,
    }));
  const undo = undone.undo_id ?? undefined;
  await finish(context, transaction.id, {
    status: "rolled_back",
    ...optional({ undo }),
  });
  const stayed = [...(await stayedNotes(context, transaction)), ...(await erasedNotes(context))];
  const notes = [...undone.notes, ...leftNotes(transaction, undone), ...stayed];
  return { transaction: await shapeNow(context, transaction.id), undo: { ...undone, notes } };
}

/** Returns notes on paths that the rollback left, with the command that restores them. */
function leftNotes({ fromSeq }: LoggedTransaction, { skipped }: UndoShape): string[] {
  const restoring = `\`chronicle restore seq:${fromSeq} PATH\``;
  const isLeft = (why: string): boolean => skipped.some(({ reason }) => reason === why);
  return [
    ...(isLeft("special") || isLeft("left-out")
      ? [`some paths were left because something else is in their place: once that is gone, ${restoring} restores them`]
      : []),
    ...(isLeft("changed-meanwhile")
      ? [`paths that were changed meanwhile were left as they are: ${restoring} restores their earlier state`]
      : []),
  ];
}

/** The maximum number of paths that a note names. */
const MOST_PATHS = 20;

/** Returns a note on ambiguous changes. The rollback leaves these changes, because others may have made them. */
async function stayedNotes(context: Context, { id, fromSeq }: LoggedTransaction): Promise<string[]> {
  const family = new Set(familyOf(await allTransactions(context), id).map((one) => one.id));
  const paths = new Set<string>();
  for await (const { record, path } of fileEvents(context, { fromSeq, toSeq: (await context.index.head()).seq })) {
    const mayBeIts = record.actor === "ambiguous" && record.candidates?.some((one) => family.has(one)) === true;
    if (mayBeIts) paths.add(shownPath(path));
  }
  if (paths.size === 0) return [];
  const shown = [...paths].toSorted().slice(0, MOST_PATHS);
  const more = paths.size > shown.length ? ` and ${paths.size - shown.length} more` : "";
  return [`it is not known whether the transaction changed these, so they stay: ${shown.join(", ")}${more}`];
}

/**
 * Returns notes on recorded files that have an erased content now. The log does not say whether the transaction wrote
 * this content.
 */
async function erasedNotes(context: Context): Promise<string[]> {
  const { seq } = await context.index.head();
  const left = (await coverageAt(context, seq))?.omitted ?? [];
  const erased = left.filter(({ reason }) => reason === "erased").map(({ path }) => path);
  const rows = await context.index.iterationsAt(erased, seq);
  const paths = rows.flatMap((row) => (row?.entry === undefined ? [] : [shownPath(row.path)]));
  if (paths.length === 0) return [];
  const more = paths.length > MOST_PATHS ? ` and ${paths.length - MOST_PATHS} more` : "";
  return [
    `the present content of these paths was erased from the history, so they stay as they are: ${paths.slice(0, MOST_PATHS).join(", ")}${more}`,
  ];
}

/**
 * Returns the capture option that reopens the transaction if its owner is gone; `{}` otherwise. The caller has named
 * the transaction, which therefore counts as open until now. The capture then still attributes changes to the
 * transaction.
 */
function reopened({ id, orphaned }: LoggedTransaction): { readonly reopened?: string } {
  return orphaned ? { reopened: id } : {};
}

/**
 * Returns the result of an earlier rollback that changed the files, but was interrupted before it marked the
 * transaction as rolled back. Returns `undefined` if there is no such rollback, or if the transaction has made a change
 * since. If a caller named the transaction, the workspace is captured first, to find changes that are not recorded yet.
 */
async function rollbackDone(
  context: Context,
  transaction: LoggedTransaction,
  { byRule, before }: { readonly byRule: true | undefined; readonly before: BeforeChange },
): Promise<UndoShape | undefined> {
  const label = labelOf(transaction);
  const finished = before.finished.filter(({ intent }) => intent.selection === label);
  const done = await rollbackIntent(context, transaction);
  if (done === undefined) return undefined;
  if (byRule !== true && !transaction.orphaned) await capture(context, { cause: "capture", reserve: true });
  const work = await workOfTransaction(context, transaction);
  for await (const { seq, record, path } of fileEvents(context, { fromSeq: done.seq, toSeq: work.toSeq }))
    if (work.isOwn(record, path, seq)) return undefined;
  return finished.length > 0 ? onlyFinished(context, finished, false) : nothing(done.id);
}

/**
 * Returns the finished undo of the transaction that was recorded after the transaction's record; `undefined` if there
 * is none.
 */
async function rollbackIntent(
  context: Context,
  transaction: LoggedTransaction,
): Promise<{ readonly id: string; readonly seq: number } | undefined> {
  const label = labelOf(transaction);
  for (const row of (await context.index.records("intent:")).toReversed()) {
    const { seq } = row;
    if (seq <= transaction.lastSeq) return undefined;
    const intent = decodeIntent((await readEvent(context, row)).record);
    if (intent.selection === label && intent.state === "done") return { id: row.recordId.slice("intent:".length), seq };
  }
  return undefined;
}

/**
 * Returns the answer for a rollback that was completed before. `undo` is the id of the undo that the rollback recorded.
 */
function nothing(undo: string): UndoShape {
  return {
    changes: [],
    undo_id: undo,
    skipped: [],
    conflicts: [],
    dry_run: false,
    finished: ["finished the interrupted rollback"],
    operation: null,
    notes: [],
    direction: "undo",
    unmerged: [],
  };
}

/**
 * Throws `NOT_FOUND` if no transaction matches, `AMBIGUOUS` if several match, and `REFUSED` if the transaction is not
 * active.
 */
async function activeOne(context: Context, id: string): Promise<LoggedTransaction> {
  await catchUp(context, { recover: false });
  const transaction = findTransaction(await allTransactions(context), id);
  if (transaction.status === "active") return transaction;
  throw refuseEnded(transaction);
}

function refuseEnded({ id, status }: LoggedTransaction): ChronicleError {
  const done = status === "committed" ? "committed" : "rolled back";
  return new ChronicleError("REFUSED", `the transaction ${id} was ${done} already`, {
    hint:
      status === "committed"
        ? "`chronicle undo` takes back what was committed"
        : "`chronicle redo` brings back what was rolled back last",
    data: { transaction: id, status },
  });
}

/** Returns how the transaction ended, if the error says that it is no longer active; `undefined` otherwise. */
export function endedBefore(error: unknown): Finish["status"] | undefined {
  if (!(error instanceof ChronicleError) || error.code !== "REFUSED") return undefined;
  const { status } = error.data ?? {};
  return status === "committed" || status === "rolled_back" ? status : undefined;
}

interface Finish {
  readonly status: Exclude<TransactionStatus, "active">;
  readonly undo?: string;
  readonly changed?: number;
}

/** Ends a transaction and its active savepoints. Throws `REFUSED` if the transaction ended meanwhile. */
async function finish(context: Context, id: string, end: Finish): Promise<void> {
  await withCommit(context, async (commit) => {
    const family = familyOf(await allTransactions(context), id);
    const now = findTransaction(family, id);
    if (now.status !== "active") throw refuseEnded(now);
    const finishedAt = new Date(context.now()).toISOString();
    const drafts = family
      .filter((one) => one.status === "active")
      .map((one): EventDraft => {
        const { id: own, lastSeq: _seq, orphaned: _orphaned, elsewhere: _elsewhere, ...record } = one;
        const { status, ...rest } = end;
        return draftOf(own, { ...record, status, finishedAt, ...(own === id ? rest : {}) });
      });
    await commit.append(drafts);
  });
}

function draftOf(id: string, record: TransactionRecord): EventDraft {
  return { op: "upsert", recordId: transactionRecordId(id), record: encodeTransaction(record) };
}

async function shapeNow(context: Context, id: string): Promise<TransactionShape> {
  const all = await allTransactions(context);
  const [shape] = await transactionShapes(context, [findTransaction(all, id)], all);
  if (shape === undefined) throw new ChronicleError("IO", `the transaction ${id} was not recorded`);
  return shape;
}

/** Returns all transactions and savepoints, the oldest first. */
export async function listTransactions(context: Context): Promise<TransactionShape[]> {
  const all = await allTransactions(context);
  return transactionShapes(context, all, all);
}

/** The error codes after which an orphan (a transaction whose owner is gone) is committed instead of rolled back. */
const CANNOT_END: ReadonlySet<string> = new Set<ErrorCode>(["REFUSED", "PRUNED", "ERASED", "BLOB_MISSING"]);

/**
 * Ends the transactions whose owner is gone, with their savepoints, the latest first. `onOwnerDeath` decides how each
 * transaction ends. A transaction that cannot be rolled back is committed. If such a transaction stayed active, later
 * restores and undos would count as its parts, and a later rollback would undo these restores and undos. Skips a
 * transaction that another process has ended meanwhile.
 */
export async function endOrphans(context: Context, before: BeforeChange = NOTHING_BEFORE): Promise<void> {
  if ((await openRows(context, "transaction:")).length === 0) return;
  const tried = new Set<string>();
  for (;;) {
    const orphan = nextOrphan(await activeTransactions(context), tried);
    if (orphan === undefined) return;
    tried.add(orphan.id);
    try {
      if (orphan.onOwnerDeath === "keep") await commitByRule(context, orphan);
      else await rollBackByRule(context, orphan, before);
    } catch (error) {
      if (!(error instanceof ChronicleError) || !CANNOT_END.has(error.code)) throw error;
      await catchUp(context, { recover: false });
      const isActive = (await activeTransactions(context)).some((one) => one.id === orphan.id);
      if (isActive) await keepByRule(context, orphan, error);
    }
  }
}

/**
 * Returns the last orphan that is not a savepoint of another orphan. Orphans end from the last to the first, because a
 * rollback keeps the later changes of other transactions.
 */
function nextOrphan(active: readonly LoggedTransaction[], tried: ReadonlySet<string>): LoggedTransaction | undefined {
  const orphans = active.filter((one) => one.orphaned && !tried.has(one.id));
  const savepoints = new Set(orphans.flatMap(({ id }) => familyOf(active, id).slice(1)).map((one) => one.id));
  return orphans.findLast(({ id }) => !savepoints.has(id));
}

async function commitByRule(context: Context, orphan: LoggedTransaction): Promise<void> {
  const { run, changed } = await commitTransaction(context, orphan.id, { byRule: true });
  const isStep = orphan.parent === undefined && run === undefined && changed !== 0;
  context.tell?.(
    `${ownerGone(orphan)}: the transaction was committed${isStep ? "; `chronicle undo` takes it back" : ""}`,
  );
}

async function keepByRule(context: Context, orphan: LoggedTransaction, { message }: ChronicleError): Promise<void> {
  try {
    await commitTransaction(context, orphan.id, { byRule: true });
  } catch (error) {
    // Another process has ended the transaction meanwhile.
    if (endedBefore(error) !== undefined) return;
    throw error;
  }
  const way = orphan.run === undefined && orphan.holds === undefined ? "chronicle undo" : "chronicle list";
  context.tell?.(
    `${ownerGone(orphan)}, and the transaction could not be rolled back (${message}): its changes stay; \`${way}\` ` +
      `${way === "chronicle undo" ? "takes them back" : "shows how to take them back"} once that is possible`,
  );
}

async function rollBackByRule(context: Context, orphan: LoggedTransaction, before: BeforeChange): Promise<void> {
  // Changes that were not recorded before the process died may be the work of others, so they are not rolled back.
  const { changes: unknown } = await capture(context, { cause: "capture", reserve: true });
  const { undo } = await rollbackTransaction(context, orphan.id, { force: true, byRule: true }, before);
  const count = undo.changes.length;
  const { length: left } = undo.skipped;
  const nothing = left === 0 ? "there was nothing to take back" : "nothing could be taken back";
  const isNothing = undo.undo_id === null || count + (undo.kept_aside?.length ?? 0) + (undo.git?.length ?? 0) === 0;
  const done = isNothing ? nothing : "`chronicle redo` brings its changes back";
  const paths = count === 1 ? "1 path was changed" : `${count} paths were changed`;
  tellOfCopies(context, undo.conflicts);
  context.tell?.(
    `${ownerGone(orphan)}: the transaction was rolled back, ${paths}; ${done}${stays(orphan, unknown.length)}`,
  );
}

/** Returns a note on the number of paths that the rollback leaves, with the command that restores the earlier state. */
function stays({ fromSeq }: LoggedTransaction, count: number): string {
  if (count === 0) return "";
  const [what, they] =
    count === 1 ? ["1 path was NOT rolled back", "it was"] : [`${count} paths were NOT rolled back`, "they were"];
  return `; ${what}, since ${they} not recorded before the process died: \`chronicle restore seq:${fromSeq}\` restores everything as it was before the transaction`;
}

function ownerGone({ id, name, pid, elsewhere }: LoggedTransaction): string {
  const named = name === undefined ? "" : ` (${name})`;
  const called = `that began the transaction ${id.slice(0, 8)}${named}`;
  if (!elsewhere) return `the process ${pid} ${called} is gone`;
  return `the process ${pid} of another PID namespace ${called} did not end it within ${UNOWNED_HOURS} hours`;
}
