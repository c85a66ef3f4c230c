import { nameOfRole } from "../../core/records/actor-name.ts";
import type { Change } from "../../core/values/entry.ts";
import type { Head } from "../../core/values/event.ts";
import type { IterationCause } from "../../core/values/file-record.ts";
import { holdsFolder } from "../../core/records/transaction-record.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { LoggedAction } from "./actions.ts";
import { innermost, openBrackets, type Brackets } from "./brackets.ts";
import type { Context } from "../log/context.ts";
import { Nesting, type Bracket } from "./nesting.ts";
import { optional } from "../../util/optional.ts";

export interface Attribution {
  readonly cause: IterationCause;
  readonly actor: string;
  readonly session?: string;
  readonly action?: string;
  /** The innermost transaction around the change, if the record of `action` does not already name this transaction. */
  readonly transaction?: string;
  /**
   * The ids of the brackets that may have made the change. Set only if it is not known which bracket made the change. A
   * single candidate is an action that may never have run, or a transaction of actions. In both cases, a person may
   * have made the change instead.
   */
  readonly candidates?: readonly string[];
  /** The number of runs and actions around the innermost bracket. */
  readonly depth: number;
}

export interface AttributedChange extends Change {
  readonly by: Attribution;
  readonly iteration: number;
}

export type Attribute = (change: Change) => Attribution;

export interface AttributeOptions {
  /** The cause of changes that no bracket and no watch owns. */
  readonly cause: IterationCause;
  /**
   * True if the caller is an agent that reports all its actions. A change that no bracket owns is then attributed to a
   * person, and not to the agent.
   */
  readonly isReported?: true;
  /** An action that is treated as open, although it was closed or counted as abandoned. */
  readonly late?: LoggedAction;
  /** The id of a transaction that is treated as open although its owner is gone. */
  readonly reopened?: string;
  /** The ids of open actions that may never have run. */
  readonly unsure?: ReadonlySet<string>;
  readonly head: Head;
}

/**
 * Returns a function that finds the owner of a change.
 *
 * A change belongs to the innermost bracket that may have made it, and to everything around this bracket. If actions
 * declared the path, only these actions and the runs within them may have made the change. If no action declared the
 * path, every bracket that may change any path may have made the change: actions of the whole workspace, runs,
 * transactions.
 *
 * If several brackets are innermost, any of them may have made the change. In that case, the change belongs to the
 * brackets that are around all of them, and names the innermost brackets as candidates. If no bracket is around all of
 * them, the actor is `ambiguous`. The same rules apply if the only innermost bracket is an action that may never have
 * run, because a person may have made the change instead.
 *
 * If no bracket may have made the change, but a watch is open, the change belongs to the session of the watch. If
 * several watches are open, it belongs to the earliest of them. The change is not ambiguous then, because all watches
 * record the changes of the same unknown author.
 *
 * If no watch is open either, the change belongs to the caller. Two cases are different:
 *
 * - If a transaction of actions is open, the actor is `ambiguous`.
 * - If the caller is an agent that reports its actions (`isReported`), the change belongs to a person, because the
 *   agent has not reported it.
 */
export async function attributor(context: Context, options: AttributeOptions): Promise<Attribute> {
  const found = await openBrackets(context, options.head, options.reopened);
  const { late } = options;
  const brackets = late === undefined ? found : { ...found, actions: [...found.actions, late] };
  const nesting = await Nesting.of(context, brackets);
  const declared = nesting.all.filter(({ action }) => action !== undefined && action.paths.length > 0);
  const wide = nesting.all.filter(({ action, transaction }) => {
    // A change that no action made does not belong to a transaction that is limited to one session or to actions.
    if (transaction !== undefined) return holdsFolder(transaction.record);
    return action === undefined || action.scope === "workspace";
  });
  const other = wide.length > 0 ? ofBrackets(nesting, wide, options) : ofWatch(context, found, options);
  return (change) => {
    const named = declared.filter(({ action }) => action !== undefined && isDeclaredBy(action, change));
    return named.length === 0 ? other : ofBrackets(nesting, [...named, ...inRunsOf(nesting, named)], options);
  };
}

/**
 * Returns unrecorded changes with the attribution that a capture would give them. Only a dry run has unrecorded
 * changes, because it captures nothing.
 */
