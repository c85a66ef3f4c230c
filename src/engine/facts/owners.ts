import type { FileRecord } from "../../core/values/file-record.ts";
import type { Within } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { idsOf } from "./own-work.ts";
import { loggedSessions, type Session } from "./actions.ts";
import { actionsEver, allTransactions } from "./transactions.ts";

export interface Owners {
  /** Returns the ids of all work to which an event of a file belongs. */
  of(record: FileRecord): readonly string[];
  /** Returns these ids, and the ids of the runs, actions and transactions around the work that they name. */
  around(ids: Iterable<string>): ReadonlySet<string>;
  /** Returns these ids of runs and actions, and the ids of the runs and actions within them. */
  inner(ids: Iterable<string>): ReadonlySet<string>;
}

/**
 * Reads from the log which work is within other work. An event of a file names the work that made the change. The
 * record of that work names the work around it.
 */
export async function ownersIn(context: Context): Promise<Owners> {
  const work = new Map<string, readonly string[]>();
  const outer = new Map<string, readonly string[]>();
  const begun = [...(await loggedSessions(context)).map(beginningOfRun), ...(await actionsEver(context))];
  for (const { id, run, action, transaction } of begun) {
    work.set(id, present(run, action));
    outer.set(id, present(run, action, transaction));
  }
  for (const { id, parent } of await allTransactions(context)) outer.set(id, present(parent));
  const around = (ids: Iterable<string>): ReadonlySet<string> => reached(ids, (id) => outer.get(id) ?? []);
  const children = new Map<string, string[]>();
  for (const [id, parents] of work) for (const one of parents) children.set(one, [...(children.get(one) ?? []), id]);
  const inner = (ids: Iterable<string>): ReadonlySet<string> => reached(ids, (id) => children.get(id) ?? []);
  return { around, inner, of: (record) => [...around(idsOf(record))] };
}

function beginningOfRun({ id, within }: Session): Within & { readonly id: string } {
  return { id, ...within };
}

function present(...ids: readonly (string | undefined)[]): string[] {
  return ids.filter((id) => id !== undefined);
}

function reached(ids: Iterable<string>, next: (id: string) => readonly string[]): ReadonlySet<string> {
  const all = new Set(ids);
  for (const id of all) for (const one of next(id)) all.add(one);
  return all;
}
