import { movedFolder } from "../../core/tree/moved-folder.ts";
import type { Context } from "../log/context.ts";
import { isHosted } from "../log/hosted.ts";
import { workspaceRecord } from "../log/own-record.ts";

/**
 * Throws `NOT_FOUND` if the record says, since this workspace was opened, that a root lies elsewhere: another project
 * may be at the old place by now. Reads nothing there, and changes nothing.
 */
export async function refuseMoved(context: Context): Promise<void> {
  const { index, worktree, workspaceId, recordedAt } = context;
  if (isHosted(worktree.roots) || (await index.record(`workspace:${workspaceId}`)) === undefined) return;
  const { roots } = await workspaceRecord(context);
  for (const { id, folder } of worktree.roots) {
    const recorded = roots.find((one) => (one.id ?? undefined) === id)?.folder ?? folder;
    // Opened through a bind mount, it also lies where it was recorded.
    const isKnown = recorded === folder || (id === undefined && recorded === recordedAt);
    if (!isKnown) throw movedFolder(folder, recorded);
  }
}
