import type { WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import type { LoggedOperation, Reversed } from "./logged-operation.ts";
import { fileEvents } from "./own-work.ts";
import { ownersIn, type Owners } from "./owners.ts";
import { undoneBy } from "./undone-events.ts";
import { greatestOf } from "../../util/long-lists.ts";

/**
 * Finds undos and redos whose own changes a later undo has undone. The later undo is one of everything since a moment,
 * one of a file, or the rollback of the transaction around the earlier undo or redo. The earlier one then has no
 * effect, until the later undo is redone.
 */

/** Returns the same operations, in log order, with `reversed` of each undo and redo that was reversed. */
export async function reversedTold(
  context: Context,
  operations: readonly LoggedOperation[],
): Promise<LoggedOperation[]> {
  const told = [...operations];
  const laterUndos: LoggedOperation[] = [];
  let owners: Owners | undefined;
  for (const [i, one] of [...operations.entries()].toReversed()) {
    if (one.kind !== "undo" && one.kind !== "redo") continue;
    if (laterUndos.some((undo) => mayHoldEventOf(undo, one))) {
      owners ??= await ownersIn(context);
      const reversed = await reversedOf(context, one, { later: told.slice(i + 1), owners });
      if (reversed.paths.size > 0) told[i] = { ...one, reversed };
    }
    if (one.kind === "undo") laterUndos.push(one);
  }
  return told;
}

/** False if the undo certainly has undone no event of the other operation. */
function mayHoldEventOf({ selective, target }: LoggedOperation, { id, fromSeq, toSeq }: LoggedOperation): boolean {
  if (selective === undefined) return target === id;
  return [selective.took, selective.met].some((ranges) =>
    ranges.some(([first, last]) => last > fromSeq && first <= toSeq),
  );
}

async function reversedOf(
  context: Context,
  { id, fromSeq, toSeq }: LoggedOperation,
  { later, owners }: { readonly later: readonly LoggedOperation[]; readonly owners: Owners },
): Promise<Reversed> {
  const { by } = undoneBy(later, owners);
  const paths = new Map<WorkspacePath, number>();
  let isAll = true;
  for await (const { seq, record, path } of fileEvents(context, { fromSeq, toSeq })) {
    if (record.intent !== id) continue;
    const ends = by(seq, record, path).map((undo) => undo.toSeq);
    if (ends.length > 0) paths.set(path, greatestOf(ends));
    else isAll = false;
  }
  return { paths, isAll };
}
