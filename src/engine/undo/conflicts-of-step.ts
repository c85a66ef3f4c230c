import { contentsOfConflict, decodeConflict, type IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { Context } from "../log/context.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { readRange } from "../log/read-events.ts";

const PREFIX = "conflict:";

/**
 * Returns the new states of conflicts when the settling of one is undone or redone: it is open again, as long as its
 * contents are in the store, or settled as before. The caller holds a lease.
 */
export async function conflictsOfStep(
  context: Context,
  { kind, fromSeq, toSeq }: LoggedOperation,
  direction: "undo" | "redo",
): Promise<IdentifiedConflict[]> {
  if (kind !== "resolve") return [];
  const found: IdentifiedConflict[] = [];
  for await (const event of readRange(context, fromSeq + 1, toSeq)) {
    if (!event.recordId.startsWith(PREFIX)) continue;
    const { settled, ...rest } = decodeConflict(event.record);
    if (settled === undefined) continue;
    const record = direction === "undo" ? { ...rest, state: "open" as const } : { ...rest, settled };
    const contents = contentsOfConflict(record);
    const there = await context.blobs.has(contents);
    if (direction === "redo" || contents.every((hash) => there.has(hash)))
      found.push({ id: event.recordId.slice(PREFIX.length), record });
  }
  return found;
}
