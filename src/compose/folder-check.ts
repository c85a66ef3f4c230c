import type { DoctorCheck } from "../api/store-api.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { isSharedFileSystem, lackedBy } from "../core/tree/folder-traits.ts";
import { pathInRoot, ROOT } from "../core/values/path.ts";
import { isHosted } from "../engine/log/hosted.ts";
import { addAll } from "../util/long-lists.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

const UNTOLD = "other machines may change it without a word to this one, so all of it is looked at each time";

/** Reports what the disks of folders cannot hold: one check for each folder that lies on such a disk. */
export async function folderChecks(parts: StoreParts): Promise<DoctorCheck[]> {
  const checks: DoctorCheck[] = [];
  for (const id of workspaceIds(parts)) addAll(checks, await checksOf(parts, id));
  return checks;
}

/** Returns nothing for a workspace that cannot be opened: other checks report it. */
async function checksOf(parts: StoreParts, id: string): Promise<DoctorCheck[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      const { worktree } = context;
      if (isHosted(worktree.roots)) return [];
      return worktree.roots.flatMap(({ id: root, folder }) => {
        const traits = worktree.traitsOf(pathInRoot(root, ROOT));
        const { fileSystem, source } = traits;
        const lacked = lackedBy(traits);
        const details = [
          ...(lacked.length === 0
            ? []
            : [`${folder} is on ${fileSystem}, which cannot hold ${lacked.join(", ")} (${source})`]),
          ...(isSharedFileSystem(fileSystem) ? [`${folder} is on ${fileSystem}: ${UNTOLD}`] : []),
        ];
        return details.map((detail) => ({ name: "file system", ok: true, detail }));
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError || errnoOf(error) !== undefined) return [];
    throw error;
  }
}
