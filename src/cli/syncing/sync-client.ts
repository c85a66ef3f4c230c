import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SyncApi, SyncShape } from "../../api/sync-api.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { CommandContext } from "../support/context.ts";
import { printable } from "../../process/printable.ts";
import { diagnosticsFile } from "../../daemon/diagnostics.ts";
import { whoAnswers } from "../../daemon/ask-server.ts";
import { launcherPath } from "../../daemon/program-paths.ts";
import { isOwnAddress, makeRunFolder, ownUid, runFolder, type RunFolder } from "../../daemon/run-folder.ts";
import { startServer } from "../../daemon/start-server.ts";
import { placesOf } from "../../process/places.ts";
import { hasReplicas } from "../../daemon/has-replicas.ts";

export interface SyncClient extends AsyncDisposable {
  readonly syncs: SyncApi;
}

/** The time, in milliseconds, within which a newly started server must answer. */
const START_MS = 20_000;
/** The time, in milliseconds, between two checks whether a newly started server answers. */
const LOOK_MS = 50;

/**
 * The minimum time, in milliseconds, between two starts of the server. The time is short, because the user is waiting.
 */
const AGAIN_MS = 3_000;

/**
 * Connects to the syncs of the store's server. Starts the server if none is running. Throws `UNAVAILABLE` if the server
 * does not start, and `UNSAFE` if its socket could belong to another user.
 */
export async function backgroundClient(context: CommandContext): Promise<SyncClient> {
  const { io } = context;
  const { home, run } = placeOf(context);
  const disk = new NodeDisk();
  makeRunFolder(disk, run, ownUid());
  if (!isOwnAddress(disk, run, ownUid())) {
    throw new ChronicleError("UNSAFE", `${run.address} leads to a folder that is not yours alone`, {
      hint: "look at that link, remove it, and try again",
      data: { path: run.address },
    });
  }
  const from = io.now();
  while ((await whoAnswers(run.address, io.version)) === undefined) {
    startServer(disk, { run, home, launcher: launcherPath(), env: io.env, againMs: AGAIN_MS });
    if (io.now() - from > START_MS) throw notStarted(run);
    await sleep(LOOK_MS);
  }
  return clientAt(run);
}

/**
 * Connects to the syncs of the store's server. Returns `undefined` if the server is not running, or if its socket could
 * belong to another user.
 */
export async function runningClient(context: CommandContext): Promise<SyncClient | undefined> {
  const { run } = placeOf(context);
  // If others can enter the folder of the socket, the socket could belong to another user.
  if (!isOwnAddress(new NodeDisk(), run, ownUid())) return undefined;
  return (await whoAnswers(run.address, context.io.version)) === undefined ? undefined : clientAt(run);
}

/**
 * Connects to the syncs for a command that only reads. If the server is not running and a workspace of the store
 * follows or followed an origin, starts the server. Returns `undefined` if the server is not running and there is no
 * such workspace.
 */
export async function readingClient(context: CommandContext): Promise<SyncClient | undefined> {
  const running = await runningClient(context);
  if (running !== undefined) return running;
  return hasReplicas(new NodeDisk(), placeOf(context).home) ? backgroundClient(context) : undefined;
}

function placeOf({ io, input }: CommandContext): { readonly home: string; readonly run: RunFolder } {
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  return { home, run: runFolder(new NodeDisk(), { env: io.env, home, uid: ownUid() }) };
}

async function clientAt({ address }: RunFolder): Promise<SyncClient> {
  const { createClient } = await import("../../client/create-node-client.ts");
  const client = createClient({ url: `unix:${address}`, commandHints: true });
  return { syncs: client.syncs, [Symbol.asyncDispose]: () => client.close() };
}

function notStarted(run: RunFolder): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the process that runs syncs does not start", {
    hint: `see ${diagnosticsFile(run.folder)}, or run it here: chronicle sync start … --foreground`,
  });
}

/**
 * Finds the sync of a command. `typed` names the sync by its folder, its id or a prefix of the id (default: the value
 * of `--workspace`). If neither is given, the sync is the first of these that exists:
 * - the sync whose folder contains the current folder
 * - the only sync that is not stopped
 * - the only sync, if all syncs are stopped
 *
 * Throws `NOT_FOUND` if no sync matches, and `AMBIGUOUS` if several match.
 */
