import type { SyncMode, SyncSettings, SyncApi, SyncShape, SyncRunner, SyncStart } from "../../api/sync-api.ts";
import type { CommandContext } from "../support/context.ts";
import { bareTokenNote, remoteToken } from "../remote/remote-token.ts";
import type { Input } from "../../process/input.ts";
import { usageError } from "../../process/usage-error.ts";
import { optional } from "../../util/optional.ts";
import { EXIT } from "../../api/problems.ts";
import type { StoreApi } from "../../api/store-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { writtenPath } from "../support/written-path.ts";
import { ownUid, syncRunFolder } from "../../daemon/run-folder.ts";
import { placesOf } from "../../process/places.ts";
import { counted } from "../render/words.ts";
import { printable } from "../../process/printable.ts";
import { secretsStay } from "../render/secrets.ts";
import { syncLines } from "../render/syncs.ts";
import { findSyncProcess } from "../../daemon/find-sync-process.ts";
import { showSyncs } from "./live-syncs.ts";
import { backgroundClient, namingSync, runningClient } from "./sync-client.ts";
import { parseUpstream, type UpstreamAddress } from "./upstream-address.ts";

const USAGE = "usage: chronicle sync start URL#WORKSPACE FOLDER";

export async function startSync(context: CommandContext, args: readonly string[]): Promise<number> {
  const [url, folder, ...more] = args;
  if (url === undefined || folder === undefined || more.length > 0)
    throw usageError("sync start takes an origin and a folder", USAGE);
  const options = await startOptions(context, parseUpstream(url, context.io.cwd()), folder);
  if (context.input.flag("foreground")) return runSync(context, options);
  await using client = await backgroundClient(context);
  const begun = await client.syncs.start(options);
  const sync = await firstSync(context, client.syncs, begun);
  const note = sync.state === "halted" ? undefined : beginningNote(context, sync, begun);
  if (note !== undefined) context.say(note);
  const { joined, protected: secrets } = begun;
  if (context.json) context.printJson({ ...sync, joined, protected: secrets });
  else for (const line of syncLines([sync], context.paint)) context.print(line);
  if (sync.hint !== undefined && !context.json) {
    const naming = namingSync(context, await client.syncs.list(), sync);
    context.print(context.paint("dim", context.worded(naming(sync.hint))));
  }
  return sync.state === "halted" ? EXIT.failed : EXIT.done;
}

/**
 * Returns the options of a sync from the command line. Throws `USAGE` for invalid options, `UNSAFE` for a folder in the
 * store or the configuration folder, and `FORBIDDEN` if an agent asks for secrets.
 */
export async function startOptions(
  context: CommandContext,
  { url, workspace }: UpstreamAddress,
  folder: string,
): Promise<SyncStart> {
  if (context.input.flag("withProtected")) await context.refuseAgent("--with-protected");
  return {
    upstream: url,
    ...optional({ workspace }),
    folder: writtenPath(context, "the folder", folder),
    ...followOptions(context),
    ...(context.input.flag("force") ? { force: true } : {}),
    ...upstreamToken(context, url),
  };
}

function beginningNote(context: CommandContext, sync: SyncShape, begun: SyncShape): string | undefined {
  const secrets = secretsStay(begun.protected, printable);
  const joined = joinedNote(context, sync, begun.joined);
  const lines = [joined, ...(secrets === undefined ? [] : [context.worded(secrets)])].filter(
    (line) => line !== undefined,
  );
  return lines.length === 0 ? undefined : lines.join("\n");
}

function joinedNote({ worded }: CommandContext, { folder, mode, ...sync }: SyncShape, joined = 0): string | undefined {
  if (joined === 0) return undefined;
  const isReading = sync.read_only === true;
  const least = !isReading && GIVES_WAY.has(mode) ? "at least " : "";
  const files = `${least}${counted(joined, "file")} of ${printable(folder)}`;
  return worded(`note: ${files} ${isReading ? JOINED_READING : JOINED[mode]}`);
}

/**
 * The modes in which the origin's ignore files replace the ignore files of the folder. In these modes, `joinedNote`
 * says "at least", because files that only the folder's own ignore files leave out are not counted, and join the sync
 * later.
 */
const GIVES_WAY: ReadonlySet<SyncMode> = new Set(["two-way-resolved", "one-way-replica"]);

const JOINED_READING = "stay here and do not go to the origin: the token may only read";
const TO_ORIGIN = "join those of the origin: files that the origin does not have go there; nothing here is overwritten";
const JOINED: Readonly<Record<SyncMode, string>> = {
  "two-way-safe": TO_ORIGIN,
  "two-way-resolved":
    "join those of the origin: files that the origin does not have go there; where the origin has another file " +
    "of the same name, the origin's file comes here, and yours stays in the history",
  "one-way-safe": "stay as they are, and do not go to the origin",
  "one-way-replica": "are replaced by what the origin has, and stay in the history",
};

/**
 * Waits for the first sync, and returns its state. At a terminal, shows the first sync until it is done. Ctrl-C ends
 * only the display, and not the sync. Without a terminal or with `--json`, only waits until it is known whether the
 * origin can be reached.
 */
