import type { HistoryCopy, StoreTasks } from "../engine/log/context.ts";
import { mirrorParts } from "./mirror-places.ts";
import type { StoreParts } from "./open-context.ts";
import { openMirror } from "./open-mirror.ts";

/**
 * Opens a workspace's mirror of its origin's history for verification; `undefined` if it follows none, or nothing has
 * come.
 */
export async function openCopy(parts: StoreParts, id: string, tasks: StoreTasks): Promise<HistoryCopy | undefined> {
  const files = parts.layout.workspace(id).upstream;
  const [start] = mirrorParts(parts.backends, files)
    .slice(-1)
    .map((anchor) => ({ seq: anchor?.seq ?? 0 }));
  // A part without a line yet has nothing to verify but its anchor.
  if (start === undefined || (start.seq === 0 && !parts.backends.hasLog(files.mirror(0).log))) return undefined;
  const { context, close } = await openMirror(parts, id, { tasks });
  return {
    context,
    where: start.seq === 0 ? "upstream/" : `upstream/from-${start.seq}/`,
    [Symbol.asyncDispose]: close,
  };
}
