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
  if (named !== undefined) return namedOf(all, named, context.io.cwd());
  const around = syncAround(all, context.io.cwd());
  if (around !== undefined) return around;
  const going = all.filter(({ state }) => state !== "stopped");
  return onlyOf(going.length === 0 ? all : going, "there is no sync");
}

/**
 * Finds the sync that `--workspace` names, else the one whose folder contains a typed path, else that of `targetOf` if
 * nothing is typed. Throws `NOT_FOUND`, `AMBIGUOUS`.
 */
export async function targetHolding(context: CommandContext, syncs: SyncApi, path: string): Promise<SyncShape> {
  const isNamed = context.input.text("workspace") !== undefined;
  const above = dirname(resolve(context.io.cwd(), path));
  return (isNamed ? undefined : syncAround(await syncs.list(), above)) ?? targetOf(context, syncs, undefined);
}

/** Finds the sync with the innermost folder around a folder. */
function syncAround(all: readonly SyncShape[], place: string): SyncShape | undefined {
  const at = realFolder(place);
  const around = all.filter(({ folder }) => at === folder || at.startsWith(`${folder}/`));
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0];
}

function namedOf(all: readonly SyncShape[], named: string, cwd: string): SyncShape {
  const folder = realFolder(resolve(cwd, named));
  const exact = all.filter((one) => one.id === named || one.folder === folder);
  if (exact.length > 0) return onlyOf(exact, "");
  return onlyOf(
    meantBy(all, named, ({ id }) => id),
    `there is no sync ${printable(named)}`,
  );
}

function onlyOf(found: readonly SyncShape[], none: string): SyncShape {
  const [only, second] = found;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", none, {
      hint: "`chronicle sync status` lists them; `chronicle sync start URL#WORKSPACE FOLDER` begins one",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `there are ${found.length} syncs that may be meant`, {
    hint: [
      "name one by its folder or its id:",
      ...found.map(({ id, folder }) => `  ${id.slice(0, 8)}  ${folder}`),
    ].join("\n"),
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
