import type { FileRecord } from "../core/file-record.ts";
import type { Context } from "./context.ts";
import { idsOf } from "./own-work.ts";
import { actionsEver, allTransactions } from "./transactions.ts";

/** The operations to which an event of a file belongs, by their ids. */
export interface Owners {
  of(record: FileRecord): readonly string[];
  /** These ids, and those of what goes on around them: the run and the transactions of an action. */
  around(ids: Iterable<string>): ReadonlySet<string>;
}

/** Who owns which event. An event names what did it; what that was done in, its record does. */
export async function ownersIn(context: Context): Promise<Owners> {
  const outer = new Map<string, readonly string[]>();
  for (const { id, run, transaction } of await actionsEver(context))
    outer.set(
      id,
      [run, transaction].filter((one) => one !== undefined),
    );
  for (const { id, parent } of await allTransactions(context)) if (parent !== undefined) outer.set(id, [parent]);
  const around = (ids: Iterable<string>): ReadonlySet<string> => {
    const all = new Set(ids);
    // A set's iterator goes on with what is added on the way.
    for (const id of all) for (const one of outer.get(id) ?? []) all.add(one);
    return all;
  };
  return { around, of: (record) => [...around(idsOf(record))] };
}
