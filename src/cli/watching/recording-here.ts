import { join } from "node:path";
import type { RecorderShape, RecordingShape } from "../../api/shapes.ts";
import type { SyncState } from "../../api/sync-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { withRecorders } from "../../api/recording.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { whoAnswers } from "../../daemon/ask-server.ts";
import { findSyncProcess } from "../../daemon/find-sync-process.ts";
import { isOwnAddress, ownUid, runFolder } from "../../daemon/run-folder.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { placesOf } from "../../process/places.ts";
import type { CommandContext } from "../support/context.ts";
import { idleWatches } from "./installed-watches.ts";

/** The states in which a sync records what is edited in its folder, even while the origin cannot be reached. */
const RECORDING: ReadonlySet<SyncState> = new Set(["connecting", "syncing", "in-sync", "offline"]);

/**
 * Returns what is recorded at present, with the recorders that are no sessions of the history: the store's server, and
 * the sync of the folder. A watch that is installed and does not run is named as well. With `--remote`, the server's own answer is complete. `shape`: the answer of the workspace
 * (`WorkspaceApi.recording`); default: it is asked.
 */
export async function recordingHere(
  context: CommandContext,
  workspace: WorkspaceApi,
  shape?: RecordingShape,
): Promise<RecordingShape> {
  const own = shape ?? (await workspace.recording());
  if (context.remote !== undefined || workspace.path === "") return own;
  const others = [...(await serverOf(context, workspace.id)), ...(await syncOf(context, workspace.id))];
  const isWatched = own.by.some(({ kind }) => kind === "watch");
  return withRecorders(own, [...others, ...(isWatched ? [] : idleWatches(context.io, workspace.path))]);
}

/** A server ends itself for a client with a newer version. A look at the recorders must not end one of them. */
const NO_VERSION = "0";

/** Asks the store's server. A server that ends when it is idle only notes which paths change, and records nothing. */
async function serverOf(context: CommandContext, workspace: string): Promise<RecorderShape[]> {
  const { io, input } = context;
  if (io.served !== undefined) return [];
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const disk = new NodeDisk();
  const run = runFolder(disk, { env: io.env, home, uid: ownUid() });
  if (disk.lstat(run.address) === undefined || !isOwnAddress(disk, run, ownUid())) return [];
  if ((await whoAnswers(run.address, NO_VERSION))?.stays !== true) return [];
  const { createClient } = await import("../../client/create-node-client.ts");
  return orNone(async () => {
    const client = createClient({ url: `unix:${run.address}`, commandHints: true });
    try {
      const there = client.workspace(workspace);
      return (await there.recording()).by.filter(({ kind }) => kind === "server");
    } finally {
      await client.close();
    }
  });
}

/** Asks the process that runs the folder's sync: one in the foreground (`chronicle replicate`), or the store's server. */
async function syncOf(context: CommandContext, workspace: string): Promise<RecorderShape[]> {
  const { io, input } = context;
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const disk = new NodeDisk();
  if (disk.lstat(join(home, "workspaces", workspace, "upstream")) === undefined) return [];
  const { runningClient } = await import("../syncing/sync-client.ts");
  const findOther = findSyncProcess(disk, { env: io.env, home, uid: ownUid() }, io.version);
  return orNone(async () => {
    const other = await findOther(workspace);
    await using client = other ?? (await runningClient(context));
    const sync = (await client?.syncs.list())?.find(({ id }) => id === workspace);
    if (sync === undefined || !RECORDING.has(sync.state)) return [];
    return [{ kind: "sync", actor: null, since: null, pid: other?.pid ?? null }];
  });
}

/** Returns no recorders if the server does not answer properly, because it may be ending. */
async function orNone(work: () => Promise<RecorderShape[]>): Promise<RecorderShape[]> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
