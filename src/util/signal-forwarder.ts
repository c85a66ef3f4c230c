import type { ChildProcess } from "node:child_process";
import { isatty } from "node:tty";
import { GroupProbe, PROBED_SIGNALS } from "./group-probe.ts";

/** Signals that a terminal sends to the processes in its foreground. */
const FROM_TERMINALS: ReadonlySet<string> = new Set(["SIGINT", "SIGQUIT", "SIGTSTP", "SIGWINCH", "SIGCONT"]);

/** Signals that mean nothing to a command that is only now started. */
const OF_RUNNING: ReadonlySet<string> = new Set(["SIGWINCH", "SIGCONT", "SIGTSTP"]);

/**
 * Passes the signals of this process on to a child in the same process group, each once: the child already has those
 * that the whole group got. Stops with the child at Ctrl-Z.
 */
export class SignalForwarder implements Disposable {
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

  /** From now on, signals do not end this process. */
  static async start(): Promise<SignalForwarder> {
    return new SignalForwarder(await GroupProbe.start());
  }

  /** Sets the child. It gets the signals that came before it was started, whoever else got them. */
  to(child: ChildProcess): void {
    this.#child = child;
    for (const signal of this.#arrived.splice(0)) if (!OF_RUNNING.has(signal)) child.kill(signal);
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
        if (signal === "SIGTSTP" && !this.#closed) this.#stop();
      }
    }
    this.#forwarding = false;
  }

  /**
   * Stops this process, as the system does by default if nobody listens. An orphaned group, which nothing would
   * continue, keeps running.
   */
  #stop(): void {
    process.off("SIGTSTP", this.#note);
    if (process.listenerCount("SIGTSTP") === 0) process.kill(process.pid, "SIGTSTP");
    process.on("SIGTSTP", this.#note);
  }
}

/** Guesses which signals the whole group got: on a terminal, those that terminals send. */
function likelySeen(): ReadonlySet<string> {
  return [0, 1, 2].some((fd) => isatty(fd)) ? FROM_TERMINALS : new Set();
}
