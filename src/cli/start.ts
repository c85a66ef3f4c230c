import { setImmediate } from "node:timers/promises";
import { isatty, type WriteStream } from "node:tty";
import { EXIT } from "../api/problems.ts";
import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { ASKED_VARIABLE, type Asked } from "../daemon/command-call.ts";
import type { Inheritance } from "../process/inheritance.ts";
import type { Io, Sink } from "../process/io.ts";
import { ownHome, retentionDefaults } from "../process/environment.ts";
import { PagedOutput } from "../process/pager.ts";
import { standingFolder } from "../process/user-path.ts";
import { tellLost } from "./resident/tell-lost.ts";
import { runCli } from "./run-cli.ts";
import { optional } from "../util/optional.ts";
import packageJson from "../../package.json" with { type: "json" };

/**
 * Runs the command line of this process, and resolves to the exit code. If the store has no long-lived process, or that
 * process has not answered (see `Asked`), starts one afterwards.
 */
export async function start(inherited: Inheritance): Promise<number> {
  const out = new StreamSink(process.stdout, 1);
  const err = new StreamSink(process.stderr, 2);
  const asked = takeAsked();
  const code = await runCli(processIo(packageJson.version, inherited, { out, err, asked }));
  if (asked !== undefined && asked.state !== "direct") {
    // The store's long-lived process starts only now, so that the command need not share the processor with it.
    const { startProcess } = await import("./resident/start-process.ts");
    startProcess(asked.home, process.env);
  }
  await printKept(out, err);
  // Waits for the next turn of the event loop, in which a stream emits its errors.
  await setImmediate();
  return out.failure === undefined ? code : tellLost(out.failure, code);
}

/** Prints the output that was kept because it may need a pager, and waits until the pager has ended. */
async function printKept(out: StreamSink, err: StreamSink): Promise<void> {
  const kept = out.takeKept();
  err.takeKept();
  for (const [fd, bytes] of (await kept?.end()) ?? []) await (fd === 1 ? out : err).writeBytes(bytes);
}

const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * An output stream of this process. If the reader closes the stream (`chronicle log | head`) or a write fails, the
 * stream discards further output. The command still runs to its end.
 */
class StreamSink implements Sink {
  readonly #stream: WriteStream;
  readonly #fd: 1 | 2;
  /** The output that was not printed yet, or is in the pager. Only set after `keepIn`. */
  #kept: PagedOutput | undefined;
  #broken = false;
  #failure: Error | undefined;

  constructor(stream: WriteStream, fd: 1 | 2) {
    this.#stream = stream;
    this.#fd = fd;
    stream.on("error", (error: Error) => {
      this.#broken = true;
      if (errnoOf(error) !== "EPIPE") this.#failure ??= error;
    });
  }

  /** The first write error. `EPIPE` is ignored, because it only means that the reader has closed the stream. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true;
  }

  get colours(): boolean {
    return this.isTerminal && this.#stream.hasColors();
  }

  get columns(): number {
    return this.#stream.columns || 80;
  }

  get broken(): boolean {
    return this.#broken || this.#kept?.isLeft === true;
  }

  /** Makes the sink add its output to `paged` instead of printing it. Two sinks may share the output. */
  keepIn(paged: PagedOutput): void {
    this.#kept = paged;
  }

