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

/** The API of the syncs that the store's server runs. */
export interface SyncClient extends AsyncDisposable {
  readonly syncs: SyncApi;
}

/** The time within which a server that was just started must answer, in milliseconds. */
const START_MS = 20_000;
const LOOK_MS = 50;

/**
 * The delay before a server that ended at once is started again, in milliseconds. It is short, because the user waits.
 */
const AGAIN_MS = 3_000;

/** Connects to the syncs of the store's server, and starts the server if none runs. Throws `UNAVAILABLE`, `UNSAFE`. */
export async function backgroundClient(context: CommandContext): Promise<SyncClient> {
  const { io } = context;
  const { home, run } = placeOf(context);
  const disk = new NodeDisk();
  makeRunFolder(disk, run, ownUid());
  if (!isOwnAddress(disk, run, ownUid())) {
    throw new ChronicleError("UNSAFE", `${run.address} leads to a folder that is not yours alone`, {
      hint: "look at it, remove it, and try again",
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

/** Connects to the syncs of the store's server; `undefined` if it does not run. */
export async function runningClient(context: CommandContext): Promise<SyncClient | undefined> {
  const { run } = placeOf(context);
  // Another user's socket could be at an address that is not this user's own.
  if (!isOwnAddress(new NodeDisk(), run, ownUid())) return undefined;
  return (await whoAnswers(run.address, context.io.version)) === undefined ? undefined : clientAt(run);
}

/**
 * Like `backgroundClient`, for commands that only read: if the store has no syncs, starts no server and returns
 * `undefined`.
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
 * Finds the sync that is meant, by its folder, its id or a prefix of the id. If nothing is typed: the sync that
 * `--workspace` names, else that of the current folder, else the only one that is not stopped. Throws `NOT_FOUND`,
 * `AMBIGUOUS`.
 */
export async function targetOf(context: CommandContext, syncs: SyncApi, typed: string | undefined): Promise<SyncShape> {
  const all = await syncs.list();
  const named = typed ?? context.input.text("workspace");
  if (named === undefined) return onlyOf(meantHere(context, all), "there is no sync");
  return onlyOf(matching(all, named, context.io.cwd()), `there is no sync ${printable(named)}`);
}

/**
 * Finds the sync that `--workspace` names, else the one whose folder contains a typed path, else that of `targetOf` if
 * nothing is typed. Throws `NOT_FOUND`, `AMBIGUOUS`.
 */
export async function targetHolding(context: CommandContext, syncs: SyncApi, path: string): Promise<SyncShape> {
  if (context.input.text("workspace") !== undefined) return targetOf(context, syncs, undefined);
  const all = await syncs.list();
  const above = dirname(resolve(context.io.cwd(), path));
  return syncAround(all, above) ?? onlyOf(meantHere(context, all), "there is no sync", "name one with -w, by");
}

/** Returns the syncs that a command which names none may mean; the command is about one only if there is one. */
function meantHere({ io, input }: CommandContext, all: readonly SyncShape[]): readonly SyncShape[] {
  const named = input.text("workspace");
  if (named !== undefined) return matching(all, named, io.cwd());
  const around = syncAround(all, io.cwd());
  if (around !== undefined) return [around];
  const going = all.filter(({ state }) => state !== "stopped");
  return going.length === 0 ? all : going;
}

/** Matches commands that need one sync, and name none. */
const OF_ONE_SYNC =
  /\bchronicle (?=sync (?:stop|pause|resume|adopt-as-new|rejoin|flush|conflicts|resolve)(?![\w-]| FOLDER))/g;

/** Returns a text about a sync in which commands name that sync, unless they mean it anyway in the current folder. */
export function namingSync(
  context: CommandContext,
  all: readonly SyncShape[],
  { id }: Pick<SyncShape, "id">,
): (text: string) => string {
  const [only, second] = meantHere(context, all);
  if (only?.id === id && second === undefined) return (text) => text;
  return (text) => text.replaceAll(OF_ONE_SYNC, `chronicle -w ${id.slice(0, 8)} `);
}

/** Does work on a sync. In the hint of an error, commands name the sync where that is necessary. */
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

/** Finds the sync with the innermost folder around a folder. */
function syncAround(all: readonly SyncShape[], place: string): SyncShape | undefined {
  const at = realFolder(place);
  const around = all.filter(({ folder }) => at === folder || at.startsWith(`${folder}/`));
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0];
}

/** Returns the syncs that a folder, an id or the beginning of an id may mean. */
function matching(all: readonly SyncShape[], named: string, cwd: string): readonly SyncShape[] {
  const folder = realFolder(resolve(cwd, named));
  const exact = all.filter((one) => one.id === named || one.folder === folder);
  return exact.length > 0 ? exact : meantBy(all, named, ({ id }) => id);
}

/** Returns the only sync. `none`: the message if there is none. `how`: the beginning of a hint on how to name one. */
function onlyOf(found: readonly SyncShape[], none: string, how = "name one by"): SyncShape {
  const [only, second] = found;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", none, {
      hint: "`chronicle sync status` lists them; `chronicle sync start URL#WORKSPACE FOLDER` begins one",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `there are ${found.length} syncs that may be meant`, {
    hint: [`${how} its folder or its id:`, ...found.map(({ id, folder }) => `  ${id.slice(0, 8)}  ${folder}`)].join(
      "\n",
    ),
    data: { syncs: found.map(({ id }) => id) },
  });
}

/** Returns the real path of a folder; the path itself if the folder is missing. */
function realFolder(path: string): string {
  try {
    return new NodeDisk().realpath(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return path;
  }
}
