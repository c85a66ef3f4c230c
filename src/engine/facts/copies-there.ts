import type { Aside } from "../../core/records/aside.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import type { Context } from "../log/context.ts";
import { doneIntents } from "../log/intents.ts";
import { erasuresInForce } from "./erasures-in-force.ts";

interface Keeping {
  readonly id: string;
  readonly omittedChanges: readonly OmittedChange[];
  readonly aside?: Aside | undefined;
}

/**
 * Returns the runs or actions with `kept` and `lost` of their omitted changes as of now. The records name the copies
 * that were kept aside. Once such a copy is erased, or freed after some days, no undo brings its path back.
 */
export async function withCopiesThere<T extends Keeping>(context: Context, works: readonly T[]): Promise<T[]> {
  const plans = works.flatMap(({ aside, omittedChanges }) =>
    aside !== undefined && omittedChanges.some(({ kept }) => kept) ? [aside.plan] : [],
  );
  const there = await context.blobs.has(plans);
  const erasures = plans.length === 0 ? undefined : await erasuresInForce(context);
  const isThere = ({ aside }: T, { path }: OmittedChange): boolean =>
    aside !== undefined && there.has(aside.plan) && erasures?.ofAside(aside.plan, path) === undefined;
  let undone: ReadonlySet<string> | undefined;
  const found: T[] = [];
  for (const work of works) {
    const gone = new Set(work.omittedChanges.filter((change) => change.kept && !isThere(work, change)));
    if (gone.size === 0) {
      found.push(work);
      continue;
    }
    undone ??= await undoneIds(context);
    // An undo has put the earlier content back, so that content is not lost.
    const isLost = ({ type }: OmittedChange): boolean => type !== "created" && undone?.has(work.id) !== true;
    const omittedChanges = work.omittedChanges.map((change) =>
      gone.has(change) ? { ...change, kept: false, lost: isLost(change) } : change,
    );
    found.push({ ...work, omittedChanges });
  }
  return found;
}

async function undoneIds(context: Context): Promise<ReadonlySet<string>> {
  const undone = new Set<string>();
  for (const { intent } of await doneIntents(context)) {
    const ids = [...(intent.target === undefined ? [] : [intent.target]), ...(intent.takes ?? [])];
    for (const id of ids) {
      if (intent.kind === "undo") undone.add(id);
      else if (intent.kind === "redo") undone.delete(id);
    }
  }
  return undone;
}