export async function attributePending(context: Context, unrecorded: readonly Change[]): Promise<AttributedChange[]> {
  if (unrecorded.length === 0) return [];
  const attribute = await attributor(context, { cause: "capture", head: await context.index.head() });
  return unrecorded.map((change) => ({ ...change, by: attribute(change), iteration: 0 }));
}

/** True if the action declared the path of the change, or if the change makes a folder around a declared path. */
function isDeclaredBy(action: Pick<LoggedAction, "paths">, { path, before, after }: Change): boolean {
  const isMade = before === undefined && after?.kind === "dir";
  return action.paths.some((named) => isWithin(path, named) || (isMade && isWithin(named, path)));
}

function inRunsOf(nesting: Nesting, some: readonly Bracket[]): Bracket[] {
  const runs = nesting.all.filter(
    (run) => run.run !== undefined && some.some((one) => nesting.isWithin(run.id, one.id)),
  );
  return nesting.all.filter((one) => runs.some((run) => nesting.isWithin(one.id, run.id)));
}

function ofBrackets(
  nesting: Nesting,
  some: readonly Bracket[],
  { cause, unsure }: Pick<AttributeOptions, "cause" | "unsure">,
): Attribution {
  const innermost = nesting.innermost(some);
  const isUnsure = ({ id }: Bracket): boolean => unsure?.has(id) === true;
  if (innermost.length === 1 && !innermost.some(isUnsure)) return named(nesting, nesting.common(innermost));
  const around = nesting.common(innermost).filter((one) => !isUnsure(one));
  const candidates = innermost.map((one) => one.id);
  return around.length === 0
    ? { cause, actor: "ambiguous", candidates, depth: 0 }
    : { ...named(nesting, around), candidates };
}

/**
 * Returns an attribution that names the innermost action in `around`. The attribution also names the innermost run and
 * the innermost transaction among those brackets that are not around this action. An undo of any of the named brackets
 * undoes the change.
 */
function named(nesting: Nesting, around: readonly Bracket[]): Attribution {
  const { action } = latest(nesting, around, "action") ?? {};
  const isBeside = (one: Bracket): boolean => action === undefined || !nesting.isWithin(action.id, one.id);
  const beside = around.filter((one) => one.id === action?.id || isBeside(one));
  const { run } = latest(nesting, beside, "run") ?? {};
  const { transaction } = latest(nesting, beside, "transaction") ?? {};
  const [inner] = nesting.innermost(beside);
  const session = run?.id ?? action?.session;
  return {
    cause: inner?.action !== undefined ? "action" : inner?.run !== undefined ? "run" : "transaction",
    actor: action?.actor ?? run?.record.actor ?? transaction?.record.actor ?? "",
    ...optional({ session }),
    ...(action === undefined ? {} : { action: action.id }),
    ...(transaction === undefined ? {} : { transaction: transaction.id }),
    depth: Math.max(0, greatestOf(beside.map((one) => one.depth))),
  };
}

function latest(
  nesting: Nesting,
  some: readonly Bracket[],
  kind: "run" | "action" | "transaction",
): Bracket | undefined {
  const innermost = nesting.innermost(some.filter((one) => one[kind] !== undefined));
  return innermost.toSorted((a, b) => a.seq - b.seq).at(-1);
}

function ofWatch(context: Context, { watches, transactions }: Brackets, options: AttributeOptions): Attribution {
  const { cause } = options;
  const isOthers = options.isReported === true && context.caller.role === "agent";
  const actor = isOthers ? nameOfRole("person") : context.caller.actor;
  // Watches are sorted by the events that began them.
  const [earliest] = watches;
  if (earliest === undefined) {
    // If a transaction of actions is open, a person or the client of the transaction may have made the change without
    // an action. The owner is then unknown.
    const mayBe = innermost(transactions.filter((one) => one.record.scope === "actions")).map((one) => one.id);
    if (mayBe.length > 0) return { cause, actor: "ambiguous", candidates: mayBe, depth: 0 };
    return { cause, actor, depth: 0 };
  }
  return { cause: "watch", actor, session: earliest.id, depth: 0 };
}

/** Returns the paths that these actions declared; `undefined` if one of the actions may change any path. */
export function reachOf(actions: readonly LoggedAction[]): readonly WorkspacePath[] | undefined {
  return actions.some((action) => action.scope === "workspace") ? undefined : actions.flatMap((one) => one.paths);
}