async function firstSync(context: CommandContext, syncs: SyncApi, begun: SyncShape): Promise<SyncShape> {
  if (context.json || !context.io.err.isTerminal) return reached(syncs, begun);
  const waiting = new AbortController();
  const endInterrupt = context.io.onInterrupt(() => waiting.abort());
  try {
    const until = ({ state }: SyncShape): boolean => !isBusy(state);
    if (isBusy(begun.state)) await showSyncs(context, syncs, { id: begun.id, signal: waiting.signal, until });
    return await syncs.status(begun.id);
  } finally {
    endInterrupt();
  }
}

function isBusy(state: SyncShape["state"]): boolean {
  return state === "connecting" || state === "syncing";
}

/**
 * Runs a sync in this process. Ctrl-C, `sync stop` in another process, or a refusal of the origin ends the sync. Synced
 * files stay.
 */
export async function runSync(context: CommandContext, options: SyncStart): Promise<number> {
  const { openSyncs } = await import("../../open.ts");
  const store = await context.store();
  const runner = openSyncs(store, (error) => context.note(String(error)));
  const ended = new AbortController();
  const endInterrupt = context.io.onInterrupt(() => {
    if (ended.signal.aborted) process.exit(130);
    ended.abort();
  });
  try {
    const begun = await startHere(context, runner, options);
    const { id } = begun;
    const note = (sync: SyncShape): string | undefined => beginningNote(context, sync, begun);
    const last = await followed(context, { store, runner, id, signal: ended.signal, note });
    if (context.json) context.print(JSON.stringify(last));
    else
      context.say(
        isRefused(last)
          ? last.halted === "nested"
            ? "ended: choose another folder"
            : "ended: the origin refuses it"
          : "ended; to continue, give the same command again",
      );
    return isRefused(last) ? EXIT.failed : EXIT.done;
  } finally {
    endInterrupt();
    await runner.close();
  }
}

/**
 * Starts the sync in this process. The store's server may already run the sync, because an earlier foreground process
 * has ended without stopping it. In that case, makes the server stop the sync first.
 */
async function startHere(context: CommandContext, runner: SyncRunner, options: SyncStart): Promise<SyncShape> {
  try {
    return await runner.start(options);
  } catch (error) {
    const isLocked = error instanceof ChronicleError && error.code === "LOCKED";
    if (!isLocked || !(await isHandedOver(context, options))) throw error;
    context.say("note: the store's process ran this sync; from now on, this command runs it");
    return runner.start(options);
  }
}

/**
 * Makes the store's server stop the sync. Returns true if the server no longer runs the sync. Returns false if no
 * server is running, if the server does not know the sync, or if another process runs the sync in the foreground.
 */
async function isHandedOver(context: CommandContext, { folder }: SyncStart): Promise<boolean> {
  try {
    return await hasLetGo(context, folder);
  } catch (error) {
    // The store's server has ended, so it no longer runs the sync.
    if (error instanceof ChronicleError && error.code === "UNAVAILABLE") return true;
    throw error;
  }
}

async function hasLetGo(context: CommandContext, folder: string): Promise<boolean> {
  await using client = await runningClient(context);
  if (client === undefined) return false;
  const real = new NodeDisk().realpath(folder);
  const sync = (await client.syncs.list()).find((one) => one.folder === real);
  if (sync === undefined || (await isRunAlone(context, sync.id))) return false;
  await client.syncs.stop(sync.id);
  return true;
}

async function isRunAlone({ io, input }: CommandContext, id: string): Promise<boolean> {
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  const find = findSyncProcess(new NodeDisk(), { env: io.env, home, uid: ownUid() }, io.version);
  await using other = await find(id);
  return other !== undefined;
}

interface Followed {
  readonly store: StoreApi;
  readonly runner: SyncRunner;
  readonly id: string;
  readonly signal: AbortSignal;
  /** Returns a note to print once the origin has admitted the sync; `undefined` for no note. */
  readonly note: (sync: SyncShape) => string | undefined;
}

/**
 * The reasons for which a sync stays halted until a person decides. The person can do so in another process, or put the
 * folder back, while this process runs. Every other reason is a refusal by the origin, or a folder that cannot follow
 * the origin.
 */
const UNDECIDED: ReadonlySet<string> = new Set([
  "root-vanished",
  "root-replaced",
  "root-emptied",
  "mass-deletion",
  "forked",
  "diverged",
]);

/** True if the sync is halted for a reason that is not in `UNDECIDED`, such as a refused token. */
export function isRefused({ halted }: Pick<SyncShape, "halted">): boolean {
  return halted !== undefined && !UNDECIDED.has(halted);
}

/**
 * Shows the work of a sync until the origin refuses the sync, or until this or another process stops the sync. Then
 * stops the sync, and returns its last state.
 */
async function followed(context: CommandContext, { store, runner, id, ...more }: Followed): Promise<SyncShape> {
  await using _socket = await socketFor(context, { store, runner, id });
  await showSyncs(context, runner, { ...more, id, until: (sync) => sync.state === "stopped" || isRefused(sync) });
  return await runner.stop(id);
}

