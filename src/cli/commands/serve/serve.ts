import { dirname } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { ReplicaAcceptor } from "../../../api/replication-api.ts";
import { outlivesProcess } from "../../../api/store-address.ts";
import type { StoreApi, StoreOptions } from "../../../api/store-api.ts";
import type { SyncRunner } from "../../../api/sync-api.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import type { CommandContext } from "../../support/context.ts";
import { writtenPath } from "../../support/written-path.ts";
import { askServer, whoAnswers } from "../../../daemon/ask-server.ts";
import { addDiagnostic } from "../../../daemon/diagnostics.ts";
import { makeHookImage } from "../../../daemon/make-hook-image.ts";
import { launcherPath } from "../../../daemon/program-paths.ts";
import {
  isOneSocket,
  isOwnAddress,
  makeRunFolder,
  ownFolder,
  ownUid,
  type RunFolder,
  runFolder,
} from "../../../daemon/run-folder.ts";
import type { ServeOptions } from "../../../daemon/serve-options.ts";
import { StoreServer } from "../../../daemon/serve-store.ts";
import { startServer } from "../../../daemon/start-server.ts";
import { placesOf } from "../../../process/places.ts";
import { printable } from "../../../process/printable.ts";
import { type OperatorToken, operatorToken } from "../../serving/operator-token.ts";
import { plannedOidc, plannedPorts } from "../../serving/serve-plan.ts";
import { findSyncProcess } from "../../../daemon/find-sync-process.ts";
import { type FindOther, JoinedSyncs } from "../../../daemon/joined-syncs.ts";
import { listenTrouble, refuseLongSocket } from "../../../daemon/listen-trouble.ts";
import { tellAlreadyThere, tellListening } from "../../serving/tell-serving.ts";
import { typedPath } from "../../../process/user-path.ts";
import { tellCommand } from "../../resident/command-notes.ts";
import { optional } from "../../../util/optional.ts";

/**
 * The delay, in milliseconds, from the server's start until the server makes the hook's image (see `makeHookImage`).
 */
const IMAGE_AFTER_MS = 5_000;
/** The time, in milliseconds, after which a server that listens but does not answer is treated as gone. */
const ANSWER_MS = 5_000;
/**
 * The time, in milliseconds, within which another running server must answer `GET /v1/syncs`. If no answer comes within
 * this time, a new server is started.
 */
const TAKE_UP_MS = 60_000;

/**
 * Returns options for opening the store. The options count commits and events in `recorded`. Each note is passed to the
 * command that this process is carrying out for a client. If there is no such command, the note is printed. Warnings
 * about unsigned histories are ignored, because the clients report them.
 */
function heardBy(
  context: CommandContext,
  recorded: { commits: number; events: number },
): Pick<StoreOptions, "onCommit" | "onNote" | "onUnsigned"> {
  return {
    onNote: (note) => {
      if (!tellCommand(note)) context.note(note);
    },
    onCommit: ({ events }) => {
      recorded.commits += 1;
      recorded.events += events;
    },
    onUnsigned: () => undefined,
  };
}

export async function serve(context: CommandContext): Promise<number> {
  const { io, input } = context;
  const quiet = input.flag("quiet");
  const disk = new NodeDisk();
  const recorded = { commits: 0, events: 0 };
  const store = await context.store(heardBy(context, recorded));
  const uid = ownUid();
  const usual = runFolder(disk, { env: io.env, home: store.home, uid });
  const wanted = input.text("socket");
  const run = wanted === undefined ? usual : { ...usual, socket: namedSocket(context, usual, wanted) };
  refuseLongSocket(run.socket, true);
  const ports = plannedPorts(context);
  const oidc = plannedOidc(context, ports.length > 0);
  makeRunFolder(disk, run, uid);
  ownFolder(disk, dirname(run.socket), uid);
  const watchMost = input.number("watchMost");
  const idleMs = (input.number("idle") ?? 0) * 1000;
  // A server of an older version ends when it gets the request of `whoAnswers`. This server replaces a running server
  // with `--idle` (`stays` is false), unless this server has `--idle`, too.
  const there = isOwnAddress(disk, run, uid) ? await whoAnswers(run.address, io.version, ANSWER_MS) : undefined;
  if (there !== undefined && (there.stays || idleMs > 0)) {
    const unserved = wanted === undefined || isOneSocket(disk, run) ? undefined : run.socket;
    return tellAlreadyThere(context, { home: store.home, socket: run.address, there, ports, unserved });
  }
  const asked = { env: io.env, userHome: io.userHome, cwd: io.cwd(), store: input.text("store"), goesOn: true };
  const { configFolder } = placesOf(asked);
  const operator = ports.length === 0 ? undefined : operatorOf(context, disk, configFolder);
  const server = new StoreServer({
    ...{ store, configFolder, userHome: io.userHome, disk, run, version: io.version, idleMs, ports },
    ...(operator === undefined ? {} : { operatorToken: operator.token }),
    ...optional({ oidc, watchMost, perform: performer(context, { store, configFolder }) }),
    ...{ recorded, metricsPublic: input.flag("metricsPublic") },
    // With `--idle`, the current folder is not served, because it is usually the run folder (see `startServer`).
    ...(idleMs > 0 ? {} : { folder: io.cwd() }),
    onListening: (urls, newCode) => {
      tellListening(context, { socket: run.socket, urls, ports, operator, newCode });
      if (idleMs > 0) keepHookImage(disk, run, store.home);
    },
    onFolder: (hosted) => tellFolder(context, hosted),
    onWatching: (watched, left) => tellWatching(context, watched, left),
    onUnwritten: (line) => io.err.write(`chronicle: ${printable(line.split("\n", 1)[0] ?? "")}\n`),
    ...(input.flag("replication") ? { replicaAcceptor: (onError: OnError) => acceptorOf(store, onError) } : {}),
    syncs: (onError: OnError) =>
      syncsOf(store, onError, findSyncProcess(disk, { env: io.env, home: store.home, uid }, io.version)),
  });
  const endInterrupt = onInterrupt(context, server);
  const endUncaught = io.onUncaught((error) => server.noteUncaught(error));
  try {
    const left = await server.serve();
    const isKept = outlivesProcess(input.text("store") ?? "");
    if (isKept && server.leavesSyncs && left !== "signal") await handSyncsOver(context, disk, usual);
    if (!quiet && !context.json) context.say(`ended: ${left}`);
    return EXIT.done;
  } catch (error) {
    throw listenTrouble(error);
  } finally {
    endUncaught();
    endInterrupt();
  }
}

