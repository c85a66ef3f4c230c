import type { CommandEnd, RunOptions } from "../api/workspace-api.ts";
import type { Disk } from "../disk/disk.ts";
import { procText } from "./agent-process.ts";

// The messages between a command line (a process of the program `chronicle`) and the store's long-lived process.

/** The path of the request by which a command line asks the process to carry out a command. */
export const COMMAND_PATH = "/command";

/**
 * The path of the request by which a waiting command line asks for the progress of its command. The body is the id of
 * the command's request. The answer is a text for the terminal (`ProgressLine`), empty if there is none. Any answer
 * shows that the process is alive.
 */
export const COMMAND_PROGRESS_PATH = "/command/progress";

/** The path of the request by which a command line reports the end of the command of its run. */
export const COMMAND_ENDED_PATH = "/command/ended";

/**
 * The environment variable that passes the outcome of the request (`Asked`) to the whole program. A command line first
 * runs only the code that sends the request (`ask-main.ts`). If the long-lived process has not carried out the command,
 * the command line then starts the whole program.
 */
export const ASKED_VARIABLE = "CHRONICLE_ASKED";

/** The outcome of a command line's request, if the process has not carried out the command. */
export type Asked =
  /** No process runs for the store in the folder `home`. */
  | { readonly state: "missing"; readonly home: string }
  /**
   * The command line must carry out the command itself. `request` is set if the process may have begun the request with
   * this id.
   */
  | { readonly state: "direct"; readonly request?: string }
  /** The process has not answered. The request with this id may have been carried out. */
  | { readonly state: "lost"; readonly home: string; readonly request: string }
  /** The command of a run has ended, and the process that recorded the run did not answer the report. */
  | { readonly state: "ended"; readonly home: string; readonly end: NonNullable<RunOptions["ended"]> };

/** The commands that the store's long-lived process carries out for a command line. */
export const RESIDENT_COMMANDS: readonly string[] = [
  "actions",
  "blame",
  "cat",
  "changes",
  "conflicts",
  "diff",
  "explain",
  "files",
  "grep",
  "history",
  "list",
  "log",
  "manifest",
  "redo",
  "restore",
  "rm",
  "rollback",
  "run",
  "sessions",
  "show",
  "snapshot",
  "status",
  "undo",
  "versions",
];

/** The properties of stdout or stderr of a command line. */
export interface Terminal {
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** The width in characters. */
  readonly columns: number;
}

/** A command line, with all parts of its surroundings on which the command can depend. */
export interface CommandCall {
  /** The mark of the program that the command line runs (`programMark`). */
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The working folder. */
  readonly cwd: string;
  readonly view: FileSystemView;
  readonly pid: number;
  readonly stdinIsTerminal: boolean;
  readonly out: Terminal;
  readonly err: Terminal;
  /** The id of the request. A change that was made under this id is not made again. */
  readonly request: string;
}

/**
 * The view that a process has of the machine. Two processes with equal views see the same files and processes, and have
 * the same rights to them.
 */
export interface FileSystemView {
  /** The mount and PID namespaces; `null` on a machine without /proc. */
  readonly spaces: string | null;
  /**
   * The users, groups, capabilities, sandbox marks and resource limits of the process; `null` on a machine without
   * /proc. A process with other rights could do more or less than the command line.
   */
  readonly rights: string | null;
  /** The device and inode of `/`, which differs after chroot(2). */
  readonly root: string;
  /** The device and inode of the working folder. */
  readonly cwd: string;
}

/** Returns the view of this process in the working folder `cwd`; `undefined` if the folder does not exist. */
export function viewFrom(disk: Disk, cwd: string): FileSystemView | undefined {
  const [root, folder] = ["/", cwd].map((path) => disk.lstat(path));
  if (root === undefined || folder === undefined) return undefined;
  return {
    spaces: spacesOf(disk),
    rights: rightsOf(disk),
    root: `${root.dev} ${root.ino}`,
    cwd: `${folder.dev} ${folder.ino}`,
  };
}