/**
 * Opens the socket of the sync. If the socket cannot be opened, reports the error and returns `undefined`; the sync
 * still runs.
 */
async function socketFor(
  context: CommandContext,
  { store, runner, id }: Pick<Followed, "store" | "runner" | "id">,
): Promise<AsyncDisposable | undefined> {
  const { io } = context;
  const disk = new NodeDisk();
  const uid = ownUid();
  const onError = (error: unknown): void => context.note(String(error));
  try {
    const { openSyncSocket } = await import("./sync-socket.ts");
    const run = syncRunFolder(disk, { env: io.env, home: store.home, uid }, id);
    return await openSyncSocket({ disk, store, syncs: runner, run, uid, version: io.version, onError });
  } catch (error) {
    onError(error);
    return undefined;
  }
}

const MODES: readonly SyncMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

function followOptions({ input }: CommandContext): SyncSettings {
  const [mode, policy, debounceMs] = [input.text("mode"), input.text("policy"), input.number("debounce")];
  const editorFiles = input.text("editorFiles");
  if (editorFiles !== undefined && editorFiles !== "leave" && editorFiles !== "sync")
    throw usageError(`editors' files cannot be ${editorFiles}`, "--editor-files leave, or --editor-files sync");
  const [filterTo, filterFrom] = [patterns(input, "to"), patterns(input, "from")];
  if (policy !== undefined && policy !== "sandbox")
    throw usageError(`there is no policy ${policy}`, "the only policy is: sandbox");
  const withProtected = input.flag("withProtected");
  if (withProtected && input.flag("withoutProtected"))
    throw usageError("--with-protected and --without-protected are opposites", "give one of them");
  return {
    ...(mode === undefined ? {} : { mode: modeOf(mode) }),
    ...optional({ filterTo, filterFrom, policy, editorFiles, debounceMs }),
    ...(withProtected || input.flag("withoutProtected") ? { withProtected } : {}),
  };
}

/**
 * Returns the patterns of the command line for one direction: `undefined` to leave the sync's patterns as they are, or
 * an empty list to remove them.
 */
function patterns(input: Input, way: "to" | "from"): readonly string[] | undefined {
  const [given, without] = way === "to" ? ["filterTo", "withoutFilterTo"] : ["filterFrom", "withoutFilterFrom"];
  const list = input.list(given);
  if (!input.flag(without)) return list.length === 0 ? undefined : list;
  if (list.length > 0)
    throw usageError(`--filter-${way} and --without-filter-${way} are opposites`, "give one of them");
  return [];
}

function modeOf(text: string): SyncMode {
  const mode = MODES.find((one) => one === text);
  if (mode === undefined) throw usageError(`there is no mode ${text}`, `the modes are: ${MODES.join(", ")}`);
  return mode;
}

/**
 * Returns the token for an origin. A Unix socket needs no token. Throws `USAGE` if the origin is at a port and no token
 * is given.
 */
function upstreamToken(context: CommandContext, url: string): { readonly token?: string } {
  if (url.startsWith("unix:")) return {};
  const { io, input } = context;
  const token = remoteToken({ file: input.text("tokenFile"), given: io.env["CHRONICLE_TOKEN"], cwd: () => io.cwd() });
  if (token === undefined) {
    throw usageError(
      `${url} is a port, and a port needs a token`,
      "give it with --token-file FILE or $CHRONICLE_TOKEN; on the origin's machine, `token create --role agent` " +
        "makes one",
    );
  }
  const note = bareTokenNote(url.replace(/^ws/, "http"), token);
  if (note !== undefined) context.note(note);
  return { token };
}

/** The maximum time, in milliseconds, for which `reached` waits for the origin. A running origin answers at once. */
const ANSWER_MS = 2_000;

/**
 * The time, in milliseconds, for which `reached` waits after a sync has gone offline. A refusal may become known a
 * moment later.
 */
const SETTLING_MS = 300;

/**
 * Waits until it is known whether the origin of a sync can be reached and whether the origin admits the folder. Waits
 * at most `ANSWER_MS`. Each event that reports the sync as offline sets the remaining time to `SETTLING_MS`. Returns
 * the last state of the sync.
 */
export async function reached(syncs: SyncApi, begun: SyncShape): Promise<SyncShape> {
  const isOpen = ({ state, applied }: SyncShape): boolean =>
    state === "connecting" || state === "offline" || (state === "syncing" && applied === 0);
  if (!isOpen(begun)) return begun;
  const enough = new AbortController();
  let timer = setTimeout(() => enough.abort(), ANSWER_MS);
  let last = begun;
  try {
    for await (const event of syncs.events(begun.id, enough.signal)) {
      if (event.kind !== "state") continue;
      last = event.sync;
      if (!isOpen(last)) break;
      if (last.state !== "offline") continue;
      clearTimeout(timer);
      timer = setTimeout(() => enough.abort(), SETTLING_MS);
    }
  } finally {
    clearTimeout(timer);
  }
  return last;
}
