import type { ActionRecord } from "../../src/core/action-record.ts";
import type { TransactionRecord } from "../../src/core/transaction-record.ts";
import type { Within } from "../../src/core/within.ts";
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
  const common = [...around.keys()].filter((outer) => inner.every((one) => around.get(one)?.has(outer) === true));
  const isWithin = (one: string, outer: string): boolean => around.get(one)?.has(outer) === true;
  const isAction = (id: string): boolean => going.actions.some((one) => one.id === id);
  // Of two calls at once, only one has started the sub-agents: which of them is not known.
  const isRival = (one: string, other: string): boolean =>
    isAction(one) && isAction(other) && !isWithin(one, other) && !isWithin(other, one);
  const sure = common.filter((one) => !common.some((other) => isRival(one, other)));
  const owner = sure.find((one) => sure.every((outer) => isWithin(one, outer)));
  return owner === undefined
    ? { actor: "ambiguous", candidates }
    : { ...ofInnermost(owner, going, around), candidates };
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