/**
 * `RIGHTS` matches the lines of proc_pid_status(5) that say what a process may do. `LIMITS` matches such lines of
 * proc_pid_limits(5).
 */
const RIGHTS = /^(?:Uid|Gid|Groups|Cap\w+|NoNewPrivs|Seccomp):.*$/gm;
const LIMITS = /^Max (?:file size|open files|address space|data size) .*$/gm;

function rightsOf(disk: Disk): string | null {
  const [status, limits] = ["status", "limits"].map((name) => procText(disk, `/proc/self/${name}`));
  if (status === undefined || limits === undefined) return null;
  return [...(status.match(RIGHTS) ?? []), ...(limits.match(LIMITS) ?? [])].join("\n");
}

/**
 * True if this process may be in a sandbox. A sandboxed process has `NoNewPrivs` set, so that its descendants can gain
 * no rights.
 */
export function mayBeSandboxed(disk: Disk): boolean {
  return /^NoNewPrivs:\s*[^0\s]/m.test(procText(disk, "/proc/self/status") ?? "");
}

function spacesOf(disk: Disk): string | null {
  if (disk.lstat("/proc/self/ns") === undefined) return null;
  return ["mnt", "pid"].map((name) => disk.readlink(`/proc/self/ns/${name}`).toString()).join(" ");
}

/** A part of the output: the file descriptor (1 or 2) and the bytes. */
export type OutputPart = readonly [fd: 1 | 2, bytes: Uint8Array];

/** The command of a run, which the command line must start. */
export interface RunOrder {
  /** The name of the run in the report of the run's end. */
  readonly token: string;
  /** The id of the session. */
  readonly session: string;
  readonly command: readonly string[];
  readonly cwd: string;
  /** Environment variables that the command gets in addition to those of the command line's process. */
  readonly moreEnv: Readonly<Record<string, string>>;
}

/**
 * The report that the command of a run has ended. If the command could not be started, `errno` and `message` describe
 * the error.
 */
export interface RunReport {
  readonly token: string;
  readonly end: CommandEnd | { readonly errno: string; readonly message: string };
}

/**
 * The answer to a command line.
 * - `direct`: the reason why the command line must carry out the command itself. Nothing was printed.
 * - `isBegun`: true if the process may have begun the command and changed something. If so, the command line must carry
 *   out the command with the same request id.
 */
export type CommandAnswer =
  | { readonly direct: string; readonly isBegun?: true }
  | (Outcome & { readonly output: readonly OutputPart[] });

/**
 * The exit code, or the command that the command line must start. With `endBy`, the command line must end itself by
 * this signal, and not exit with the code. With `paged`, the output goes to the user's pager if it does not fit on the
 * screen. Only the command line can start the pager, because only its process belongs to the terminal.
 */
type Outcome = { readonly code: number; readonly endBy?: string; readonly paged?: true } | { readonly run: RunOrder };

/** The first line of an answer. The bytes of the output follow it. */
type AnswerHead =
  | Extract<CommandAnswer, { readonly direct: string }>
  | (Outcome & { readonly parts: readonly (readonly [fd: 1 | 2, length: number])[] });

export function encodeAnswer(answer: CommandAnswer): Uint8Array {
  if ("direct" in answer) return Buffer.from(`${JSON.stringify(answer)}\n`);
  const { output, ...outcome } = answer;
  const head: AnswerHead = { ...outcome, parts: output.map(([fd, { length }]) => [fd, length]) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...output.map(([, bytes]) => bytes)]);
}

export function decodeAnswer(bytes: Uint8Array): CommandAnswer {
  const end = bytes.indexOf(0x0a);
  const head = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString("utf8")) as AnswerHead;
  if ("direct" in head) return head;
  let at = end + 1;
  const { parts, ...outcome } = head;
  const output = parts.map(([fd, length]): OutputPart => [fd, bytes.subarray(at, (at += length))]);
  return { ...outcome, output };
}
