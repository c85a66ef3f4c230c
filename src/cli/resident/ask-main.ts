import { isatty } from "node:tty";
import { errnoOf } from "../../core/values/errors.ts";
import {
  type Asked,
  ASKED_VARIABLE,
  type CommandCall,
  RESIDENT_COMMANDS,
  type RunOrder,
  type Terminal,
  viewFrom,
} from "../../daemon/command-call.ts";
import { programMark } from "../../daemon/hook-image.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { ownHome } from "../../process/environment.ts";
import { placesOf } from "../../process/places.ts";
import { writeOut } from "../../process/write-out.ts";
import { type Answered, askProcess, reportEnd, type ShowProgress } from "./ask-process.ts";
import { allowsResident } from "./asks-resident.ts";
import { tellLost } from "./tell-lost.ts";

// Every command line begins in this module. The module asks the store's long-lived process ("the process") to carry out
// the command, and loads only the code that is needed for asking. The whole program is loaded in these cases:
// - The process does not carry out this command (see `isForProcess`).
// - There is no process, or the process does not answer.
// - The process answers that the present process must carry out the command itself.

const disk = new NodeDisk();

/** Carries out the command line. `start` runs the whole program in the present process. */
export async function main(start: () => Promise<void>): Promise<void> {
  const direct: Direct = (asked) => {
    if (asked !== undefined) process.env[ASKED_VARIABLE] = JSON.stringify(asked);
    return start();
  };
  const words = ownWords(process.argv.slice(2));
  const home = isForProcess(words, process.env) ? homeOf(words) : undefined;
  // `inheritance.ts` notes the inherited descriptors when it is loaded. `inheritance.ts` must therefore be loaded
  // before a file or socket is opened.
  if (words.includes("run")) await import("../../process/inheritance.ts");
  if (home === undefined) return direct();
  const call = callOf();
  if (call === undefined) return direct({ state: "direct" });
  const progress = new ShownProgress(call.err);
  const endTelling = tellInterrupt(process.argv, progress);
  const answer = await askProcess(disk, home, call, progress.show);
  endTelling();
  progress.clear();
  if ("state" in answer) return direct(answer);
  const code = printed("paged" in answer ? await pagedOf(answer) : answer);
  if ("run" in answer) return runCommandFor(answer.run, { home, request: call.request, progress, direct });
  process.exitCode = code;
  return undefined;
}

type Direct = (asked?: Asked) => Promise<void>;

/** The progress of a command, on the terminal. */
class ShownProgress {
  /** Shows a text in place of the previous text. `undefined` if stderr is no terminal. */
  readonly show: ShowProgress | undefined;
  #isShown = false;

  constructor({ isTerminal }: Terminal) {
    this.show = isTerminal ? (text) => this.#write(text) : undefined;
  }

  clear(): void {
    if (this.#isShown) process.stderr.write("\r\u001b[2K");
    this.#isShown = false;
  }

  #write(text: string): void {
    this.#isShown = true;
    process.stderr.write(text);
  }
}

interface Ordered {
  readonly home: string;
  /** The id of the request of the command line. */
  readonly request: string;
  readonly progress: ShownProgress;
  readonly direct: Direct;
}

/**
 * Starts the command of a run, and reports the command's end to the process. The process records the run. If the
 * process does not answer, the whole program records the end.
 */
async function runCommandFor(order: RunOrder, { home, request, progress, direct }: Ordered): Promise<void> {
  const { startOrdered } = await import("./start-ordered.ts");
  const end = await startOrdered(order);
  const answer = await reportEnd(home, { token: order.token, end }, { request, show: progress.show });
  progress.clear();
  if (answer !== undefined && !("run" in answer)) {
    const code = printed(answer);
    if (answer.endBy === undefined) process.exitCode = code;
    else endBy(answer.endBy as NodeJS.Signals, code);
    return undefined;
  }
  // The process has ended, does not answer or does not know the run. The whole program therefore records the end,
  // unless the command could not be started.
  if (!("errno" in end)) return direct({ state: "ended", home, end: { ...end, session: order.session } });
  process.stderr.write(`chronicle: ${order.command[0] ?? ""} could not be started: ${end.message}\n`);
  process.exitCode = end.errno === "ENOENT" ? 127 : 126;
  return undefined;
}

