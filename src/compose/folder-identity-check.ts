import type { ReplicaHalt } from "../core/records/replica-record.ts";
import type { WorkspaceRecord } from "../core/records/workspace-record.ts";
import { answer } from "../engine/log/answer.ts";
import { workspaceRecord } from "../engine/log/own-record.ts";
import { isFolderStillAt } from "../store/folder-identity.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { openMirror } from "./open-mirror.ts";
import { storeTasks } from "./store-tasks.ts";

/** A replica's folder, and the other folders that follow the same origin from this store. */
export interface Placed {
  readonly id: string;
  readonly folder: string;
  readonly url: string;
  /** The folders of other replicas of this origin. */
  readonly beside: readonly string[];
}

/**
 * Returns a halt for a folder that would hold itself without end: one within the folder that it follows, or around it,
 * or one of two that follow one origin and lie in each other. The origin's own folder is known from its history. It
 * counts if the origin is reached without leaving this machine, or is of this store, and the folder is the very one
 * that is recorded there.
 */
export async function checkFolderIdentity(parts: StoreParts, placed: Placed): Promise<ReplicaHalt | undefined> {
  const { folder, beside } = placed;
  const other = beside.find((one) => areNested(one, folder));
  if (other !== undefined) return nested(folder, other, "another folder that follows this origin");
  const origin = await originFolder(parts, placed);
  if (origin === undefined || !areNested(origin, folder)) return undefined;
  return nested(folder, origin, "the folder that it follows");
}

/** The same of a folder that is yet to follow, as far as the origin is a workspace of this store: its own folder is known before. */
export async function checkAgainstOrigin(
  parts: StoreParts,
  origin: string,
  folder: string,
): Promise<ReplicaHalt | undefined> {
  const { disk } = parts.backends;
  if (!parts.backends.hasLog(parts.layout.workspace(origin).log)) return undefined;
  const { context, close } = await openContext(parts, origin, { readOnly: true, tasks: storeTasks(parts, origin) });
  try {
    const record = await answer(context, () => workspaceRecord(context));
    const path = record.roots[0]?.folder ?? "";
    if (path === "" || !isFolderStillAt(disk, path, record) || !areNested(path, folder)) return undefined;
    return nested(folder, path, "the folder that it follows");
  } finally {
    await close();
  }
}

/** Is one the other, or within it? Both absolute, links resolved. */
function areNested(a: string, b: string): boolean {
  const [outer, inner] = a.length <= b.length ? [a, b] : [b, a];
  return inner === outer || outer === "/" || inner.startsWith(`${outer}/`);
}

function nested(folder: string, other: string, what: string): ReplicaHalt {
  const how = folder.length > other.length ? "lies in" : folder === other ? "is" : "lies around";
  return { reason: "nested", detail: `${folder} ${how} ${what} (${other}), and would hold itself without end` };
}

/** Returns the origin's own folder, if it is on this machine. */
async function originFolder(parts: StoreParts, { id, url }: Placed): Promise<string | undefined> {
  const { disk } = parts.backends;
  const { workspaceId, record } = await recordOfOrigin(parts, id);
  const isNear = parts.backends.hasLog(parts.layout.workspace(workspaceId).log) || isHere(url);
  const path = record.roots[0]?.folder ?? "";
  return isNear && path !== "" && isFolderStillAt(disk, path, record) ? path : undefined;
}

async function recordOfOrigin(
  parts: StoreParts,
  id: string,
): Promise<{ readonly workspaceId: string; readonly record: WorkspaceRecord }> {
  const { context, close } = await openMirror(parts, id, { tasks: storeTasks(parts, id) });
  try {
    return { workspaceId: context.workspaceId, record: await answer(context, () => workspaceRecord(context)) };
  } finally {
    await close();
  }
}

/** True if the address leads to this machine. A tunnel may begin here, too: then the folder is not the recorded one. */
function isHere(url: string): boolean {
  if (url.startsWith("unix:")) return true;
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}
