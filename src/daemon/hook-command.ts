import type { StoreOptions } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { answerHook, type HookAnswer } from "../hooks/answer-hook.ts";
import type { HookAdapter, HookCall } from "../hooks/hook-call.ts";
import { guardedOf, type KeptPlaces } from "../hooks/refuse-persons-commands.ts";
import { OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import { FileNotes } from "./file-notes.ts";
import type { HookIo } from "./hook-io.ts";
import { type RunFolder, isOwnAddress, makeRunFolder, ownUid, runFolder } from "./run-folder.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { hookAdapter } from "../hooks/adapters.ts";
import { OFF_RECORD_VARIABLE } from "../process/environment.ts";
import { placesOf } from "../process/places.ts";
import { agentProcess } from "./agent-process.ts";
import { promptReader } from "./prompt-reader.ts";
import { addDiagnostic, diagnosticsFile } from "./diagnostics.ts";
import { isOwnCall, rememberCall } from "./last-call.ts";
import { launcherPath } from "./program-paths.ts";
import { printable } from "../process/printable.ts";
import { optional } from "../util/optional.ts";

/**
 * The maximum time, in milliseconds, to wait for a lock. It is short, because agents stop hooks after about a minute.
 */
const WAIT_MS = 20_000;

interface HookWords {
  readonly agent: string;
  readonly strict: boolean;
  /** The value of the option `--store`. */
  readonly store: string | undefined;
  /** True if the call is answered in this process, and the long-lived process is neither asked nor started. */
  readonly direct: boolean;
  /** The id of the process that started the installed hook. Default: the parent of this process. */
  readonly parent?: number;
}

interface HookRun {
  readonly io: HookIo;
  readonly words: HookWords;
  readonly adapter: HookAdapter;
  readonly input: string;
  readonly disk: Disk;
  readonly run: RunFolder;
}

/**
 * Answers one call of an agent's hook. If the agent works off the record, lets its tool run and does nothing else.
 * Otherwise, the answer of the long-lived process is used. If that process does not answer, this process answers the
 * call directly on the store. In that case, it also starts the long-lived process for later calls, unless `direct` is
 * set or the call is the end of a session. If the store cannot be used, this process answers without the store and
 * starts nothing. On stdout, prints only the output that the agent expects. Resolves to the exit code 0. Rejects if no
 * answer can be given.
 */
export async function hookCommand(io: HookIo, words: HookWords): Promise<number> {
  const adapter = hookAdapter(words.agent);
  const input = await io.readStdin();
  if (isSet(io.env[OFF_RECORD_VARIABLE])) return goOn(io, adapter);
  const disk = new NodeDisk();
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: words.store });
  const run = runFolder(disk, { env: io.env, home: places.home, uid: ownUid() });
  const hook = { io, words, adapter, input, disk, run };
  try {
    makeRunFolder(disk, run, ownUid());
    const answer = (await byServer(hook)) ?? (await here(hook, places));
    return tell(hook, answer);
  } catch (error) {
    return tell(hook, await withoutStore(hook, places, error));
  }
}

/**
 * Writes the error for people, and returns the exit code: 2 if `strict` is set, otherwise 1. After exit code 2, the
 * agent does not run its tool. After any other exit code, the agent runs its tool.
 */
