import { ChronicleError } from "../core/values/errors.ts";
import { LogMirror } from "../replication/replica/log-mirror.ts";
import type { Mirror } from "../replication/replica/mirror.ts";
import type { ReplicaOptions } from "../replication/replica/replica-session.ts";
import { FileWitnessNotes } from "../replication/replica/witness-notes.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import type { UpstreamLayout } from "../storage/layout.ts";
import type { Context } from "../engine/log/context.ts";
import { noteUnfollowed } from "../engine/capture/unclean-end.ts";
import { followOrigin } from "../store/follow-origin.ts";
import { makeFolders } from "../store/file-head-keeper.ts";
import { FileMirrorPlaces } from "./mirror-places.ts";
import { earlyFilesOf } from "./early-files-of.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { isThere, storeTasks } from "./store-tasks.ts";

/** A workspace that follows an origin, open in this process: the only one that follows it, until it is disposed of. */
export interface ReplicaHold extends AsyncDisposable {
  /** The replica's own history and folder. */
  readonly context: Context;
  /** The mirror of the origin's history. */
  readonly mirror: Mirror;
  /** For `ReplicaSession`, with `sandboxId` (the workspace's id) and the caller's own options. */
  readonly options: Pick<ReplicaOptions, "upstream" | "mirror" | "blobs" | "notes" | "withheld" | "early">;
}

/**
 * Opens a workspace as a replica. Throws `NOT_FOUND`, `LOCKED` if another process follows its origin, `LOG_DAMAGED` if
 * the mirror is damaged.
 */
export async function openReplica(parts: StoreParts, id: string): Promise<ReplicaHold> {
  const { backends, layout, blobs } = parts;
  const { upstream } = layout.workspace(id);
  if (!isThere(parts, id)) throw new ChronicleError("NOT_FOUND", `there is no workspace ${JSON.stringify(id)}`);
  makeFolders(backends.disk, upstream.folder);
  await using closing = new AsyncDisposableStack();
  closing.use(await followOrigin(backends, upstream));
  const { context, close, early } = await openContext(parts, id, { tasks: storeTasks(parts, id), follows: true });
  closing.defer(async () => {
    noteUnfollowed(context);
    await close();
  });
  const files = early === undefined ? undefined : closing.use(earlyFilesOf(backends.disk, early));
  const mirror = await openMirror(parts, upstream);
  closing.defer(() => mirror.close());
  const notes = new FileWitnessNotes(backends.disk, upstream.witness);
  const withheld = new FileWithheldContents(backends.disk, upstream.withheld);
  const open = closing.move();
  return {
    context,
    mirror,
    options: { upstream: mirror, mirror, blobs, notes, withheld, early: files },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/**
 * Opens the mirror. If it is damaged, the error says where it lies: with the origin at hand, no part of it is needed.
 */
async function openMirror(parts: StoreParts, layout: UpstreamLayout): Promise<LogMirror> {
  try {
    return await LogMirror.open(new FileMirrorPlaces(parts, layout));
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
    const { code, message, data } = error;
    const hint = `move ${layout.folder} away and connect again: it is fetched anew`;
    throw new ChronicleError(code, message, { hint, data, cause: error });
  }
}
