import { randomUUID } from "node:crypto";
import type { CommandEnd, CommandRunner } from "../api/workspace-api.ts";
import { notStarted } from "../core/shell/not-started.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { procText } from "./agent-process.ts";
import type { CommandAnswer, RunOrder, RunReport } from "./command-call.ts";

interface OpenRun {
  readonly pid: number;
  /** The start time of the process (see `startOf`). */
  readonly started: string | undefined;
  readonly command: readonly string[];
  readonly ended: PromiseWithResolvers<CommandEnd>;
  /** The final answer to the command line that started the command. */
  readonly answer: Promise<CommandAnswer>;
}

/** The runs that this process records for command lines. Each command line starts the command of its run itself. */
export class ClientRuns {
  readonly #open = new Map<string, OpenRun>();
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** The number of commands that have not ended. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Returns the runner for a command line with the process id `pid`. `order` must tell the command line what to start.
   * `answer` is the final answer to the command line.
   */
  runnerOf(pid: number, order: (order: RunOrder) => void, answer: Promise<CommandAnswer>): CommandRunner {
    return {
      pid,
      run: (command, { cwd, moreEnv = {} }) => {
        const token = randomUUID();
        const ended = Promise.withResolvers<CommandEnd>();
        this.#open.set(token, { pid, started: startOf(this.#disk, pid), command, ended, answer });
        order({ token, session: moreEnv["CHRONICLE_RUN"] ?? "", command, cwd, moreEnv });
        return ended.promise.finally(() => this.#open.delete(token));
      },
    };
  }

  /**
   * Handles the report that the command of a run has ended. The answer is `direct` if this process no longer records
   * the run: the command line must then record the end itself.
   */
  ended({ token, end }: RunReport): Promise<CommandAnswer> {
    const open = this.#open.get(token);
    if (open === undefined) return Promise.resolve({ direct: "the run is not known" });
    if ("errno" in end) {
      const cause = Object.assign(new Error(end.message), { code: end.errno, syscall: "spawn" });
      open.ended.reject(notStarted(open.command[0] ?? "", cause));
    } else open.ended.resolve(end);
    return open.answer;
  }

  /** Gives up the runs whose command lines have ended. */
  look(): void {
    for (const { pid, started, ended } of this.#open.values()) {
      if (startOf(this.#disk, pid) !== started) ended.reject(unavailable("the command line has ended"));
    }
  }

  /** Gives up all runs. The command lines then record the ends of these runs themselves. */
  giveUp(): void {
    for (const { ended } of this.#open.values()) ended.reject(unavailable("the store's process ends"));
  }
}

/**
 * Returns the start time of a process: field 22 of proc_pid_stat(5), which is the 20th after the name. Returns
 * `undefined` for a process that has ended or is a zombie. Without /proc, returns the same text for every existing
 * process.
 */
function startOf(disk: Disk, pid: number): string | undefined {
  const stat = procText(disk, `/proc/${pid}/stat`);
  if (stat === undefined) return isThere(pid) ? "there" : undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return errnoOf(error) === "EPERM";
  }
}

function unavailable(why: string): ChronicleError {
  return new ChronicleError("UNAVAILABLE", `the end of the command is not known: ${why}`);
}