/** Ends the present process by the signal. If the signal is ignored, the exit code is `code`. */
function endBy(signal: NodeJS.Signals, code: number): void {
  process.exitCode = code;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** The commands whose changes the process finishes even if the user interrupts the command line. */
const CHANGING = new Set(["redo", "restore", "rm", "rollback", "snapshot", "undo"]);

/**
 * Begins to handle interrupts. An interrupt removes the progress from the terminal, tells the user that the process
 * finishes the change (if the command makes one), and then ends the present process. Returns a function that ends the
 * handling.
 */
function tellInterrupt(argv: readonly string[], progress: ShownProgress): () => void {
  const isChanging = argv.some((word) => CHANGING.has(word));
  if (!isChanging && progress.show === undefined) return () => undefined;
  const tell = (signal: NodeJS.Signals): void => {
    progress.clear();
    if (isChanging)
      process.stderr.write(
        "chronicle: the store's process finishes what it has begun\n" +
          "  `chronicle list` shows the change, and the command that undoes it\n",
      );
    process.off(signal, tell);
    process.kill(process.pid, signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, tell);
  return () => {
    for (const signal of signals) process.off(signal, tell);
  };
}

/**
 * Shows the output in the user's pager if it does not fit on the screen. Returns the answer with the output that is left
 * to print.
 */
async function pagedOf(answer: Answered): Promise<Answered> {
  const { throughPager } = await import("../../process/pager.ts");
  const { env, stdout } = process;
  const screen = { rows: stdout.rows, columns: stdout.columns || 80 };
  const output = await throughPager(answer.output, { env, screen });
  return { ...answer, output };
}

/**
 * Prints the output, and returns the exit code. After an error of stdout, nothing more is printed there, and the error
 * is reported on stderr. An error of stderr is ignored, because it could be reported nowhere.
 */
function printed({ output, ...outcome }: Answered): number {
  const code = "code" in outcome ? outcome.code : 0;
  let failure: Error | undefined;
  for (const [fd, bytes] of output) {
    try {
      if (fd === 2 || failure === undefined) writeOut(disk, fd, bytes);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      if (fd === 1) failure = error as Error;
    }
  }
  return failure === undefined ? code : tellLost(failure, code);
}

/** Returns the words of the command line. For a run, the words after `--` are left out. */
function ownWords(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end >= 0 && argv.slice(0, end).includes("run") ? argv.slice(0, end) : argv;
}

/**
 * Returns false if it is already known that the process cannot carry out the command line. If the result is true, the
 * process itself decides. `argv`: the result of `ownWords`.
 */
function isForProcess(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  if (!allowsResident(env) || argv.includes("--direct")) return false;
  // Paths in `/proc` and `/dev` can mean something else in another process.
  if (argv.some((word) => /^(?:.*=)?\/(?:proc|dev)\//.test(word))) return false;
  // Words and variables that are not UTF-8 must reach the command as bytes. Only the present process has these bytes.
  const texts = argv.includes("run") ? [...process.argv, ...Object.values(env)] : [];
  if (texts.some((text) => text?.includes("\uFFFD"))) return false;
  const isBare = argv.every((word) => word.startsWith("-"));
  return isBare || argv.some((word) => RESIDENT_COMMANDS.includes(word));
}

/**
 * Returns the store's folder; `undefined` if it cannot be determined. In that case, the whole program reports the
 * reason.
 */
function homeOf(argv: readonly string[]): string | undefined {
  const { env } = process;
  const at = argv.findIndex((word) => word === "--store" || word.startsWith("--store="));
  const option = argv[at]?.startsWith("--store=") === true ? argv[at].slice("--store=".length) : argv[at + 1];
  const store = at < 0 ? undefined : option;
  try {
    return placesOf({ env, userHome: ownHome(env), cwd: () => process.cwd(), store }).home;
  } catch {
    return undefined;
  }
}

/** Returns the command line and its surroundings for the process; `undefined` if the working folder does not exist. */
function callOf(): CommandCall | undefined {
  const { env, pid, argv, stdout, stderr } = process;
  try {
    const cwd = process.cwd();
    const view = viewFrom(disk, cwd);
    if (view === undefined) return undefined;
    return {
      ...{ program: programMark(disk), argv: argv.slice(2), env: { ...env } as Record<string, string>, cwd, view, pid },
      stdinIsTerminal: isatty(0),
      out: terminalOf(1, () => stdout),
      err: terminalOf(2, () => stderr),
      request: `${Date.now().toString(36)}-${pid}-${Math.random().toString(36).slice(2)}`,
    };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Returns the properties of the output at a descriptor. Calls `stream` only if the descriptor is a terminal. */
function terminalOf(fd: 1 | 2, stream: () => NodeJS.WriteStream): Terminal {
  if (!isatty(fd)) return { isTerminal: false, colours: false, columns: 80 };
  const { columns } = stream();
  return { isTerminal: true, colours: stream().hasColors(), columns: columns || 80 };
}
