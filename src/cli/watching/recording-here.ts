import { join } from "node:path";
import type { RecorderShape, RecordingShape } from "../../api/shapes.ts";
import type { SyncShape } from "../../api/sync-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { withRecorders, withSync } from "../../api/recording.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { whoAnswers } from "../../daemon/ask-server.ts";
import { findSyncProcess } from "../../daemon/find-sync-process.ts";
import { isOwnAddress, ownUid, runFolder } from "../../daemon/run-folder.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { placesOf } from "../../process/places.ts";
import type { CommandContext } from "../support/context.ts";
import { idleWatches } from "./installed-watches.ts";

/**
 * Returns who records the workspace at present. Adds the recorders that are not in the workspace's own answer: the
 * store's server, the sync of the folder, and an installed watch that does not run. With `--remote`, adds nothing,
 * because the server's answer is complete. `shape`: the workspace's own answer (default: the result of
 * `WorkspaceApi.recording`).
 */
export async function recordingHere(
  context: CommandContext,
  workspace: WorkspaceApi,
  shape?: RecordingShape,
): Promise<RecordingShape> {
  const own = shape ?? (await workspace.recording());
  if (context.remote !== undefined || workspace.path === "") return own;
  const isWatched = own.by.some(({ kind }) => kind === "watch");
  const idle = isWatched ? [] : idleWatches(context.io, workspace.path);
  const served = withRecorders(own, await serverOf(context, workspace.id));
  const { sync, pid } = await syncOf(context, workspace.id);
  return withRecorders(withSync(served, sync, pid), idle);
}

/**
 * The client version that this process sends to the server. A server ends itself if a client is newer, and a look at
 * the recorders must not end the server.
 */
const NO_VERSION = "0";

/**
 * Returns the store's server, if it records the workspace. A server that ends when it is idle records nothing. It only
 * notes which paths change.
 */
async function serverOf(context: CommandContext, workspace: string): Promise<RecorderShape[]> {
  const { io, input } = context;
  if (io.served !== undefined) return [];
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home, uid: ownUid() });
  if (disk.lstat(run.address) === undefined || !isOwnAddress(disk, run, ownUid())) return [];
  if ((await whoAnswers(run.address, NO_VERSION))?.stays !== true) return [];
  const { createClient } = await import("../../client/create-node-client.ts");
  return unlessGone([], async () => {
    const client = createClient({ url: `unix:${run.address}`, commandHints: true });
    try {
      const there = client.workspace(workspace);
      return (await there.recording()).by.filter(({ kind }) => kind === "server");
    } finally {
      await client.close();
    }
  });
}

interface FoundSync {
  readonly sync?: SyncShape | undefined;
  /** The process that runs the sync, if it is not the store's server. */
  readonly pid: number | null;
}

/**
 * Returns the folder's sync, if there is one. Asks the process that runs the sync: a process in the foreground
 * (`chronicle replicate`), or the store's server.
 */
async function syncOf(context: CommandContext, workspace: string): Promise<FoundSync> {
  const { io, input } = context;
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const disk = new NodeDisk();
  const none: FoundSync = { pid: null };
  if (disk.lstat(join(home, "workspaces", workspace, "upstream")) === undefined) return none;
  const { runningClient } = await import("../syncing/sync-client.ts");
  const findOther = findSyncProcess(disk, { env: io.env, home, uid: ownUid() }, io.version);
  return unlessGone(none, async () => {
    const other = await findOther(workspace);
    await using client = other ?? (await runningClient(context));
    const sync = (await client?.syncs.list())?.find(({ id }) => id === workspace);
    return { sync, pid: other?.pid ?? null };
  });
}

/** Returns the result of `work`. If `work` throws a `ChronicleError`, returns `none`: the server may be ending. */
async function unlessGone<T>(none: T, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChronicleError) return none;
    throw error;
  }
}