export function failedHook(
  error: unknown,
  { strict, write }: { readonly strict: boolean; readonly write: (text: string) => void },
): number {
  write(`chronicle: ${printable(error instanceof Error ? error.message : String(error))}\n`);
  if (error instanceof ChronicleError && error.hint !== undefined) write(`  ${printable(error.hint)}\n`);
  return strict ? 2 : 1;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

/** Answers the hook of an agent that works off the record. The agent's tool may run, and nothing is stored. */
function goOn(io: HookIo, adapter: HookAdapter): number {
  const stdout = adapter.goOn();
  if (stdout !== "") io.out.write(`${stdout}\n`);
  return 0;
}

/**
 * Answers a call when the store cannot be used. `answerHook` gets an `open` that rejects with `error`. The answer is
 * therefore the one for a workspace that cannot be opened.
 */
function withoutStore(
  { words, adapter, input, disk }: HookRun,
  places: KeptPlaces,
  error: unknown,
): Promise<HookAnswer> {
  const notes = { get: () => undefined, put: () => undefined, remove: () => undefined };
  const open = (): Promise<never> => Promise.reject(error);
  const parts = { owner: null, notes, open, guarded: guardedOf(places), lastPrompt: promptReader(disk) };
  return answerHook({ adapter, input, strict: words.strict, ...parts });
}

async function byServer({ io, words, input, disk, run }: HookRun): Promise<HookAnswer | undefined> {
  if (words.direct || disk.lstat(run.address) === undefined || !isOwnAddress(disk, run, ownUid())) return undefined;
  const { askServer, isAnswered } = await import("./ask-server.ts");
  // The health check comes first, because a stopped process (SIGSTOP) accepts connections but never answers.
  if (!(await isAnswered(run.address, io.version))) return undefined;
  const path = `/hooks/${words.agent}${words.strict ? "?strict=1" : ""}`;
  const answer = await askServer({
    address: run.address,
    path,
    body: input,
    version: io.version,
    parent: words.parent ?? process.ppid,
  });
  if (answer?.status !== 200) return undefined;
  const { body, problem } = answer;
  return { stdout: body, blocked: false, ...optional({ problem }) };
}

async function here(hook: HookRun, places: ReturnType<typeof placesOf>): Promise<HookAnswer> {
  const { io, words, adapter, input, disk, run } = hook;
  const store = { ...places, waitMs: WAIT_MS };
  const owner = agentProcess(disk, words.parent ?? process.ppid);
  const answer = await answerDirectly(io, { adapter, input, strict: words.strict, owner, disk, run, store });
  if (isOwnCall(answer.call)) {
    const call = { at: new Date(io.now()).toISOString(), event: answer.call.kind, version: io.version };
    rememberCall(disk, run.folder, answer.agent ?? adapter.name, call);
  }
  if (answer.problem !== undefined) addDiagnostic(disk, run.folder, `hook ${adapter.name}: ${answer.problem}`);
  if (!words.direct && answer.call?.kind !== "session-end") {
    const { startServer } = await import("./start-server.ts");
    startServer(disk, { run, home: places.home, launcher: launcherPath(), env: io.env });
  }
  return answer;
}

function tell({ io, disk, run }: HookRun, { stdout, problem }: HookAnswer): number {
  if (stdout !== "") io.out.write(`${stdout}\n`);
  if (problem !== undefined) {
    io.err.write(`chronicle: ${printable(problem)}\n`);
    const file = diagnosticsFile(run.folder);
    if (disk.lstat(file) !== undefined) {
      const list = `the problems of all hooks and servers are listed in ${printable(file)}`;
      io.err.write(`  ${list}; chronicle doctor also lists those of the last day\n`);
    }
  }
  return 0;
}

interface DirectHook {
  readonly adapter: HookAdapter;
  readonly input: string;
  readonly strict: boolean;
  readonly owner: number | null;
  readonly disk: Disk;
  readonly run: RunFolder;
  readonly store: StoreOptions;
}

async function answerDirectly(io: HookIo, hook: DirectHook): Promise<HookAnswer> {
  let close = (): Promise<void> => Promise.resolve();
  const { adapter, input, strict, owner, disk, run } = hook;
  let workspaces: OpenWorkspaces | undefined;
  let isTool = false;
  const open = async (folder: string, create: boolean) => {
    if (workspaces === undefined) {
      const store = await io.openStore(hook.store, isTool);
      const opened = new OpenWorkspaces(store, { isThere: () => true, now: () => io.now() });
      workspaces = opened;
      close = async () => {
        await opened.close();
        await store.close();
      };
    }
    return workspaces.open(folder, create);
  };
  const onCall = ({ kind }: HookCall): void => {
    isTool = kind === "before" || kind === "after";
  };
  try {
    const notes = new FileNotes(disk, run.folder);
    const parts = { owner, open, notes, onCall, guarded: guardedOf(hook.store), lastPrompt: promptReader(disk) };
    return await answerHook({ adapter, input, strict, ...parts });
  } finally {
    await close();
  }
}
