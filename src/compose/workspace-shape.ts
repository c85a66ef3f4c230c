import { dirname } from "node:path";
import type { WorkspaceShape } from "../api/shapes.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { isFolderStillAt } from "../store/folder-identity.ts";
import type { LogGlance } from "../storage/storage-backends.ts";
import type { OpenedContext, StoreParts } from "./open-context.ts";
import type { ListedWorkspace } from "../store/roots-cache.ts";
import { isThere } from "./store-tasks.ts";
import { refuseOtherWorkspace } from "../store/workspace-file.ts";
import { optional } from "../util/optional.ts";

/** Opens a workspace, calls `work` with it, and closes the workspace again. */
export type LookInto = <T>(id: string, work: (opened: OpenedContext) => Promise<T>) => Promise<T>;

/**
 * True if the folder of a workspace still exists and is the recorded folder. For a single file, compares the folder
 * around it, because programs replace a file when they save it. A hosted workspace has no folder, and is always
 * present.
 */
export function isPresent({ backends: { disk } }: StoreParts, one: ListedWorkspace): boolean {
  const [place] = one.folders;
  if (place === undefined) return true;
  const kind = disk.lstat(place)?.kind;
  if (kind === undefined) return false;
  return isFolderStillAt(disk, kind === "dir" ? place : dirname(place), one);
}

/**
 * True if the folder of a workspace that is not present was removed and made again at the same place. Commands in the
 * new folder concern this workspace. A folder on another file system does not count, because the recorded file system
 * may merely be unmounted.
 */
function isMadeAgain(
  { backends: { disk } }: StoreParts,
  { folders: [place], single, device }: ListedWorkspace,
): boolean {
  if (place === undefined || single) return false;
  const stat = disk.lstat(place);
  return stat?.kind === "dir" && String(stat.dev) === device;
}

/** Returns the result of `look`. Returns true if the disk fails, because the folder may exist. */
function orUnseen(look: () => boolean): boolean {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return true;
  }
}

/**
 * Returns the shape of a workspace for a list. Reads the last bytes of the log. Opens the workspace only if the last
 * event is not in these bytes. A workspace that cannot be opened is listed with its problem, so that it can be
 * forgotten. Returns `undefined` if the workspace has been forgotten since it was listed.
 */
export async function workspaceShape(
  parts: StoreParts,
  one: ListedWorkspace,
  lookInto: LookInto,
): Promise<WorkspaceShape | undefined> {
  const { id, name, folders, created, archived } = one;
  const shape = {
    id,
    ...optional({ name }),
    path: folders[0] ?? "",
    roots: [...folders],
    created,
    present: orUnseen(() => isPresent(parts, one) || isMadeAgain(parts, one)),
    ...optional({ archived }),
  };
  if (one.problem !== undefined) return { ...shape, seq: 0, last_event: null, problem: one.problem };
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
  return backends.lastEvent(log);
}

async function lastEvent({ context: { index } }: OpenedContext): Promise<{ seq: number; ts: string | null }> {
  const { seq } = await index.head();
  return { seq, ts: (await index.locate(seq))?.ts ?? null };
}
