import { type ChildProcess, type ChildProcessByStdio, spawn, type StdioOptions } from "node:child_process";
import { constants } from "node:os";
import { Readable, type Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { isatty } from "node:tty";
import { type ByteWords, throughShell } from "./byte-words.ts";
import { greatestOf } from "./long-lists.ts";

interface CommandOptions {
  /** The folder in which the command runs. Default: the current folder of this process. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Descriptors that the command gets under the same numbers. The command always gets 0, 1 and 2. Default: no others.
   */
  readonly descriptors?: readonly number[];
  /** The words and variables of the command as bytes. Needed if a word or variable is not UTF-8. */
  readonly bytes?: ByteWords;
  /**
   * The bytes that the command gets as its stdin. The command need not read all of them. A stream is destroyed once the
   * command reads no further. Default: stdin of this process.
   */
  readonly input?: Uint8Array | Readable;
}

interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The command's exit code. If a signal ended the command, this is 128 plus the signal's number, as in a shell. */
  readonly code: number;
}

/**
 * Runs a command with the stdin, stdout, stderr and terminal of this process. The command gets the signals that are
 * sent to this process. Throws the system's error if the command cannot be started.
 */
export async function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandEnd> {
  using signals = await SignalForwarder.start();
  const child = start(command, options);
  // A child that could not be started has no pid. Its error is emitted later.
  if (child.pid !== undefined) signals.to(child);
  const { promise, resolve, reject } = Promise.withResolvers<CommandEnd>();
  child.on("error", reject);
  child.on("exit", (exitCode, signal) => {
    const code = signal === null ? (exitCode ?? 1) : 128 + constants.signals[signal];
    resolve({ exitCode, signal, code });
  });
  return await promise;
}

function start(command: readonly string[], options: CommandOptions): ChildProcess {
  const { cwd, env, bytes, input } = options;
  const stdio: StdioOptions = stdioOf(options.descriptors ?? []);
  if (input !== undefined) stdio[0] = "pipe";
  if (bytes === undefined) {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { cwd, env, stdio });
    // Ignore errors of stdin: either the command reads no further, or it was not started. The `error` event of the
    // child reports the latter.
    child.stdin?.on("error", () => undefined);
    if (input instanceof Readable) {
      child.stdin?.on("close", () => input.destroy());
      if (child.stdin !== null) input.pipe(child.stdin);
    } else child.stdin?.end(input);
    return child;
  }
  const [shell, ...args] = throughShell(command, env, bytes);
  return spawn(shell, args, { cwd, env: {}, stdio });
}

/** Maps each descriptor to its own number. From 3 up, "ignore" leaves a descriptor closed. */
function stdioOf(descriptors: readonly number[]): (number | "ignore")[] {
  const stdio = Array.from<number | "ignore">({ length: Math.max(2, greatestOf(descriptors)) + 1 }).fill("ignore");
  for (const fd of [0, 1, 2, ...descriptors]) stdio[fd] = fd;
  return stdio;
}

/** Signals that a terminal sends to the processes in its foreground. */
const FROM_TERMINALS: ReadonlySet<string> = new Set(["SIGINT", "SIGQUIT", "SIGTSTP", "SIGWINCH", "SIGCONT"]);

/** Signals that mean nothing to a command that is just being started. */
const OF_RUNNING: ReadonlySet<string> = new Set(["SIGWINCH", "SIGCONT", "SIGTSTP"]);

/**
 * Forwards each signal that this process receives to a child in the same process group. Does not forward signals that
 * the whole group has received, because the child already has them. Stops this process together with the child at
 * Ctrl-Z.
 */
class SignalForwarder implements Disposable {
  readonly #probe: GroupProbe | undefined;
  readonly #note = (signal: NodeJS.Signals): void => this.#take(signal);
  #child: ChildProcess | undefined;
  #arrived: NodeJS.Signals[] = [];
  #forwarding = false;
  #closed = false;

