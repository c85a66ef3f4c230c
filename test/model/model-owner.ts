import type { ActionRecord } from "../../src/core/records/action-record.ts";
import type { TransactionRecord } from "../../src/core/records/transaction-record.ts";
import type { Within } from "../../src/core/records/records.ts";
import type { Step } from "./model-undo.ts";

/**
 * The owner of a change, computed by the rules that the documents give to users, from the work that was in progress
 * when the change was recorded.
 */

/**
 * An action that is open. `seq`: its first event. `depth`: 0 for a call of the agent itself, more for a call of a
 * sub-agent.
 */
export interface OpenAction {
  readonly id: string;
  readonly seq: number;
  readonly depth: number;
  readonly record: Pick<ActionRecord, "scope" | "paths" | "session" | "actor" | "transaction" | "run">;
}

export interface OpenTransaction {
  readonly id: string;
  readonly record: Pick<TransactionRecord, "parent" | "session" | "actor" | "fromSeq">;
}

export interface OpenRun {
  readonly id: string;
  readonly within: Within;
}

/** The work that was in progress when a change was recorded. */
export interface Going {
  readonly actions: readonly OpenAction[];
  readonly runs: readonly OpenRun[];
  readonly transactions: readonly OpenTransaction[];
}

/**
 * The owner of a change. `action`, `transaction` and `session` are absent if there is none. `candidates`: the ids of
 * the work that may have made an ambiguous change, sorted.
 */
export interface Owner {
  readonly actor: string;
  readonly action?: string;
  readonly transaction?: string;
  readonly session?: string;
  readonly candidates?: readonly string[];
}

const PERSON = "human";

/**
 * Returns the owner of a change.
 *
 * 1. The candidates are the actions that declared the path. If there are none, the candidates are all work that may
 *    change anything: actions with the scope `workspace`, runs, and transactions without a session.
 * 2. A candidate with another candidate within it is dropped, so that the innermost ones remain.
 * 3. If none remains, a person made the change. If one remains, it owns the change.
 * 4. If several remain, the change is ambiguous. It belongs to what is surely around all of them (see `ofAll`),
 *    otherwise to nobody (`ambiguous`).
 */
export function ownerBy(step: Step, going: Going): Owner {
  const around = surroundings(going);
  const named = going.actions.filter((one) => names(one, step));
  const wide = [
    ...going.actions.filter((one) => one.record.scope === "workspace"),
    ...going.runs,
    ...going.transactions.filter((one) => one.record.session === undefined),
  ];
  const some = (named.length > 0 ? named : wide).map((one) => one.id);
  const inner = some.filter((outer) => !some.some((one) => one !== outer && around.get(one)?.has(outer) === true));
  const [first, second] = inner;
  if (first === undefined) return { actor: PERSON };
  if (second === undefined) return ofInnermost(first, going, around);
  const candidates = inner.toSorted();
  const owner = ofAll(inner, going, around);
  return owner === undefined ? { actor: "ambiguous", candidates } : { ...owner, candidates };
}

/**
 * Returns what is surely around all of several candidates: the innermost such action, and the innermost run and
 * transaction outside of that action. `undefined` if there is nothing.
 *
 * "Surely" concerns sub-agents. If an agent has several calls open at once, only one of them can have started a
 * sub-agent, and it is not known which. So none of these calls is surely around the calls of the sub-agent. An action
 * counts only if every other action around the candidate is around or within it.
 */
function ofAll(inner: readonly string[], going: Going, around: Surroundings): Owner | undefined {
  const isWithin = (one: string, outer: string): boolean => around.get(one)?.has(outer) === true;
  const outers = (one: string, some: readonly { readonly id: string }[]): string[] =>
    some.map(({ id }) => id).filter((id) => isWithin(one, id));
  const isSure = (id: string, one: string): boolean =>
    outers(one, going.actions).every((other) => isWithin(id, other) || isWithin(other, id));
  const actions = going.actions.filter(({ id }) => inner.every((one) => isWithin(one, id) && isSure(id, one)));
  const action = actions.find(({ id }) => actions.every((other) => isWithin(id, other.id)));
  const isBeside = ({ id }: { readonly id: string }): boolean =>
    inner.every((one) => isWithin(one, id)) && (action === undefined || !isWithin(action.id, id));
  const runs = going.runs.filter(isBeside);
  const run = runs.find(({ id }) => runs.every((other) => isWithin(id, other.id)));
  const transactions = going.transactions.filter(isBeside);
  const transaction = transactions.find(({ id }) => transactions.every((other) => isWithin(id, other.id)));
  if (action === undefined && run === undefined && transaction === undefined) return undefined;
  const session = run?.id ?? action?.record.session;
  const actor = action?.record.actor ?? (run === undefined ? transaction?.record.actor : PERSON) ?? PERSON;
  return {
    actor,
    ...(session === undefined ? {} : { session }),
    ...(action === undefined ? {} : { action: action.id }),
    ...(transaction === undefined ? {} : { transaction: transaction.id }),
  };
}

/**
 * Returns the owner of a change with one innermost candidate. For an action, these are its actor and session. For a run
 * or a transaction, the innermost transaction is added. The changes of a run belong to a person.
 */
function ofInnermost(id: string, { actions, runs, transactions }: Going, around: Surroundings): Owner {
  const action = actions.find((one) => one.id === id)?.record;
  if (action !== undefined) {
    const { actor, session } = action;
    return { actor, action: id, ...(session === undefined ? {} : { session }) };
  }
  const outer = transactions.filter((one) => around.get(id)?.has(one.id) === true);
  const transaction = outer.find((one) => outer.every((other) => around.get(one.id)?.has(other.id) === true));
  const isRun = runs.some((one) => one.id === id);
  return {
    actor: isRun ? PERSON : (transaction?.record.actor ?? PERSON),
    ...(isRun ? { session: id } : {}),
    ...(transaction === undefined ? {} : { transaction: transaction.id }),
  };
}

/**
 * True if the action declared the path or a folder above it. A declared path also covers the creation of the folders
 * above it.
 */
function names({ record }: OpenAction, { path, before, after }: Step): boolean {
  const isMade = before === undefined && after === "dir";
  return record.paths.some(
    (one) => one === path || path.startsWith(`${one}/`) || (isMade && one.startsWith(`${path}/`)),
  );
}

/** For each open action, run and transaction: the ids of everything around it, including itself. */
type Surroundings = ReadonlyMap<string, ReadonlySet<string>>;

function surroundings({ actions, runs, transactions }: Going): Surroundings {
  const parents = new Map<string, readonly (string | undefined)[]>();
  for (const one of actions) parents.set(one.id, [one.record.run, one.record.transaction, ...callers(one, actions)]);
  for (const { id, within } of runs) parents.set(id, [within.run, within.action, within.transaction]);
  for (const { id, record } of transactions) parents.set(id, [record.parent]);
  return new Map(
    [...parents.keys()].map((id) => {
      const around = new Set([id]);
      // The iterator of a set also visits the items that are added during the iteration.
      for (const one of around)
        for (const outer of parents.get(one) ?? []) if (outer !== undefined && parents.has(outer)) around.add(outer);
      return [id, around];
    }),
  );
}

/**
 * Returns the ids of the calls that may have started this call of a sub-agent: those of the same session that began
 * earlier and are less deep.
 */
function callers(one: OpenAction, actions: readonly OpenAction[]): string[] {
  const { session } = one.record;
  const isAround = (outer: OpenAction): boolean =>
    session !== undefined && session === outer.record.session && one.depth > outer.depth && one.seq > outer.seq;
  return actions.filter(isAround).map((outer) => outer.id);
}
