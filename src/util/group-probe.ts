import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";

/** Signals that the probe can report: `KILL` and `STOP` never arrive, and those of a crash have no sender. */
export const PROBED_SIGNALS: readonly NodeJS.Signals[] = [
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
 * Prints the name of each signal that it gets, and an empty line for each line that it reads. A shell runs a trap
 * before the next command, so a signal that came before a line was read is printed before the answer to it. `read`
 * fails at a signal and at the end of its input; only at the latter is `r` empty.
 */
const SCRIPT = `
for s in ${PROBED_SIGNALS.map((signal) => signal.slice("SIG".length)).join(" ")}; do trap "r=1; echo $s" $s; done
trap r=1 TTIN TTOU
echo
while :; do
  r=
  if read -r _; then echo; elif [ -z "$r" ]; then exit; fi
done`;

/** An answer takes a fifth of a millisecond. A stopped probe gives none. */
const ANSWER_MS = 1_000;

/**
 * A process in this process's group that reports the signals it got. Those were sent to the whole group, as a terminal
 * does at Ctrl-C, and as `kill -- -GROUP` does; Node does not tell who sent a signal. The system signals the youngest
 * process of a group first, so this process gets no group signal before the probe does.
 */
export class GroupProbe implements Disposable {
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;
  #seen = new Set<string>();
  #text = "";
  #answers = 0;
  #waiting: { readonly answers: number; done(isAnswered: boolean): void } | undefined;
  #ended = false;

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

  /** Resolves to `undefined` if none can be started: without a shell, or without room for a process. */
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
   * Returns the signals that the group got since the last call, at least up to the last one that this process was
   * notified of. Returns `undefined` if unknown.
   */
  async seen(): Promise<ReadonlySet<string> | undefined> {
    if (this.#ended) return undefined;
    this.#shell.stdin.write("\n");
    if (!(await this.#answer(this.#answers + 1))) {
      // A late answer must not be taken for the answer to a later question.
      this[Symbol.dispose]();
      return undefined;
    }
    // Signals that the group got while the probe answered are noted here, too, before the next turn of the loop.
    await setImmediate();
    const seen = this.#seen;
    this.#seen = new Set();
    return seen;
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
      else this.#seen.add(`SIG${line}`);
    }
    if (this.#waiting !== undefined && this.#answers >= this.#waiting.answers) this.#waiting.done(true);
  }
}

type Piped = ChildProcessByStdio<Writable, Readable, null>;

/** True if the child has pipes. Without free descriptors it has none, whatever the types say. */
function hasPipes(child: ChildProcess): child is Piped {
  return (child.stdin ?? undefined) !== undefined && (child.stdout ?? undefined) !== undefined;
}
