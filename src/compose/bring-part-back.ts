import { partId, type Tombstone } from "../core/records/tombstone.ts";
import { takePruningBack } from "../engine/upkeep/take-pruning-back.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks } from "./store-tasks.ts";
import { Tombstones } from "../store/tombstones.ts";

/**
 * Brings back the part that a note describes, and removes the note with those of all prunings that give nothing up any
 * more. Returns the id of the workspace.
 */
export async function bringPartBack(
  parts: StoreParts,
  { id, part }: { readonly id: string; readonly part: NonNullable<Tombstone["part"]> },
): Promise<string> {
  const { workspace } = part;
  const back = part.kind === "pruning" ? await pruningsBack(parts, workspace, part.event) : [];
  const ids = back.map((event) => partId(workspace, { kind: "pruning", event }));
  const notes = new Tombstones(parts);
  for (const one of new Set([id, ...ids])) notes.remove(one);
  return workspace;
}

async function pruningsBack(parts: StoreParts, workspace: string, event: number): Promise<readonly number[]> {
  const { context, close } = await openContext(parts, workspace, { tasks: storeTasks(parts, workspace) });
  try {
    return await takePruningBack(context, event);
  } finally {
    await close();
  }
}