export async function targetOf(context: CommandContext, syncs: SyncApi, typed: string | undefined): Promise<SyncShape> {
  const all = await syncs.list();
  const named = typed ?? context.input.text("workspace");
  if (named === undefined) return onlyOf(meantHere(context, all), "there is no sync");
  return onlyOf(matching(all, named, context.io.cwd()), `there is no sync ${printable(named)}`);
}

/**
 * Finds the sync of a command about a path. If `--workspace` is given, finds the sync that it names. Otherwise, finds
 * the sync whose folder contains the path. If no folder contains the path, finds the sync as `targetOf` does without a
 * name. Throws `NOT_FOUND` if no sync matches, and `AMBIGUOUS` if several match.
 */
export async function targetHolding(context: CommandContext, syncs: SyncApi, path: string): Promise<SyncShape> {
  if (context.input.text("workspace") !== undefined) return targetOf(context, syncs, undefined);
  const all = await syncs.list();
  const above = dirname(resolve(context.io.cwd(), path));
  return syncAround(all, above) ?? onlyOf(meantHere(context, all), "there is no sync", "name one with -w, by");
}

/** Returns the syncs that a command without an argument can mean. If there are several, the command is ambiguous. */
function meantHere({ io, input }: CommandContext, all: readonly SyncShape[]): readonly SyncShape[] {
  const named = input.text("workspace");
  if (named !== undefined) return matching(all, named, io.cwd());
  const around = syncAround(all, io.cwd());
  if (around !== undefined) return [around];
  const going = all.filter(({ state }) => state !== "stopped");
  return going.length === 0 ? all : going;
}

/** Matches commands that are about one sync but do not name it. */
const OF_ONE_SYNC =
  /\bchronicle (?=sync (?:stop|pause|resume|adopt-as-new|rejoin|flush|conflicts|resolve)(?![\w-]| FOLDER))/g;

/**
 * Returns a function that adds `-w` with the id of a sync to the commands in a text. The function changes nothing if
 * the commands already mean this sync in the current folder.
 */
export function namingSync(
  context: CommandContext,
  all: readonly SyncShape[],
  { id }: Pick<SyncShape, "id">,
): (text: string) => string {
  const [only, second] = meantHere(context, all);
  if (only?.id === id && second === undefined) return (text) => text;
  return (text) => text.replaceAll(OF_ONE_SYNC, `chronicle -w ${id.slice(0, 8)} `);
}

/**
 * Runs `work` on a sync. If `work` throws an error with a hint about syncs, adds the sync's id to the commands in the
 * hint where it is needed (see `namingSync`).
 */
export async function onSync<T>(
  context: CommandContext,
  { syncs, sync }: { readonly syncs: SyncApi; readonly sync: SyncShape },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.hint?.includes("chronicle sync") !== true) throw error;
    const { code, message, data } = error;
    const hint = namingSync(context, await syncs.list(), sync)(error.hint);
    throw new ChronicleError(code, message, { hint, data, cause: error });
  }
}

/** Returns the sync whose folder is `place` or the nearest folder around it; `undefined` if there is no such sync. */
function syncAround(all: readonly SyncShape[], place: string): SyncShape | undefined {
  const at = realFolder(place);
  const around = all.filter(({ folder }) => at === folder || at.startsWith(`${folder}/`));
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0];
}

function matching(all: readonly SyncShape[], named: string, cwd: string): readonly SyncShape[] {
  const folder = realFolder(resolve(cwd, named));
  const exact = all.filter((one) => one.id === named || one.folder === folder);
  return exact.length > 0 ? exact : meantBy(all, named, ({ id }) => id);
}

/**
 * Returns the only sync. Throws `NOT_FOUND` with the message `none` if there is no sync, and `AMBIGUOUS` if there are
 * several. `how`: the beginning of the hint, which says how to name a sync.
 */
function onlyOf(found: readonly SyncShape[], none: string, how = "name one by"): SyncShape {
  const [only, second] = found;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", none, {
      hint: "`chronicle sync status` lists them; `chronicle sync start URL#WORKSPACE FOLDER` begins one",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${found.length} syncs may be meant`, {
    hint: [`${how} its folder or its id:`, ...found.map(({ id, folder }) => `  ${id.slice(0, 8)}  ${folder}`)].join(
      "\n",
    ),
    data: { syncs: found.map(({ id }) => id) },
  });
}

/** Returns the path with all links resolved. If there is no such folder, returns the given path. */
function realFolder(path: string): string {
  try {
    return new NodeDisk().realpath(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return path;
  }
}