  /** Returns the kept output. The sink prints from now on. */
  takeKept(): PagedOutput | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    return kept;
  }

  write(text: string): void {
    if (this.#keeps(text)) this.#kept?.write([this.#fd, Buffer.from(text)]);
    else if (!this.#broken && this.#kept?.isShown !== true) this.#stream.write(text);
  }

  /**
   * Returns true if the text must be kept. Text on stdout is always kept. Text on stderr is kept only if other text is
   * kept before it, so that the order stays. Progress, which does not end with a newline, is printed at once, but not
   * while the pager has the screen.
   */
  #keeps(text: string): boolean {
    if (this.#kept === undefined) return false;
    return this.#fd === 1 || (!this.#kept.isEmpty && text.endsWith("\n"));
  }

  async writeBytes(bytes: Uint8Array): Promise<void> {
    if (this.#kept !== undefined) {
      this.#kept.write([this.#fd, bytes]);
      return this.#kept.hasRoom();
    }
    if (this.#broken) return;
    await new Promise<void>((done) => {
      this.#stream.write(bytes, () => done());
    });
  }
}

async function openStore(options: StoreOptions, once = false): Promise<StoreApi> {
  const open = await import("../open.ts");
  if (once) endAtOnce();
  return (once ? open.openStoreOnce : open.openStore)({ retentionDefaults, ...options });
}

/**
 * Makes this process end as soon as nothing is left to do. Otherwise, Node would first close the databases that were
 * left open. Each close costs four `fsync` calls.
 */
function endAtOnce(): void {
  process.off("exit", end);
  process.once("exit", end);
}

function end(): void {
  // oxlint-disable-next-line unicorn/no-process-exit
  process.exit();
}

async function readStdin(): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString("utf8");
}

function onInterrupt(callback: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of SIGNALS) process.on(signal, callback);
  return () => {
    for (const signal of SIGNALS) process.off(signal, callback);
  };
}

/**
 * Registers a handler of uncaught errors. Errors of the system, of a database or of Chronicle do not end the process,
 * because acknowledged writes are durable, and the next call that needs the disk reports the error. Any other error is
 * a bug, and ends the process as it would without this handler.
 */
function onUncaught(callback: (error: unknown) => void): () => void {
  const take = (error: unknown): void => {
    callback(error);
    if (isOfMachine(error)) return;
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(EXIT.failed);
  };
  process.on("uncaughtException", take);
  return () => void process.off("uncaughtException", take);
}

function isOfMachine(error: unknown): boolean {
  if (error instanceof ChronicleError) return true;
  const isOfSqlite = error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";
  return isOfSqlite || errnoOf(error) !== undefined;
}

/**
 * Ends this process by a signal. A process that ignores the signal, such as a background job of a shell, ends with its
 * exit code instead.
 */
function endSelf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Reads and removes `ASKED_VARIABLE`. The command of a run must not inherit the variable. */
function takeAsked(): Asked | undefined {
  const text = process.env[ASKED_VARIABLE];
  delete process.env[ASKED_VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as Asked);
}

interface ProcessIoOptions {
  readonly out?: StreamSink;
  readonly err?: StreamSink;
  readonly asked?: Asked | undefined;
}

export function processIo(
  version: string,
  inherited: Inheritance,
  { out = new StreamSink(process.stdout, 1), err = new StreamSink(process.stderr, 2), asked }: ProcessIoOptions = {},
): Io {
  return {
    argv: process.argv.slice(2),
    env: process.env,
    userHome: ownHome(process.env),
    inherited,
    version,
    out,
    err,
    page: () => {
      const screen = { rows: process.stdout.rows, columns: out.columns };
      const paged = new PagedOutput({ env: process.env, screen });
      for (const sink of [out, err]) sink.keepIn(paged);
    },
    // `process.stdin` is not used here, because opening it could consume input that is meant for a child process.
    stdinIsTerminal: isatty(0),
    readStdin,
    streams: () => ({ input: process.stdin, output: process.stdout }),
    cwd: () => standingFolder(() => process.cwd()),
    chdir: (folder) => process.chdir(folder),
    now: () => Date.now(),
    openStore,
    ...(asked !== undefined && "request" in asked ? optional({ request: asked.request }) : {}),
    ...(asked?.state === "ended" ? { ended: asked.end } : {}),
    runInside: runCli,
    onInterrupt,
    endBy: (signal) => void process.once("beforeExit", () => endSelf(signal)),
    onUncaught,
  };
}
