import type { Change } from "../core/change.ts";
import type { Head } from "../core/event.ts";
import type { IterationCause } from "../core/file-record.ts";
import { isWithin, type WorkspacePath } from "../core/path.ts";
import type { LoggedAction } from "./actions.ts";
import { innermost, openBrackets, withParents, type Brackets, type OpenSession } from "./brackets.ts";
import type { Context } from "./context.ts";

/** Whose work a captured change is. */
export interface Attribution {
  readonly cause: IterationCause;
  readonly actor: string;
  readonly session?: string;
  readonly action?: string;
  /** The transaction in which it was done, where no action says so. */
  readonly transaction?: string;
  /** Several were at work: any of these may have done it. */
  readonly candidates?: readonly string[];
}

/** A change, and whose work it is. */
export interface AttributedChange extends Change {
  readonly by: Attribution;
  /** The number of the iteration that it brings. */
  readonly iteration: number;
}

/** Says whose work a change is. */
export type Attribute = (change: Change) => Attribution;

/**
 * What a capture is recorded as where nobody's bracket is open; `late`: an action that counts as open once more;
 * `reopened`: a transaction that does although its owner is gone.
 */
export interface AttributeOptions {
  readonly cause: IterationCause;
  readonly late?: LoggedAction;
  readonly reopened?: string;
  /** The head, which the changes will follow. */
  readonly head: Head;
}

/**
 * A change belongs to the one open action that declared its path; else to the innermost bracket that is open (an action
 * of the whole workspace, a run, a transaction); else to the only watch. With several it is `ambiguous`, with its
 * candidates, and no undo takes it along that does not name it. With none it is the caller's.
 */
export async function attributor(context: Context, options: AttributeOptions): Promise<Attribute> {
  const found = await openBrackets(context, options.head, options.reopened);
  const { late } = options;
  const brackets = late === undefined ? found : { ...found, actions: [...found.actions, late] };
  const declared = brackets.actions.filter((action) => action.paths.length > 0);
  const other = ofBracket(context, brackets, options.cause);
  return (change) => {
    const named = innermostActions(declared.filter((action) => isDeclaredBy(action, change)));
    const [only, second] = named;
    if (only === undefined) return other;
    return second === undefined ? ofAction(only) : ambiguous(options.cause, ids(named));
  };
}

/** Did the action name this path, or is it a folder that had to be made for one that it named? */
function isDeclaredBy(action: Pick<LoggedAction, "paths">, { path, before, after }: Change): boolean {
  const isMade = before === undefined && after?.kind === "dir";
  return action.paths.some((named) => isWithin(path, named) || (isMade && isWithin(named, path)));
}

function ofAction(action: LoggedAction): Attribution {
  const { id, actor, session } = action;
  return { cause: "action", actor, action: id, ...(session === undefined ? {} : { session }) };
}

function ambiguous(cause: IterationCause, candidates: readonly string[]): Attribution {
  return { cause, actor: "ambiguous", candidates };
}

function ids(all: readonly { readonly id: string }[]): string[] {
  return all.map((one) => one.id);
}

/** An action hides those of its session that go on around it: a sub-agent's is within the call that started it. */
function innermostActions(actions: readonly LoggedAction[]): LoggedAction[] {
  const isWithinIt = (inner: LoggedAction, outer: LoggedAction): boolean =>
    inner.session !== undefined &&
    inner.session === outer.session &&
    inner.recursionDepth > outer.recursionDepth &&
    inner.seq > outer.seq;
  return actions.filter((outer) => !actions.some((inner) => isWithinIt(inner, outer)));
}

/** Whose a change is that no action named. */
function ofBracket(context: Context, brackets: Brackets, cause: IterationCause): Attribution {
  const actions = innermostActions(brackets.actions.filter((action) => action.scope === "workspace"));
  const { runs, transactions } = unhidden(brackets, actions);
  const [action, otherAction] = actions;
  if (action !== undefined) {
    const rest = [...ids(actions), ...ids(runs), ...transactions];
    return otherAction === undefined && rest.length === 1 ? ofAction(action) : ambiguous(cause, rest);
  }
  return ofRunOrTransaction(context, { runs, transactions, brackets, cause });
}

/** Runs, and the innermost transactions, that do not go on around one of the actions. */
function unhidden(
  { runs, transactions }: Brackets,
  actions: readonly LoggedAction[],
): { readonly runs: readonly OpenSession[]; readonly transactions: readonly string[] } {
  // A transaction of one session holds that session's actions, and nothing that nobody's action did.
  const everybodys = transactions.filter((one) => one.record.session === undefined);
  const hidden = new Set<string>();
  for (const { run, transaction } of actions) {
    if (run !== undefined) hidden.add(run);
    for (const id of withParents(transactions, transaction)) hidden.add(id);
  }
  return {
    runs: runs.filter((one) => !hidden.has(one.id)),
    transactions: ids(innermost(everybodys)).filter((id) => !hidden.has(id)),
  };
}

interface Outer {
  readonly runs: readonly OpenSession[];
  readonly transactions: readonly string[];
  readonly brackets: Brackets;
  readonly cause: IterationCause;
}

/** A run and a transaction, of which one was begun within the other, are both named: undoing either takes it along. */
function ofRunOrTransaction(context: Context, { runs, transactions, brackets, cause }: Outer): Attribution {
  const [run] = runs;
  const [transaction] = transactions;
  if (runs.length > 1 || transactions.length > 1) return ambiguous(cause, [...ids(runs), ...transactions]);
  const active = brackets.transactions.find((one) => one.id === transaction);
  if (run !== undefined && active !== undefined) {
    const inner = run.seq > active.seq ? "run" : "transaction";
    return { cause: inner, actor: context.actor, session: run.id, transaction: active.id };
  }
  if (run !== undefined) return { cause: "run", actor: context.actor, session: run.id };
  if (active !== undefined) return { cause: "transaction", actor: active.record.actor, transaction: active.id };
  return ofWatch(context, brackets.watches, cause);
}

function ofWatch(context: Context, watches: readonly OpenSession[], cause: IterationCause): Attribution {
  const [only, second] = watches;
  if (only === undefined) return { cause, actor: context.actor };
  if (second !== undefined) return ambiguous(cause, ids(watches));
  return { cause: "watch", actor: context.actor, session: only.id };
}

/** The paths that an action can have changed: those that it named, or any. */
export function reachOf(actions: readonly LoggedAction[]): readonly WorkspacePath[] | undefined {
  return actions.some((action) => action.scope === "workspace") ? undefined : actions.flatMap((one) => one.paths);
}
