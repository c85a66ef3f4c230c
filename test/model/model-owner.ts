import type { ActionRecord } from "../../src/core/records/action-record.ts";
import type { TransactionRecord } from "../../src/core/records/transaction-record.ts";
import type { Within } from "../../src/core/records/records.ts";
import type { Step } from "./model-undo.ts";

/** Whose a change is, by the rules as they are told to people: of what was going on when it was recorded. */

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

export interface Going {
  readonly actions: readonly OpenAction[];
  readonly runs: readonly OpenRun[];
  readonly transactions: readonly OpenTransaction[];
}

export interface Owner {
  readonly actor: string;
  readonly action?: string;
  readonly transaction?: string;
  readonly session?: string;
  readonly candidates?: readonly string[];
}

const PERSON = "human";

/**
 * The innermost of those that named the path; else of those that may change anything. Of several innermost ones it is
 * what is surely around all of them that owns the change, and nobody where nothing is.
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
 * What is surely around all of these: the innermost action, and the run and the transaction that it does not belong to. Of
 * several calls at once, only one can have started a sub-agent, and which is not known.
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

/** An action's, with its session; a run's, with the innermost transaction around it; a transaction's. */
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

function names({ record }: OpenAction, { path, before, after }: Step): boolean {
  const isMade = before === undefined && after === "dir";
  return record.paths.some(
    (one) => one === path || path.startsWith(`${one}/`) || (isMade && one.startsWith(`${path}/`)),
  );
}

/** The ids of what goes on around each, and its own. */
type Surroundings = ReadonlyMap<string, ReadonlySet<string>>;

function surroundings({ actions, runs, transactions }: Going): Surroundings {
  const parents = new Map<string, readonly (string | undefined)[]>();
  for (const one of actions) parents.set(one.id, [one.record.run, one.record.transaction, ...callers(one, actions)]);
  for (const { id, within } of runs) parents.set(id, [within.run, within.action, within.transaction]);
  for (const { id, record } of transactions) parents.set(id, [record.parent]);
  return new Map(
    [...parents.keys()].map((id) => {
      const around = new Set([id]);
      // A set's iterator goes on with what is added on the way.
      for (const one of around)
        for (const outer of parents.get(one) ?? []) if (outer !== undefined && parents.has(outer)) around.add(outer);
      return [id, around];
    }),
  );
}

/** The calls of the same session that have started a sub-agent's one. */
function callers(one: OpenAction, actions: readonly OpenAction[]): string[] {
  const { session } = one.record;
  const isAround = (outer: OpenAction): boolean =>
    session !== undefined && session === outer.record.session && one.depth > outer.depth && one.seq > outer.seq;
  return actions.filter(isAround).map((outer) => outer.id);
}
