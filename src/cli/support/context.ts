import type { Progress, ActingAs, WorkspaceApi, ProgressOptions } from "../../api/workspace-api.ts";
import { formatBytes } from "../../core/values/duration.ts";
import type { Sink, Io } from "../../process/io.ts";
import type { Classed } from "../../api/file-api.ts";
import type { MeShape } from "../../api/routes/reply-shapes.ts";
import type { OpenOptions, StoreApi, StoreOptions } from "../../api/store-api.ts";
import { WHO_CAN } from "../../core/values/agents-role.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isAgents, isWithinAgents } from "./agents-command.ts";
import type { Input } from "../../process/input.ts";
import { refuseOwn } from "./written-path.ts";
import { newHistoryLines } from "./new-history.ts";
import { type Paint, paintFor, printable } from "../../process/printable.ts";
import { placesOf } from "../../process/places.ts";
import type { RemoteAddress } from "../remote/remote-address.ts";
import type { RemoteServer } from "../remote/remote-server.ts";
import { withRequestIds } from "../resident/request-ids.ts";
import { writeJson } from "../render/json.ts";
import type { CommandSpec } from "../table/spec.ts";
import { standingFolderIfThere, UserPaths } from "../../process/user-path.ts";
import { usageError } from "../../process/usage-error.ts";
import { type WithGlobalOptions, withGlobalOptions } from "../table/with-global-options.ts";
import { optional } from "../../util/optional.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";

const DEFAULT_WAIT_SECONDS = 30;

interface As extends Pick<StoreOptions, "actor" | "role" | "retention" | "onCommit" | "onNote" | "onUnsigned"> {
  /** True if requests to a server are not retried, because the user is waiting for shell completions. */
  readonly once?: boolean;
}

/** The commands that run until somebody ends them. Such a command can have its store in memory. */
const LONG_RUNNING: ReadonlySet<string> = new Set(["serve", "mcp"]);

/** The commands that may close workspaces and open them again while they run. */
const REOPENING: ReadonlySet<string> = new Set([...LONG_RUNNING, "replicate", "sync", "watch"]);

interface Asked {
  readonly command?: string | undefined;
  readonly remote?: RemoteAddress | undefined;
  /** True if output that does not fit on the screen goes to the user's pager. */
  readonly paged?: boolean;
}

/**
 * The environment of a command: its input, its `Io` and the store, which is opened on first use. With `--remote`, a
 * server is used instead of the store.
 */
export class CommandContext {
  readonly io: Io;
  readonly input: Input;
  readonly commands: readonly CommandSpec[];
  readonly json: boolean;
  readonly paint: Paint;
  readonly paintErr: Paint;
  /** Adds this command's global options to the commands in a text, so that they can be typed as shown. */
  readonly worded: WithGlobalOptions;
  readonly remote: RemoteAddress | undefined;
  #store: StoreApi | undefined;
  #server: Promise<RemoteServer> | undefined;
  readonly #command: string | undefined;
  readonly #isPaged: boolean;
  #isAgent: Promise<boolean> | undefined;
  #isAnyhow: Promise<boolean> | undefined;
  readonly #workspaces: WorkspaceApi[] = [];
  /** The workspaces of a server, or of the store's process, that this command may have changed. */
  readonly #changed: WorkspaceApi[] = [];
  #isUnsigned = false;
  #notes = 0;
  #progress: ProgressLine | undefined;

  constructor(io: Io, input: Input, commands: readonly CommandSpec[], { remote, command, paged = false }: Asked = {}) {
    this.io = io;
    this.remote = remote;
    this.#command = command;
    this.#isPaged = paged;
    this.input = input;
    this.worded = withGlobalOptions(input);
    this.commands = commands;
    this.json = input.flag("json");
    this.paint = paintFor(input.flag("color") && io.out.colours);
    this.paintErr = paintFor(input.flag("color") && io.err.colours);
  }

  get canAsk(): boolean {
    return this.io.stdinIsTerminal && this.io.err.isTerminal && !this.json;
  }

