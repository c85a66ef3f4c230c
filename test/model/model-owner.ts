import type { ActionRecord } from "../../src/core/action-record.ts";
import type { TransactionRecord } from "../../src/core/transaction-record.ts";
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

export interface Going {
  readonly actions: readonly OpenAction[];
  readonly runs: readonly { readonly id: string; readonly seq: number }[];
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

/** The action that named the path; else the command that runs; else the run or transaction; several: nobody's. */
export function ownerBy(step: Step, going: Going): Owner {
  const named = inner(going.actions.filter((one) => names(one, step)));
  if (named.length > 0) return ofActions(named, []);
  const anywhere = inner(going.actions.filter((one) => one.record.scope === "workspace"));
  const around = aroundOf(anywhere, going);
  if (anywhere.length > 0) return ofActions(anywhere, around);
  const runs = going.runs.filter((one) => around.includes(one.id));
  const transactions = going.transactions.filter((one) => around.includes(one.id));
  if (runs.length > 1 || transactions.length > 1) return nobody(around);
  const [run] = runs;
  const [transaction] = transactions;
  return {
    actor: run === undefined ? (transaction?.record.actor ?? PERSON) : PERSON,
    ...(run === undefined ? {} : { session: run.id }),
    ...(transaction === undefined ? {} : { transaction: transaction.id }),
  };
}

function ofActions(actions: readonly OpenAction[], others: readonly string[]): Owner {
  const [only] = actions;
  if (only === undefined || actions.length + others.length > 1)
    return nobody([...actions.map((one) => one.id), ...others]);
  const { actor, session } = only.record;
  return { actor, action: only.id, ...(session === undefined ? {} : { session }) };
}

function nobody(candidates: readonly string[]): Owner {
  return { actor: "ambiguous", candidates: [...candidates].sort() };
}

function names({ record }: OpenAction, { path, before, after }: Step): boolean {
  const isMade = before === undefined && after === "dir";
  return record.paths.some(
    (one) => one === path || path.startsWith(`${one}/`) || (isMade && one.startsWith(`${path}/`)),
  );
}

/** Without those within which another one of the same session goes on. */
function inner(actions: readonly OpenAction[]): OpenAction[] {
  return actions.filter(
    (outer) =>
      !actions.some(
        (one) =>
          one.record.session !== undefined &&
          one.record.session === outer.record.session &&
          one.depth > outer.depth &&
          one.seq > outer.seq,
      ),
  );
}

/** Runs and everybody's innermost transactions within which none of the actions was begun. */
function aroundOf(actions: readonly OpenAction[], { runs, transactions }: Going): string[] {
  const hidden = new Set<string | undefined>();
  for (const { record } of actions) {
    hidden.add(record.run);
    for (let at = record.transaction; at !== undefined;) {
      hidden.add(at);
      at = transactions.find((one) => one.id === at)?.record.parent;
    }
  }
  const everybodys = transactions.filter((one) => one.record.session === undefined);
  const leaves = everybodys.filter((one) => !everybodys.some((other) => other.record.parent === one.id));
  return [...runs, ...leaves].map((one) => one.id).filter((id) => !hidden.has(id));
}
