import { type Aside, decodeAside } from "../../core/records/aside.ts";
import { type Change, sameEntry } from "../../core/values/entry.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { type LoggedAction, loggedSessions, type Session } from "../facts/actions.ts";
import { goingOn } from "../facts/brackets.ts";
import { Nesting } from "../facts/nesting.ts";
import { actionsAfter } from "../facts/transactions.ts";
import type { Context } from "../log/context.ts";
import { doneIntents } from "../log/intents.ts";
import { readEvent } from "../log/read-events.ts";
import { isOwnerAlive } from "../log/owner-process.ts";

/**
 * At the end of a run or action, the kept-aside paths are compared with their states at the beginning of that run or
 * action. If several runs or actions are open at the same time, each of them finds the same change. A change that
 * another run, action, undo or redo may have made is recorded with candidates, and is attributed to none of them alone.
 */

interface Span {
  readonly id: string;
  readonly recordId: string;
  /** The seq at which the run or action began. */
  readonly fromSeq: number;
  /** The seq of the last event of the run or action; infinite while it is open. */
  readonly end: number;
  readonly aside: Aside | undefined;
  readonly omittedChanges: readonly OmittedChange[];
  readonly declared: readonly WorkspacePath[];
  /** True if the run or action may also change paths that are not declared. */
  readonly isWide: boolean;
}

/**
 * The run or action that ends (`own`), the work within it (`inner`), and the work that overlaps it (`others`). `own` is
 * within none of the `others`, and none of them is within `own`.
 */
interface Beside {
  readonly own: Span;
  readonly others: readonly Span[];
  readonly inner: readonly Span[];
}

/**
 * Returns the changes of a run or action that is about to end. Adds candidates to each change that other work may also
 * have made. `plan`: the changes to kept-aside paths.
 */
export async function withCandidates(
  context: Context,
  id: string,
  { changes, plan }: { readonly changes: readonly OmittedChange[]; readonly plan: readonly Change[] },
): Promise<readonly OmittedChange[]> {
  if (!changes.some(({ kept }) => kept)) return changes;
  const beside = await workBeside(context, id);
  if (beside === undefined) return changes;
  const plans = await plansOf(context, beside);
  const steps = await stepsSince(context, beside.own);
  return changes.map((change) => {
    if (!change.kept) return change;
    const planned = plan.filter((one) => isWithin(one.path, change.path) && !sameEntry(one.before, one.after));
    const rivals = rivalsAt(beside, change.path).filter((one) => mayHaveMade(beside.own, one, { planned, plans }));
    const back = steps.filter(({ paths }) => planned.some(({ path }) => paths.has(path)));
    const others = [...rivals, ...back].map((one) => one.id);
    return others.length === 0 ? change : { ...change, candidates: [id, ...others] };
  });
}

/**
 * Returns the run or action `id`, and the other runs and actions that were open at some time since `id` began. Leaves
 * out other work that is recorded as open although nobody will finish it. Returns `undefined` if `id` is unknown or
 * names a denied action.
 */
async function workBeside(context: Context, id: string): Promise<Beside | undefined> {
  const runs = (await loggedSessions(context)).filter((one) => one.kind === "run");
  const begun = runs.find((one) => one.id === id)?.fromSeq;
  const all = await actionsAfter(context, 0);
  const fromSeq = begun ?? all.find((one) => one.id === id)?.fromSeq;
  if (fromSeq === undefined) return undefined;
  const isMeant = (one: Span): boolean => one.id === id || one.end > fromSeq;
  const actions = all.filter((one) => one.state !== "denied" && isMeant(spanOfAction(one)));
  const going = new Set((await goingOn(context, actions)).map((one) => one.id));
  const meantActions = actions.filter((one) => one.id === id || one.state !== "open" || going.has(one.id));
  const meantRuns = runs.filter(
    (one) => isMeant(spanOfRun(one)) && (one.id === id || one.state !== "running" || isOwnerAlive(context, one)),
  );
  const nesting = await Nesting.of(context, {
    actions: meantActions,
    runs: meantRuns.map(({ id: run, fromSeq: seq, depth, ...record }) => ({
      id: run,
      seq,
      depth,
      record: { ...record, fromSeq: seq },
    })),
    watches: [],
    agents: [],
    transactions: [],
  });
  const spans = [...meantActions.map(spanOfAction), ...meantRuns.map(spanOfRun)];
  const own = spans.find((one) => one.id === id);
  if (own === undefined) return undefined;
  const isInner = (one: Span): boolean => one.id !== id && nesting.isWithin(one.id, id);
  return {
    own,
    inner: spans.filter(isInner),
    others: spans.filter((one) => !nesting.isWithin(one.id, id) && !nesting.isWithin(id, one.id)),
  };
}