  private constructor(probe: GroupProbe | undefined) {
    this.#probe = probe;
    for (const signal of PROBED_SIGNALS) process.on(signal, this.#note);
  }

  /**
   * Starts to take signals. Until the result is disposed of, the signals in `PROBED_SIGNALS` do not end this process.
   */
  static async start(): Promise<SignalForwarder> {
    return new SignalForwarder(await GroupProbe.start());
  }

  /** Sets the child. Sends it the signals that came before its start, except the signals in `OF_RUNNING`. */
  to(child: ChildProcess): void {
    this.#child = child;
    for (const signal of this.#arrived.splice(0)) {
      if (!OF_RUNNING.has(signal)) child.kill(signal);
      this.#probe?.matched(signal);
    }
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const signal of PROBED_SIGNALS) process.off(signal, this.#note);
    this.#probe?.[Symbol.dispose]();
  }

  #take(signal: NodeJS.Signals): void {
    this.#arrived.push(signal);
    if (this.#child !== undefined && !this.#forwarding) void this.#forward(this.#child);
  }

  async #forward(child: ChildProcess): Promise<void> {
    this.#forwarding = true;
    while (this.#arrived.length > 0 && !this.#closed) {
      const seen = (await this.#probe?.seen()) ?? likelySeen();
      for (const signal of this.#arrived.splice(0)) {
        if (!seen.has(signal)) child.kill(signal);
        this.#probe?.matched(signal);
        if (signal === "SIGTSTP" && !this.#closed) this.#stop();
      }
    }
    this.#forwarding = false;
  }

  /**
   * Stops this process, as `SIGTSTP` does by default. Does nothing if other code of this process listens for `SIGTSTP`.
   * In an orphaned process group, the system ignores the signal, because no shell could continue the process.
   */
  #stop(): void {
    process.off("SIGTSTP", this.#note);
    if (process.listenerCount("SIGTSTP") === 0) process.kill(process.pid, "SIGTSTP");
    process.on("SIGTSTP", this.#note);
  }
}

/**
 * Guesses which signals the whole group has received, without a probe. On a terminal, these are the signals that
 * terminals send.
 */
function likelySeen(): ReadonlySet<string> {
  return [0, 1, 2].some((fd) => isatty(fd)) ? FROM_TERMINALS : new Set();
}

/** Signals that the probe can report. `KILL` and `STOP` never arrive, and the signals of a crash have no sender. */
const PROBED_SIGNALS: readonly NodeJS.Signals[] = [
  "SIGINT",
  "SIGQUIT",
  "SIGTERM",
  "SIGHUP",
  "SIGUSR1",
  "SIGUSR2",
  "SIGWINCH",
  "SIGCONT",
  "SIGTSTP",
];

/**
 * Prints the name of each signal that the shell receives, and an empty line for each line that it reads. A shell runs a
 * trap before the next command. Therefore, a signal that came before a line was read is printed before the answer to
 * this line. `read` fails at a signal and at the end of the input. After a failed `read`, `r` is empty only at the end
 * of the input.
 */
const SCRIPT = `
for s in ${PROBED_SIGNALS.map((signal) => signal.slice("SIG".length)).join(" ")}; do trap "r=1; echo $s" $s; done
trap r=1 TTIN TTOU
echo
while :; do
  r=
  if read -r _; then echo; elif [ -z "$r" ]; then exit; fi
done`;

/**
 * The longest wait for an answer of the probe, in ms. An answer takes a fifth of a millisecond. A stopped probe does
 * not answer.
 */
const ANSWER_MS = 1_000;

/** The longest time between the probe's report of a signal and the notification of this process, in ms. */
const LATE_MS = 250;

/**
 * A process in this process's group that reports the signals that it has received. These signals were sent to the whole
 * group, as by a terminal at Ctrl-C, or by `kill -- -GROUP`. The probe is needed because Node does not tell who sent a
 * signal. The system signals the youngest process of a group first, so the probe receives a group signal before this
 * process does.
 */
class GroupProbe implements Disposable {
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;
  /** The signals that the probe has received, each with the time of its report. */
  #seen = new Map<string, number>();
  #text = "";
  #answers = 0;
  #waiting: { readonly answers: number; done(isAnswered: boolean): void } | undefined;
  #ended = false;
  /** The time at which `seen` last returned signals. */
  #asked = 0;

  private constructor(shell: ChildProcessByStdio<Writable, Readable, null>) {
    this.#shell = shell;
    const end = (): void => {
      this.#ended = true;
      this.#waiting?.done(false);
    };
    shell.on("error", end);
    shell.on("exit", end);
    shell.stdin.on("error", end);
    shell.stdout.on("data", (piece: Buffer) => this.#read(piece.toString("latin1")));
  }

  /**
   * Starts a probe. Resolves to `undefined` if it cannot be started (no shell, no room for a process), or does not
   * answer.
   */
  static async start(): Promise<GroupProbe | undefined> {
    const shell: ChildProcess = spawn("/bin/sh", ["-c", SCRIPT], {
      cwd: "/",
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
    });
    if (!hasPipes(shell)) {
      shell.on("error", () => undefined);
      return undefined;
    }
    const probe = new GroupProbe(shell);
    if (await probe.#answer(1)) return probe;
    probe[Symbol.dispose]();
    return undefined;
  }

  /**
   * Returns the signals that the group has received and for which `matched` was not called yet. These include all group
   * signals of which this process is already notified. A busy system may notify this process of a signal long after the
   * probe has reported it. Therefore, a signal is returned until `matched` is called with it, or until `LATE_MS` have
   * passed. Returns `undefined` if the probe does not answer.
   */
  async seen(): Promise<ReadonlySet<string> | undefined> {
    if (this.#ended) return undefined;
    this.#shell.stdin.write("\n");
    if (!(await this.#answer(this.#answers + 1))) {
      // The probe is ended, because a late answer must not be mistaken for the answer to a later question.
      this[Symbol.dispose]();
      return undefined;
    }
    // Signals that the group received while the probe was answering are noted in the next turn of the event loop.
    await setImmediate();
    const since = performance.now() - LATE_MS;
    const seen = new Set<string>();
    for (const [signal, at] of this.#seen) {
      // A signal is returned if the probe has reported it since the last call, or less than `LATE_MS` ago, because this
      // process may be notified late.
      if (at >= since || at >= this.#asked) seen.add(signal);
      else this.#seen.delete(signal);
    }
    this.#asked = performance.now();
    return seen;
  }

  /** Notes that this process was notified of the signal, so that `seen` no longer returns it. */
  matched(signal: NodeJS.Signals): void {
    this.#seen.delete(signal);
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#shell.kill("SIGKILL");
    this.#shell.stdin.destroy();
    this.#shell.stdout.destroy();
    this.#shell.unref();
  }

  async #answer(answers: number): Promise<boolean> {
    if (this.#answers >= answers) return true;
    if (this.#ended) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ANSWER_MS);
    this.#waiting = { answers, done: resolve };
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  #read(text: string): void {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") this.#answers += 1;
      else this.#seen.set(`SIG${line}`, performance.now());
    }
    if (this.#waiting !== undefined && this.#answers >= this.#waiting.answers) this.#waiting.done(true);
  }
}

type Piped = ChildProcessByStdio<Writable, Readable, null>;

/** True if the child has pipes. If no descriptors are free, the child has no pipes, whatever its type says. */
function hasPipes(child: ChildProcess): child is Piped {
  return (child.stdin ?? undefined) !== undefined && (child.stdout ?? undefined) !== undefined;
}
