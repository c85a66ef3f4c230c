import type { Aside } from "../../core/records/aside.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { doneIntents } from "../log/intents.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { ownersIn } from "./owners.ts";

interface Keeping {
  readonly id: string;
  readonly omittedChanges: readonly OmittedChange[];
  readonly aside?: Aside | undefined;
}

/**
 * Returns the runs or actions, with `kept` and `lost` of their omitted changes brought up to date. The recorded values
 * date from the time at which copies of the files were kept aside. Once such a copy is erased, or freed after some
 * days, no undo can bring back the file.
 */
export async function withCopiesThere<T extends Keeping>(context: Context, works: readonly T[]): Promise<T[]> {
  const plans = works.flatMap(({ aside, omittedChanges }) =>
    aside !== undefined && omittedChanges.some(({ kept }) => kept) ? [aside.plan] : [],
  );
  const there = await context.blobs.has(plans);
  const erasures = plans.length === 0 ? undefined : await erasuresInForce(context);
  const isThere = ({ aside }: T, { path }: OmittedChange): boolean =>
    aside !== undefined && there.has(aside.plan) && erasures?.ofAside(aside.plan, path) === undefined;
  let isUndone: ((id: string) => boolean) | undefined;
  const found: T[] = [];
  for (const work of works) {
    const gone = new Set(work.omittedChanges.filter((change) => change.kept && !isThere(work, change)));
    if (gone.size === 0) {
      found.push(work);
      continue;
    }
    isUndone ??= await undoneWork(context);
    // If the work was undone, the undo has put the earlier content back, so this content is not lost.
    const isBack = isUndone(work.id);
    const isLost = ({ type }: OmittedChange): boolean => type !== "created" && !isBack;
    const omittedChanges = work.omittedChanges.map((change) =>
      gone.has(change) ? { ...change, kept: false, lost: isLost(change) } : change,
    );
    found.push({ ...work, omittedChanges });
  }
  return found;
}

/** Returns a function that returns true for the id of undone work, and for the id of work within undone work. */
async function undoneWork(context: Context): Promise<(id: string) => boolean> {
  const undone = undoneIds((await doneIntents(context)).map(({ id, intent }) => ({ id, ...intent })));
  const owners = await ownersIn(context);
  return (id) => [...owners.around([id])].some((one) => undone.has(one));
}

/** The fields of an intent that say what the operation undoes, and the id of the operation. */
type Undoing = Pick<IntentRecord, "kind" | "target" | "takes" | "brings" | "aside"> & { readonly id: string };

/**
 * Returns the ids of the work that these operations, which are in log order, have undone. The paths that were kept
 * aside for such work are again as they were before the work.
 *
 * - An undo of selected work undoes the work in `takes`. A redo of that undo brings back all of this work.
 * - The rollback of an action (`brings`) undoes the action, until the rollback itself is undone.
 * - A redo brings back undone work, and so does the undo of a rollback. The id of such work is left out of the result
 *   only if the redo or undo has changed paths that were kept aside (`aside`). A redo changes no such path if, for
 *   instance, the copies were freed before the redo.
 */
function undoneIds(operations: readonly Undoing[]): ReadonlySet<string> {
  const undone = new Set<string>();
  const byId = new Map<string, Undoing>();
  const mark = (id: string, isUndone: boolean, by: Undoing): void => {
    if (isUndone) undone.add(id);
    else if (by.aside !== undefined) undone.delete(id);
    const { takes = [], brings } = byId.get(id) ?? {};
    for (const one of takes) mark(one, isUndone, by);
    if (brings !== undefined) mark(brings, !isUndone, by);
  };
  for (const operation of operations) {
    const { id, kind, target, takes = [], brings } = operation;
    byId.set(id, operation);
    if (brings !== undefined) mark(brings, true, operation);
    if (kind !== "undo" && kind !== "redo") continue;
    for (const one of target === undefined ? takes : [target, ...takes]) mark(one, kind === "undo", operation);
  }
  return undone;
}
