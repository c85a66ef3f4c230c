import type { Tombstone } from "../core/tombstone.ts";
import { takePruningBack } from "../workspace/take-pruning-back.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks } from "./store-tasks.ts";
import { Tombstones } from "./tombstones.ts";

/** Brings back what a note of a part stands for, and removes the note. Returns the id of the workspace. */
export async function bringPartBack(
  parts: StoreParts,
  { id, part }: { readonly id: string; readonly part: NonNullable<Tombstone["part"]> },
): Promise<string> {
  const { workspace } = part;
  const { context, close } = await openContext(parts, workspace, { tasks: storeTasks(parts, workspace) });
  try {
    if (part.kind === "pruning") await takePruningBack(context, part.event);
  } finally {
    await close();
  }
  new Tombstones(parts.backends.disk, parts.configFolder).remove(id);
  return workspace;
}