/**
 * Returns the function with which this process carries out commands for other processes. Returns `undefined` if the
 * `Io` of this process cannot run other command lines (`runInside`).
 */
function performer(
  { io }: CommandContext,
  place: { readonly store: StoreApi; readonly configFolder: string },
): ServeOptions["perform"] {
  const { runInside, version, env } = io;
  if (runInside === undefined) return undefined;
  const userHome = io.userHome === "" ? undefined : io.userHome;
  const own = { ...place, version, userHome, zone: env["TZ"] };
  return async (call, host) => {
    const { performCommand } = await import("../../resident/perform-command.ts");
    return performCommand(call, { ...own, ...host }, runInside);
  };
}

/**
 * Returns the absolute path given with `--socket`. Throws `UNSAFE` for a path in the store or the configuration folder.
 * The usual path (`address`) is allowed although it is in the store, because clients look for the socket there.
 */
function namedSocket(context: CommandContext, { address }: RunFolder, wanted: string): string {
  const path = typedPath(context.io.cwd(), "--socket", wanted);
  return path === address ? path : writtenPath(context, "--socket", wanted);
}

/**
 * Makes the startup snapshot (the image, see `hookImagePath`) from which hooks start when no server answers. The work
 * begins after a delay, because the process that started this server may be waiting for an answer. A failure is only
 * noted in the diagnostics.
 */
function keepHookImage(disk: NodeDisk, run: RunFolder, home: string): void {
  const make = (): void => {
    makeHookImage(disk, home).catch((error: unknown) => {
      addDiagnostic(disk, run.folder, `the hook's image could not be made: ${String(error)}`);
    });
  };
  setTimeout(make, IMAGE_AFTER_MS).unref();
}

function operatorOf({ io, input }: CommandContext, disk: NodeDisk, configFolder: string): OperatorToken {
  const file = input.text("tokenFile");
  return operatorToken(disk, {
    given: io.env["CHRONICLE_TOKEN"],
    file: file === undefined ? undefined : typedPath(() => io.cwd(), "--token-file", file),
    configFolder,
  });
}

/**
 * Hands the syncs over to another server, because this server has ended. If another server is already running, requests
 * its list of syncs. The request makes the other server look for syncs again, and continue those that no process runs.
 * If no server answers with status 200, starts a server.
 */
async function handSyncsOver({ io, input }: CommandContext, disk: NodeDisk, run: RunFolder): Promise<void> {
  if (isOwnAddress(disk, run, ownUid())) {
    const question = { address: run.address, path: "/v1/syncs", method: "GET", version: io.version } as const;
    const answer = await askServer({ ...question, answerMs: TAKE_UP_MS });
    if (answer?.status === 200) return;
  }
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  startServer(disk, { run, home, launcher: launcherPath(), env: io.env, againMs: 0 });
}

type OnError = (error: unknown) => void;

async function acceptorOf(store: StoreApi, onError: OnError): Promise<ReplicaAcceptor> {
  return (await import("../../../open.ts")).openReplicaAcceptor(store, onError);
}

/** Returns the syncs of this process, together with the syncs that other processes run in the foreground. */
async function syncsOf(store: StoreApi, onError: OnError, findOther: FindOther): Promise<SyncRunner> {
  return new JoinedSyncs((await import("../../../open.ts")).openServedSyncs(store, onError), findOther);
}

/**
 * Reacts to signals until the returned function is called. After the first signal, the server ends once it has answered
 * all accepted requests. The second signal ends the process at once. This is safe, because acknowledged writes are
 * durable.
 */
function onInterrupt({ io }: CommandContext, server: StoreServer): () => void {
  let isTold = false;
  return io.onInterrupt(() => {
    if (isTold) process.exit(EXIT.failed);
    isTold = true;
    server.leave("signal");
  });
}

function tellFolder(context: CommandContext, hosted: WorkspaceApi | Error): void {
  if (context.json || context.input.flag("quiet")) return;
  const folder = printable(context.io.cwd());
  if (!(hosted instanceof Error)) context.say(`${printable(hosted.path)} is workspace ${hosted.id}`);
  else context.say(`${folder} is not served: ${printable(hosted.message)}`);
}

function tellWatching(context: CommandContext, watched: number, left: number): void {
  if (left === 0 || context.json || context.input.flag("quiet")) return;
  context.say(
    `${watched} more folders of the store are watched; ${left} others are watched only once they are used (to watch all of them: --watch-most ${watched + left})`,
  );
}
