import { decodeAction } from "../../core/records/action-record.ts";
import { decodeSession, type Within } from "../../core/records/records.ts";
import { holdsFolder } from "../../core/records/transaction-record.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { LoggedAction } from "./actions.ts";
import type { Brackets, OpenSession, OpenTransaction } from "./brackets.ts";
import type { Context } from "../log/context.ts";
import { isElsewhere, numberHere, type OwnerProcess } from "../log/owner-process.ts";
import { readEvent } from "../log/read-events.ts";

/**
 * Finds out which open runs, actions and transactions are within others. Work that began within other work is a part of
 * that work: the changes of the inner work also belong to all work around it. Two brackets are rivals if neither is
 * within the other.
 */

export interface Bracket {
  readonly id: string;
  readonly seq: number;
  readonly depth: number;
  /** The process that owns the bracket; `null` if no such process is known. */
  readonly pid: number | null;
  readonly run?: OpenSession;
  readonly action?: LoggedAction;
  readonly transaction?: OpenTransaction;
}

export class Nesting {
  readonly all: readonly Bracket[];
  readonly #parents: ReadonlyMap<string, readonly string[]>;

  private constructor(all: readonly Bracket[], parents: ReadonlyMap<string, readonly string[]>) {
    this.all = all;
    this.#parents = parents;
  }

  static async of(context: Context, brackets: Brackets): Promise<Nesting> {
    const all = [
      ...brackets.actions.map(bracketOfAction),
      ...brackets.runs.map(bracketOfRun),
      ...brackets.transactions.map(bracketOfTransaction),
    ];
    const parents = new Map(all.map((one) => [one.id, parentsOf(one, brackets.actions)]));
    await addClosed(context, parents);
    return new Nesting(all, parents);
  }

