import { resolve } from "node:path";
import { EXIT } from "../../api/problems.ts";
import type { StoreApi, StoreOptions } from "../../api/store-api.ts";
import { processAt } from "../../daemon/agent-process.ts";
import type { ClientRuns } from "../../daemon/client-runs.ts";
import type { CommandAnswer, CommandCall, OutputPart, RunOrder, Terminal } from "../../daemon/command-call.ts";
import { viewFrom } from "../../daemon/command-call.ts";
import type { Around, WorkAround } from "../../core/values/agents-role.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { startedWithin } from "../../open.ts";
import { ownHome } from "../../process/environment.ts";
import type { Io, Sink } from "../../process/io.ts";
import { NeedsClient } from "../../process/needs-client.ts";
import type { OpenWorkspaces } from "../../server/callers/open-workspaces.ts";
import { optional } from "../../util/optional.ts";
import { withNotes } from "./command-notes.ts";
import { LeasedStore } from "./leased-store.ts";

/**
 * The maximum size, in bytes, of the output of a command that has changed nothing so far. If the output grows larger,
 * the client does the command itself, because the client can print while the command runs.
 */
const MOST_OUTPUT = 8 * 1024 ** 2;

/** The parts of the long-lived process that commands need. */
export interface CommandHost {
  readonly store: StoreApi;
  readonly workspaces: OpenWorkspaces;
  readonly runs: ClientRuns;
  /** Maps the id of a request to the progress of its command, for the commands under way. */
  readonly progress: Map<string, string>;
  readonly configFolder: string;
  readonly userHome: string | undefined;
  readonly version: string;
  /** The time zone that was given to this process (`TZ`). */
  readonly zone: string | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Carries out a command for another process, its client. `run` runs a command line with the given `Io`. If the command
 * is a run, the answer may be the program that the client must start. In two cases, the answer says that the client
 * must do the command itself: paths, rights or times would not mean the same in this process, or the command has
 * created a `NeedsClient` error.
 */
export async function performCommand(
  call: CommandCall,
  host: CommandHost,
  run: (io: Io) => Promise<number>,
): Promise<CommandAnswer> {
  const difference = differenceTo(call, host);
  if (difference !== undefined) return { direct: difference };
  const served = new ServedCommand(call, host);
  const answered = served.run(run);
  // The rejection is ignored only here. If the command fails before `ordered` has resolved, the race rejects. If the
  // command fails later, the client learns of the failure when it reports the end of the program.
  answered.catch(() => undefined);
  return Promise.race([answered, served.ordered]);
}

function differenceTo({ view, cwd, env }: CommandCall, { zone }: CommandHost): string | undefined {
  const own = viewFrom(new NodeDisk(), cwd);
  const isSame = own?.root === view.root && own.cwd === view.cwd && own.spaces === view.spaces;
  if (!isSame) return "another view of the file system";
  if (own.rights !== view.rights) return "other rights or limits";
  return env["TZ"] === zone ? undefined : "another time zone";
}

/** One command that this process carries out for its client. */
class ServedCommand {
  readonly #io: Io;
  readonly #answered = Promise.withResolvers<CommandAnswer>();
  readonly #ordered = Promise.withResolvers<CommandAnswer>();
  #isOrdered = false;
  #tellTo: (tell: StoreOptions["onNote"]) => void = () => undefined;
  readonly #call: CommandCall;
  readonly #host: CommandHost;
  #output: OutputPart[] = [];
  #size = 0;
  #cwd: string;
  #needed: string | undefined;
  #isChanging = false;
  #endBy: NodeJS.Signals | undefined;
  #isPaged = false;