function spanOfRun({ id, fromSeq, seq, state, aside, omittedChanges }: Session): Span {
  const end = state === "running" ? Infinity : seq;
  const recordId = `session:${id}`;
  return { id, recordId, fromSeq, end, aside, omittedChanges, declared: [], isWide: true };
}

function spanOfAction({ id, fromSeq, lastSeq, state, aside, omittedChanges, paths, scope }: LoggedAction): Span {
  const end = state === "open" ? Infinity : lastSeq;
  const recordId = `action:${id}`;
  return { id, recordId, fromSeq, end, aside, omittedChanges, declared: paths, isWide: scope === "workspace" };
}

/**
 * Returns the other runs and actions that may have changed a path: those that have declared the path, and those that
 * may change any path. Runs and actions of the second kind do not count in two cases: the ending work has declared the
 * path, or work within the ending work has declared and changed the path.
 */
function rivalsAt({ own, others, inner }: Beside, path: WorkspacePath): Span[] {
  const hasDeclared = ({ declared }: Span): boolean => declared.some((one) => isWithin(path, one));
  const isFound = ({ omittedChanges }: Span): boolean => omittedChanges.some((one) => isWithin(path, one.path));
  const isDeclared = hasDeclared(own) || inner.some((one) => hasDeclared(one) && isFound(one));
  return others.filter((one) => hasDeclared(one) || (one.isWide && !isDeclared));
}

type Plan = ReadonlyMap<WorkspacePath, Change>;

interface Plans {
  /** Maps the id of each of the `others` to its last plan. */
  readonly last: ReadonlyMap<string, Plan>;
  /** Maps ids to first plans, for those of the `others` that began before the ending work and have ended. */
  readonly first: ReadonlyMap<string, Plan>;
}

async function plansOf(context: Context, { own, others }: Beside): Promise<Plans> {
  const [last, first] = [new Map<string, Plan>(), new Map<string, Plan>()];
  for (const one of others) {
    const plan = await planOf(context, one.aside);
    if (plan !== undefined) last.set(one.id, plan);
    const beginning = isEarlier(one, own) && one.end !== Infinity ? await planOfBeginning(context, one) : undefined;
    if (beginning !== undefined) first.set(one.id, beginning);
  }
  return { last, first };
}

async function planOf(context: Context, aside: Aside | undefined): Promise<Plan | undefined> {
  const bytes = aside === undefined ? undefined : await context.blobs.get(aside.plan);
  return bytes === undefined ? undefined : new Map(decodePlan(bytes).map((change) => [change.path, change]));
}

/**
 * Returns the first plan of a run or action, which has the kept-aside states at its beginning. Returns `undefined` if
 * there is no such plan, or if the plan's blob is gone.
 */
async function planOfBeginning(context: Context, { recordId, end }: Span): Promise<Plan | undefined> {
  const [first] = await context.index.recordHistory(recordId);
  if (first === undefined || first.seq === end) return undefined;
  return planOf(context, decodeAside((await readEvent(context, first)).record));
}

function isEarlier(other: Span, own: Span): boolean {
  return other.fromSeq <= own.fromSeq;
}

/**
 * Returns true if a path of `planned` may have changed while `own` and `other` were both open. The plan of the work
 * that began later has the states at the beginning of this overlap. The plan of the work that ended earlier has the
 * states at the end of the overlap. If `other` has ended, it ended earlier, because `own` ends now.
 */
function mayHaveMade(
  own: Span,
  other: Span,
  { planned, plans }: { readonly planned: readonly Change[]; readonly plans: Plans },
): boolean {
  const plan = plans.last.get(other.id);
  const isFirst = isEarlier(other, own);
  if (other.end === Infinity)
    return isFirst || planned.some(({ path, after }) => !sameEntry(plan?.get(path)?.before, after));
  return planned.some(({ path, before }) => {
    if (!other.omittedChanges.some((one) => isWithin(path, one.path))) {
      // The path had the same state at the beginning and at the end of `other`. In between, when `own` began, the path
      // may nevertheless have had another state.
      const then = isFirst ? plans.first.get(other.id)?.get(path) : undefined;
      return then !== undefined && !sameEntry(then.before, before);
    }
    const found = plan?.get(path);
    return found === undefined || !sameEntry(isFirst ? before : found.before, found.after);
  });
}

/** Returns the undos and redos that ended after the work began, each with the kept-aside paths that it changed. */
async function stepsSince(
  context: Context,
  { fromSeq }: Span,
): Promise<readonly { readonly id: string; readonly paths: ReadonlySet<WorkspacePath> }[]> {
  const found: { readonly id: string; readonly paths: ReadonlySet<WorkspacePath> }[] = [];
  for (const { id, intent } of await doneIntents(context, fromSeq)) {
    const bytes = intent.aside === undefined ? undefined : await context.blobs.get(intent.aside.plan);
    if (bytes !== undefined) found.push({ id, paths: new Set(decodePlan(bytes).map(({ path }) => path)) });
  }
  return found;
}