  /** Returns the ids of all brackets around a bracket, and the bracket's own id. */
  around(id: string): ReadonlySet<string> {
    const found = new Set([id]);
    for (const one of found) for (const parent of this.#parents.get(one) ?? []) found.add(parent);
    return found;
  }

  /** True if `inner` is within `outer`, or is the same bracket. */
  isWithin(inner: string, outer: string): boolean {
    return this.around(inner).has(outer);
  }

  innermost(some: readonly Bracket[]): Bracket[] {
    return some.filter((outer) => !some.some((inner) => inner.id !== outer.id && this.isWithin(inner.id, outer.id)));
  }

  /**
   * Returns the open brackets that are certainly around each of the given brackets. A bracket counts as around itself,
   * so the result for a single bracket contains that bracket.
   */
  common(some: readonly Bracket[]): Bracket[] {
    const around = some.map((one) => this.#surelyAround(one.id));
    return this.all.filter((one) => around.every((ids) => ids.has(one.id)));
  }

  /**
   * Like `around`, but without actions that are rivals of each other. If an agent has several actions open, it is not
   * known which of these actions started a sub-agent.
   */
  #surelyAround(id: string): ReadonlySet<string> {
    const around = this.around(id);
    const calls = this.all.filter((one) => one.action !== undefined && around.has(one.id)).map((one) => one.id);
    const isRival = (one: string, other: string): boolean => !this.isWithin(one, other) && !this.isWithin(other, one);
    const rivals = new Set(calls.filter((one) => calls.some((other) => isRival(one, other))));
    return rivals.size === 0 ? around : new Set([...around].filter((one) => !rivals.has(one)));
  }
}

function bracketOfAction(action: LoggedAction): Bracket {
  const { id, seq, pid, recursionDepth: depth } = action;
  return { id, seq, depth, pid, action };
}

function bracketOfRun(run: OpenSession): Bracket {
  return { id: run.id, seq: run.seq, depth: run.depth, pid: run.record.pid, run };
}

function bracketOfTransaction(transaction: OpenTransaction): Bracket {
  const { id, seq, record } = transaction;
  return { id, seq, depth: 0, pid: record.pid, transaction };
}

function parentsOf({ run, action, transaction }: Bracket, actions: readonly LoggedAction[]): string[] {
  if (run !== undefined) return idsOf(run.record.within);
  if (action !== undefined)
    return [...idsOf(action), ...actions.filter((outer) => isSubAgents(action, outer)).map((outer) => outer.id)];
  const record = transaction?.record;
  return idsOf({ run: record?.run, action: record?.action, transaction: record?.parent });
}

function idsOf({ run, action, transaction }: { readonly [Kind in keyof Within]: string | undefined }): string[] {
  return [run, action, transaction].filter((id) => id !== undefined);
}

/**
 * True if `inner` is an action of a sub-agent, and `outer` is an earlier action of the same session that may have
 * started the sub-agent.
 */
function isSubAgents(inner: LoggedAction, outer: LoggedAction): boolean {
  return (
    inner.session !== undefined &&
    inner.session === outer.session &&
    inner.recursionDepth > outer.recursionDepth &&
    inner.seq > outer.seq
  );
}

/**
 * Adds the ended brackets around the open ones to `parents`, because an ended bracket may lie between two open
 * brackets.
 */
async function addClosed(context: Context, parents: Map<string, readonly string[]>): Promise<void> {
  const missing = new Set([...parents.values()].flat().filter((id) => !parents.has(id)));
  for (const id of missing) {
    const within = await closedWithin(context, id);
    parents.set(id, within);
    for (const parent of within) if (!parents.has(parent)) missing.add(parent);
  }
}

async function closedWithin(context: Context, id: string): Promise<string[]> {
  const run = await context.index.record(`session:${id}`);
  if (run !== undefined) return idsOf(decodeSession((await readEvent(context, run)).record).within);
  const action = await context.index.record(`action:${id}`);
  return action === undefined ? [] : idsOf(decodeAction((await readEvent(context, action)).record));
}

export interface Beginner {
  /** The process that begins the work. If this process is not known (`null`), the present process is taken instead. */
  readonly pid: number | null;
  readonly session?: string | undefined;
  /**
   * The ids of the brackets that the caller names as around the work: from `CHRONICLE_RUN`, or from an `action(…)` of
   * the library.
   */
  readonly within?: readonly string[];
  /**
   * Set if the work changes the folder itself. A transaction that owns only the changes of its actions is not around
   * such work.
   */
  readonly inFolder?: true;
  /**
   * Set if the ancestors of the process may be unknown. If no bracket is found around the work, the work then counts as
   * within the innermost open run. This rule applies only if there is exactly one innermost open run, and `pid` is
   * `null` or the process of that run.
   */
  readonly guess?: true;
}

export interface Place {
  readonly within: Within;
  readonly depth: number;
}

/**
 * Returns the place of work that begins now. The work is within the brackets that its caller names, and within the open
 * brackets of its ancestor processes. Several of these brackets can be innermost, such as concurrent tool calls of an
 * agent. Actions with declared paths are then disregarded. If exactly one innermost bracket remains, the work is within
 * that bracket. Otherwise, the work is only within the brackets that are around all innermost ones.
 */
export async function placeOf(context: Context, nesting: Nesting, by: Beginner): Promise<Place> {
  const innermost = nesting.innermost(await foundAround(context, nesting, by));
  const commands = innermost.filter((one) => one.action?.scope !== "paths");
  const meant = commands.length === 1 ? commands : innermost;
  const around = meant.length === 0 ? [] : nesting.common(meant);
  const work = nesting.innermost(around.filter((one) => one.transaction === undefined));
  const run = last(nesting.innermost(around.filter((one) => one.run !== undefined)));
  const action = last(nesting.innermost(around.filter((one) => one.action !== undefined)));
  const transaction = last(nesting.innermost(transactionsFor(nesting, around, by)));
  return {
    within: {
      ...(run === undefined ? {} : { run: run.id }),
      ...(action === undefined ? {} : { action: action.id }),
      ...(transaction === undefined ? {} : { transaction: transaction.id }),
    },
    depth: Math.max(-1, greatestOf(work.map((one) => one.depth))) + 1,
  };
}

/**
 * Returns the open transactions around work that begins now. A transaction that names a session is only around work of
 * that session. With `inFolder`, only transactions for which `holdsFolder` is true are returned. A transaction that
 * holds a run (`TransactionRecord.holds`) is only around that run and the work within the run.
 */
function transactionsFor(nesting: Nesting, around: readonly Bracket[], { session, inFolder }: Beginner): Bracket[] {
  return nesting.all.filter(({ id, transaction }) => {
    const record = transaction?.record;
    if (record === undefined || (record.session !== undefined && record.session !== session)) return false;
    if (inFolder === true && !holdsFolder(record)) return false;
    return record.holds === undefined || around.some((one) => one.id === id);
  });
}

function last(some: readonly Bracket[]): Bracket | undefined {
  return some.toSorted((a, b) => a.seq - b.seq).at(-1);
}

/**
 * Returns the brackets that are known to be around work that begins: those that the caller names, and those of the
 * ancestor processes. Brackets of the process itself (`pid`) are left out, because they may belong to another session.
 * If no such bracket is found, `guess` can add the only innermost open run (see `Beginner.guess`).
 */
async function foundAround(context: Context, nesting: Nesting, by: Beginner): Promise<Bracket[]> {
  const { processes } = context;
  const pid = by.pid ?? processes.pid;
  const open = nesting.all.filter(({ transaction }) => transaction === undefined || holdsFolder(transaction.record));
  const isOthers = (one: Bracket): boolean =>
    one.pid !== null && one.pid !== pid && !isElsewhere(context, ownerOf(one));
  const ancestors = new Set(open.some(isOthers) ? await processes.ancestors(pid) : []);
  const found = open.filter((one) => {
    const owner = numberHere(context, ownerOf(one));
    return by.within?.includes(one.id) === true || (owner !== null && ancestors.has(owner));
  });
  if (found.length > 0 || by.guess !== true) return found;
  const [run, second] = nesting.innermost(open.filter((one) => one.run !== undefined));
  const isGuessed =
    run !== undefined && second === undefined && (by.pid === null || numberHere(context, ownerOf(run)) === pid);
  return isGuessed ? [run] : [];
}

function ownerOf({ pid, action, run, transaction }: Bracket): OwnerProcess {
  return action ?? run?.record ?? transaction?.record ?? { pid };
}
