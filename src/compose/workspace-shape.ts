import type { WorkspaceShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/errors.ts";
import { glanceAtLog, type LogGlance } from "../storage/files/log-glance.ts";
import type { OpenedContext, StoreParts } from "./open-context.ts";
import type { ListedWorkspace } from "./roots-cache.ts";
import { isThere } from "./store-tasks.ts";
import { refuseOtherWorkspace } from "./workspace-file.ts";

/** Opens a workspace to look at it, and closes it again. */
export type LookInto = <T>(id: string, work: (opened: OpenedContext) => Promise<T>) => Promise<T>;

/** Is the folder still there, and the same? A hosted workspace has none that could go. */
export function isPresent({ backends }: StoreParts, { folders, device, inode }: ListedWorkspace): boolean {
  const [folder] = folders;
  if (folder === undefined) return true;
  const stat = backends.disk.lstat(folder);
  return stat !== undefined && String(stat.ino) === inode && String(stat.dev) === device;
}

/**
 * A workspace as programs see it in a list. Of most only the last bytes of the log are read; only where these say nothing
 * it is opened. One that cannot be opened is listed with what is wrong: it can still be seen, and forgotten. `undefined`: it
 * was forgotten meanwhile.
 */
export async function workspaceShape(
  parts: StoreParts,
  one: ListedWorkspace,
  lookInto: LookInto,
): Promise<WorkspaceShape | undefined> {
  const { id, name, folders, created, archived } = one;
  const shape = {
    id,
    ...(name === undefined ? {} : { name }),
    path: folders[0] ?? "",
    roots: [...folders],
    created,
    present: isPresent(parts, one),
    ...(archived === undefined ? {} : { archived }),
  };
  try {
    const { seq, ts } = glance(parts, id) ?? (await lookInto(id, lastEvent));
    return { ...shape, seq, last_event: ts };
  } catch (error) {
    if (!isThere(parts, id)) return undefined;
    if (!(error instanceof ChronicleError)) throw error;
    return { ...shape, seq: 0, last_event: null, problem: error.message };
  }
}

function glance({ backends, layout }: StoreParts, id: string): LogGlance | undefined {
  const { log, workspaceJson } = layout.workspace(id);
  refuseOtherWorkspace(backends.disk, workspaceJson);
  return glanceAtLog(backends.disk, log);
}

async function lastEvent({ context: { index } }: OpenedContext): Promise<{ seq: number; ts: string | null }> {
  const { seq } = await index.head();
  return { seq, ts: (await index.locate(seq))?.ts ?? null };
}