  /** True if recorded events are not signed. A note has already told the user so. */
  get isUnsigned(): boolean {
    return this.#isUnsigned;
  }

  /** Must be called after a person has accepted the history, because the history is signed from then on. */
  nowSigned(): void {
    this.#isUnsigned = false;
  }

  /** Returns the store. The first call opens it; the options of later calls have no effect. */
  async store({ once = false, ...as }: As = {}): Promise<StoreApi> {
    const { io, input, remote } = this;
    const role = (await this.isAgent()) ? { role: "agent" as const } : {};
    if (remote !== undefined) return (await this.#serverOf(remote, { ...as, ...role, once })).store;
    const waitSeconds = input.number("wait") ?? DEFAULT_WAIT_SECONDS;
    const goesOn = this.#command !== undefined && LONG_RUNNING.has(this.#command);
    const asked = { env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store"), goesOn };
    const places = placesOf(asked);
    const onNote = (note: string): void => this.note(note);
    const onUnsigned = (): void => void (this.#isUnsigned = true);
    const how = { ...places, waitMs: waitSeconds * 1000, onNote, onUnsigned };
    const ends = this.#command === undefined || !REOPENING.has(this.#command);
    this.#store ??= await io.openStore({ ...how, ...as, ...role }, ends);
    return this.#store;
  }

  /**
   * Opens the workspace that `--workspace` names, or else the nearest workspace around the current folder. With a
   * server, opens the workspace that `RemoteServer.workspace` returns. If `create` is set and there is no workspace,
   * creates one and reports that on stderr.
   */
  async workspace({ create, ...options }: Pick<OpenOptions, "create" | "readOnly">): Promise<WorkspaceApi> {
    const how = { ...options, ...this.progress(), ...(this.#isUpstream ? { upstream: true } : {}) };
    const store = await this.store();
    const named = await this.chosen();
    if (named !== undefined) return this.#noted(await store.openById(named, how), options.readOnly);
    try {
      const opened = await store.open({ folder: this.io.cwd(), ...how });
      this.#progress?.clear();
      return this.#noted(opened, options.readOnly);
    } catch (error) {
      const isNew =
        create === true && !this.#isUpstream && error instanceof ChronicleError && error.code === "NOT_FOUND";
      if (!isNew) throw error;
      return this.#begin(store);
    }
  }

  /**
   * True if the command is about the mirror of an origin's history (`--upstream`). Throws `USAGE` if a server is used
   * (`--remote`).
   */
  get #isUpstream(): boolean {
    if (!this.input.flag("upstream")) return false;
    if (this.remote === undefined) return true;
    throw usageError("--upstream is about a replica of this machine", "leave out --remote, or ask the origin itself");
  }

  /** Returns the id or name of the chosen workspace; `undefined` if the current folder determines the workspace. */
  async chosen(): Promise<string | undefined> {
    const named = this.input.text("workspace");
    if (this.remote === undefined) return named;
    await this.store();
    return (await this.#server)?.workspace(named);
  }

  /**
   * Returns the server's description of this caller; `undefined` without a server. Throws the errors of
   * `RemoteServer.me`.
   */
  async meThere(): Promise<MeShape | undefined> {
    if (this.remote === undefined) return undefined;
    await this.store();
    return (await this.#server)?.me();
  }

  /**
   * True if the caller may prune, forget and free recorded data. Other callers are not asked for confirmation, because
   * they are refused in any case.
   */
  async isOperator(): Promise<boolean> {
    if (await this.isAgent()) return false;
    const me = await this.meThere();
    return me === undefined || me.role === "operator";
  }

  /**
   * Returns the text to show if an answer has no folder for a workspace. Either the workspace has no folder, or the
   * server hides the paths of its machine from this caller.
   */
  async noFolderText(): Promise<string> {
    const isKnown = this.remote === undefined || (await this.isOperator());
    return isKnown ? "(no folder)" : "(a folder is shown to operators only)";
  }

  /**
   * True if an agent, or a command that a run has started, runs this command. Checks `$CHRONICLE_ROLE`. For the
   * commands in `PERSONS` (`agents-command.ts`), also checks the ancestors of this process.
   */
  isAgent(): Promise<boolean> {
    return (this.#isAgent ??= isAgents(this.io, this.input, this.#command));
  }

  /**
   * True if an agent, or a command that a run has started, runs this command. Unlike `isAgent`, checks the ancestors of
   * the process for every command, because a secret is about to be shown.
   */
  #isAgentAnyhow(): Promise<boolean> {
    return (this.#isAnyhow ??= this.isAgent().then((isAgent) => isAgent || isWithinAgents(this.io, this.input)));
  }

  /**
   * Returns a view of the workspace that shows prompts only to persons. If an agent runs the command, the view has the
   * role of an agent. Checks the ancestors of the process that runs the command, for every command.
   */
  async forPrompts(workspace: WorkspaceApi): Promise<WorkspaceApi> {
    return (await this.#isAgentAnyhow()) ? workspace.as({ role: "agent" }) : workspace;
  }

  /**
   * Throws `FORBIDDEN` if `isAgent` is true. A command that is not about one particular history calls this method,
   * because no history can record its refused attempt.
   */
  async refuseAgent(what: string): Promise<void> {
    if (!(await this.isAgent())) return;
    throw new ChronicleError("FORBIDDEN", `an agent may not do this: ${what}`, { hint: WHO_CAN });
  }

  #serverOf(address: RemoteAddress, { actor, role, once = false }: As): Promise<RemoteServer> {
    const { io, input } = this;
    const acting = { ...optional({ actor, role }) };
    const onNote = (note: string): void => this.note(note);
    // The code for servers is loaded on first use, so that a command line without a server starts fast.
    this.#server ??= import("../remote/remote-server.ts").then(({ RemoteServer: Server }) =>
      Server.of(io, { address, tokenFile: input.text("tokenFile"), acting, once, onNote }),
    );
    return this.#server;
  }

  async #begin(store: StoreApi): Promise<WorkspaceApi> {
    refuseOwn(this, "a history", this.io.cwd());
    const { workspace, result } = await store.init({ roots: [this.io.cwd()], ...this.progress() });
    const begun = this.closing(workspace);
    // `created` is false if another process has created the workspace in the meantime.
    if (result.created && !this.json) {
      const how = { io: this.io, all: await store.workspaces() };
      for (const line of await newHistoryLines(workspace, result.snapshot.coverage, how)) this.say(line);
    }
    this.#progress?.clear();
    return begun;
  }

  reading(): Promise<WorkspaceApi> {
    return this.workspace({ readOnly: true });
  }

  #noted(workspace: WorkspaceApi, readOnly = false): WorkspaceApi {
    const isElsewhere = this.remote !== undefined || this.io.served !== undefined;
    if (isElsewhere && !readOnly) this.#changed.push(workspace);
    return this.closing(workspace);
  }

  /**
   * Reports the workspaces in `#changed` that are not signed. For all other workspaces, the store itself reports
   * missing signatures.
   */
  async #askSigned(): Promise<void> {
    for (const workspace of this.#changed.splice(0)) {
      try {
        const { state, detail, hint } = await workspace.signing();
        // A command that runs in its own process signs the head when it ends. A command in the store's process signs
        // the head here.
        if (state === "signed" && this.io.served !== undefined) await workspace.keepHead?.();
        if (state !== "unsigned") continue;
        this.#isUnsigned = true;
        this.note(`what is recorded is not signed: ${[detail, hint].join("; ")}`);
      } catch (error) {
        if (!(error instanceof ChronicleError)) throw error;
        this.note(`could not check whether the recorded events are signed: ${error.message}`);
      }
    }
  }

  /**
   * Registers a workspace that `close` closes. Returns a view of the workspace that gives agents no bytes of secrets.
   */
  closing(workspace: WorkspaceApi): WorkspaceApi {
    this.#workspaces.push(workspace);
    const { request, served } = this.io;
    const requesting = request === undefined ? workspace : withRequestIds(workspace, request, served?.changing);
    return secretsForPeople(requesting, {
      isAgent: () => this.#isAgentAnyhow(),
      isRemote: this.remote !== undefined,
    });
  }

  /**
   * Returns the translation between typed paths and paths of the workspace. Typed paths are relative to the current
   * folder. In three cases, they are relative to the workspace's root instead:
   * - The workspace is on a server.
   * - The workspace has no folder.
   * - The workspace was chosen by name, and the current folder is not in it.
   */
  paths(workspace: WorkspaceApi): UserPaths {
    if (this.remote !== undefined) return new UserPaths(workspace, undefined);
    if (this.input.text("workspace") === undefined) return new UserPaths(workspace, this.io.cwd());
    return new UserPaths(workspace, standingFolderIfThere(this.io) ?? workspace.path, true);
  }

  progress(): ProgressOptions {
    if (!this.io.err.isTerminal || this.json) return {};
    const { err, served } = this.io;
    const sink = served === undefined ? err : { columns: err.columns, write: served.progress };
    const line = (this.#progress ??= new ProgressLine(sink, () => this.io.now()));
    return { onProgress: (progress) => line.show(progress) };
  }

  /** Prints a line of the answer. */
  print(line = ""): void {
    this.#progress?.clear();
    this.io.out.write(`${line}\n`);
  }

  /**
   * Must be called between two pieces of a long output. Resolves once the reader has room for more output. Resolves to
   * false if nobody reads the output any more.
   *
   * In the store's process, throws `NeedsClient` if the output may go to a pager, because only the client can show the
   * first piece while the command goes on.
   */
  async goesOn(): Promise<boolean> {
    const { out, served } = this.io;
    if (this.#isPaged && served !== undefined) throw served.needsClient("its output is shown while it is made");
    await out.writeBytes(Buffer.alloc(0));
    return !out.broken;
  }

  /** Prints on stderr a line that is not part of the answer. */
  say(line = ""): void {
    this.#progress?.clear();
    this.io.err.write(`${line}\n`);
  }

  /** The number of notes that this command has printed so far. */
  get notes(): number {
    return this.#notes;
  }

  /** Prints a note on stderr. Control characters are escaped, because the text is untrusted. */
  note(text: string): void {
    this.#notes += 1;
    this.say(`note: ${printable(this.worded(text))}`);
  }

  printJson(value: unknown): void {
    this.#progress?.clear();
    writeJson(value, (text) => this.io.out.write(text));
  }

  async close(): Promise<void> {
    this.#progress?.clear();
    await this.#askSigned();
    for (const workspace of this.#workspaces.splice(0)) await workspace.close();
    const store = this.#store;
    this.#store = undefined;
    await store?.close();
    const server = this.#server;
    this.#server = undefined;
    // A failure to connect is ignored here, because it was already reported.
    await (await server?.catch(() => undefined))?.close();
  }

  /**
   * Closes the context. Reports a failure without throwing, because the exit code of the command is already decided.
   */
  async closeQuietly(): Promise<void> {
    try {
      await this.close();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.say(printable(`chronicle: the history could not be closed: ${why}`));
    }
  }
}

/** Carries out a command, and resolves to the exit code. */
export type Action = (context: CommandContext) => Promise<number>;

/** The time, in milliseconds, before a progress line appears. */
const QUIET_MS = 1000;
/** The minimum time, in milliseconds, between two updates of the progress line. */
const EVERY_MS = 100;
/** The width of the progress bar, in characters. */
const BAR = 24;

const WORDS: Readonly<Record<Progress["phase"], string>> = {
  scan: "looking",
  capture: "recording",
  restore: "restoring",
  verify: "verifying",
  rebuild: "rebuilding",
  collect: "collecting",
};

function amount(count: number, unit: Progress["unit"]): string {
  return unit === "bytes" ? formatBytes(count) : groupedDigits(count);
}

/**
 * A line on a terminal that shows the progress of long work. It appears only after the work has taken a second. It does
 * not use stdin, because stdin may belong to a child process.
 */
export class ProgressLine {
  readonly #sink: Pick<Sink, "columns" | "write">;
  readonly #now: () => number;
  #phase: Progress["phase"] | undefined;
  #started = 0;
  #phaseStarted = 0;
  #shownAt = 0;
  #visible = false;

  constructor(sink: Pick<Sink, "columns" | "write">, now: () => number) {
    this.#sink = sink;
    this.#now = now;
  }

  show(progress: Progress): void {
    const now = this.#now();
    if (progress.phase !== this.#phase) {
      if (this.#phase === undefined) this.#started = now;
      this.#phase = progress.phase;
      this.#phaseStarted = now;
    }
    if (now - this.#started < QUIET_MS || now - this.#shownAt < EVERY_MS) return;
    this.#shownAt = now;
    this.#visible = true;
    this.#sink.write(`\r\u001b[2K${this.#text(progress, now).slice(0, this.#sink.columns - 1)}`);
  }

  clear(): void {
    if (this.#visible) this.#sink.write("\r\u001b[2K");
    this.#visible = false;
    this.#phase = undefined;
  }

  #text(progress: Progress, now: number): string {
    const { done, total, unit } = progress;
    const seconds = Math.max(0.1, (now - this.#phaseStarted) / 1000);
    const rate = `${amount(Math.round(done / seconds), unit)}/s`;
    const word = WORDS[progress.phase].padEnd(10);
    const noun = unit === "bytes" ? "" : ` ${unit}`;
    if (total <= 0) return `${word} ${amount(done, unit)}${noun}  ${rate}`;
    const share = Math.min(1, done / total);
    const bar = "█".repeat(Math.round(share * BAR)).padEnd(BAR, "░");
    return `${word} ${bar} ${Math.floor(share * 100)}%  ${amount(done, unit)} of ${amount(total, unit)}${noun}  ${rate}`;
  }
}

type Contents = Pick<WorkspaceApi, "cat" | "file" | "blob" | "blame" | "textHistory" | "grep" | "as">;

interface Asker {
  /** Returns true if an agent runs the command, according to the environment and the ancestors of the process. */
  readonly isAgent: () => Promise<boolean>;
  /** True for a workspace of a server. This process does not know which contents of such a workspace are secrets. */
  readonly isRemote: boolean;
}

/**
 * Returns a workspace that gives agents no bytes of secrets. If an agent runs the command, contents that are (or may
 * be) secrets are requested in the role of an agent, so that the engine refuses them. Commands must read all contents
 * through this workspace.
 */
function secretsForPeople(workspace: WorkspaceApi, asker: Asker): WorkspaceApi {
  const asAgent = (): WorkspaceApi => workspace.as({ role: "agent" });
  async function opened<T extends Classed>(open: (on: WorkspaceApi) => Promise<T>): Promise<T> {
    if (asker.isRemote) return open((await asker.isAgent()) ? asAgent() : workspace);
    const content = await open(workspace);
    // The ancestors of this process are checked only for a protected content.
    return content.class === "protected" && (await asker.isAgent()) ? open(asAgent()) : content;
  }
  const guarded: Contents = {
    cat: (path, iteration) => opened((on) => on.cat(path, iteration)),
    file: (path, options) => opened((on) => on.file(path, options)),
    blob: (hash) => opened((on) => on.blob(hash)),
    blame: (path, options) => opened((on) => on.blame(path, options)),
    textHistory: (text, options) => opened((on) => on.textHistory(text, options)),
    grep: (pattern, options) => opened((on) => on.grep(pattern, options)),
    as: (who: ActingAs) => secretsForPeople(workspace.as(who), asker),
  };
  return new Proxy(workspace, {
    get: (target, key) => {
      if (Object.hasOwn(guarded, key)) return Reflect.get(guarded, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