  constructor(call: CommandCall, host: CommandHost) {
    this.#call = call;
    this.#host = host;
    this.#cwd = call.cwd;
    const { argv, env, stdinIsTerminal, request } = call;
    this.#io = {
      ...{ argv, env, stdinIsTerminal, version: host.version, userHome: ownHome(env) },
      inherited: { descriptors: () => [], bytes: () => undefined },
      out: this.#sink(1, call.out),
      err: this.#sink(2, call.err),
      readStdin: () => Promise.reject(this.#needs("it reads its input")),
      streams: () => {
        throw this.#needs("it reads its input");
      },
      cwd: () => this.#cwd,
      chdir: (folder) => this.#chdir(folder),
      now: () => Date.now(),
      openStore: (options) => Promise.resolve(this.#openStore(options)),
      onInterrupt: () => () => undefined,
      endBy: (signal) => (this.#endBy = signal),
      onUncaught: () => () => undefined,
      page: () => void (this.#isPaged = true),
      served: {
        needsClient: (reason) => this.#needs(reason),
        changing: () => (this.#isChanging = true),
        progress: (text) => void host.progress.set(request, text),
        startedWithin: (whose) => this.#startedWithin(whose),
      },
      request,
      runner: host.runs.runnerOf(call.pid, (order) => this.#order(order), this.#answered.promise),
    };
  }

  /**
   * Resolves to the program that the client must start for a run, with the output so far. `run` continues after that.
   * If the command orders no program, the promise stays pending.
   */
  get ordered(): Promise<CommandAnswer> {
    return this.#ordered.promise;
  }

  run(run: (io: Io) => Promise<number>): Promise<CommandAnswer> {
    const noted = withNotes((tellTo) => {
      this.#tellTo = tellTo;
      return run(this.#io);
    });
    const answered = noted.then(
      (code) => this.#answer(code),
      (error: unknown) => {
        // Even the report of an error may need the client.
        if (error instanceof NeedsClient) return this.#answer(EXIT.failed);
        throw error;
      },
    );
    this.#answered.resolve(answered);
    return answered.finally(() => this.#host.progress.delete(this.#call.request));
  }

  #order(run: RunOrder): void {
    // From now on, the client must not do the whole command itself.
    this.#isOrdered = true;
    this.#isChanging = true;
    this.#ordered.resolve({ run, output: this.#output });
    this.#output = [];
  }

  #answer(code: number): CommandAnswer {
    if (this.#needed !== undefined && !this.#isOrdered) return { direct: this.#needed, isBegun: true };
    const paged = this.#isPaged ? { paged: true as const } : {};
    return { code, output: this.#output, ...optional({ endBy: this.#endBy }), ...paged };
  }

  /** Returns the error `NeedsClient`. Remembers the reason, because a command may catch the error. */
  #needs(reason: string): NeedsClient {
    this.#needed ??= reason;
    return new NeedsClient(reason);
  }

  #sink(fd: 1 | 2, { isTerminal, colours, columns }: Terminal): Sink {
    const add = (bytes: Uint8Array): void => {
      this.#size += bytes.length;
      if (this.#size > MOST_OUTPUT && !this.#isChanging) throw this.#needs("its output is large");
      this.#output.push([fd, bytes]);
    };
    return {
      ...{ isTerminal, colours, columns, broken: false },
      write: (text) => add(Buffer.from(text)),
      writeBytes: async (bytes) => {
        add(Buffer.from(bytes));
        await Promise.resolve();
      },
    };
  }

  #chdir(folder: string): void {
    const to = new NodeDisk().realpath(resolve(this.#cwd, folder));
    if (new NodeDisk().lstat(to)?.kind !== "dir") throw this.#needs("its folder is not a folder");
    this.#cwd = to;
  }

  async #startedWithin(whose: Around | undefined): Promise<WorkAround | undefined> {
    const { pid } = this.#call;
    if (processAt(new NodeDisk(), pid) === undefined)
      throw this.#needs("the processes that have started it are unknown");
    return startedWithin(this.#host.store, whose, pid);
  }

  #openStore(options: StoreOptions): StoreApi {
    const { store, workspaces, configFolder, userHome, onError } = this.#host;
    const isSame = options.home === store.home && options.configFolder === configFolder;
    if (!isSame || options.userHome !== userHome) throw this.#needs("another store, configuration or home folder");
    this.#tellTo(options.onNote);
    return new LeasedStore({
      ...{ store, workspaces, options, onError },
      refuseWithin: (owners) => {
        if (isWithin(this.#call.pid, owners)) throw this.#needs("it is a part of a run or of an agent's work");
      },
      needs: (reason) => this.#needs(reason),
    });
  }
}

/** True if an ancestor of the process is one of the `owners`, or if the ancestors cannot be determined. */
function isWithin(pid: number, owners: readonly number[]): boolean {
  if (owners.length === 0) return false;
  const disk = new NodeDisk();
  for (let at = pid; at > 1;) {
    const found = processAt(disk, at);
    if (found === undefined || owners.includes(found.parent)) return true;
    at = found.parent;
  }
  return false;
}
