import type { CommandEnd, RunOptions } from "../api/workspace-api.ts";
import type { Disk } from "../disk/disk.ts";
import { procText } from "./agent-process.ts";

// This module has what a command line and the store's long-lived process tell each other.

/** The path of the request by which a command line asks the process to carry out a command. */
export const COMMAND_PATH = "/command";

/** The path of the request by which a command line reports the end of the command of its run. */
export const COMMAND_ENDED_PATH = "/command/ended";

/** The variable by which a command line tells the program that it starts instead how the process was asked. */
export const ASKED_VARIABLE = "CHRONICLE_ASKED";

/** The state of the process, as a command line has found it. */
export type Asked =
  /** There is no process for the store in the folder `home`. */
  | { readonly state: "missing"; readonly home: string }
  /** The process wants the command line to do the command itself. It has begun the request with this id, if there is one. */
  | { readonly state: "direct"; readonly request?: string }
  /** The process has not answered. It may have carried out the request with this id. */
  | { readonly state: "lost"; readonly home: string; readonly request: string }
  /** The process that recorded a run did not answer when the command had ended. */
  | { readonly state: "ended"; readonly home: string; readonly end: NonNullable<RunOptions["ended"]> };

/** The commands that the process carries out. */
export const RESIDENT_COMMANDS: readonly string[] = [
  "actions",
  "changes",
  "conflicts",
  "diff",
  "explain",
  "files",
  "history",
  "list",
  "log",
  "manifest",
  "redo",
  "restore",
  "rollback",
  "run",
  "sessions",
  "show",
  "snapshot",
  "status",
  "undo",
  "versions",
];

export interface Terminal {
  readonly isTerminal: boolean;
  readonly colours: boolean;
  /** The width in characters. */
  readonly columns: number;
}

/** A command line, with everything around it that the command may depend on. */
export interface CommandCall {
  /** The program of the command line (`programMark`). */
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
 * The surroundings of a process. Two processes with equal ones see the same files and processes, and may do the same with
 * them.
 */
export interface FileSystemView {
  /** The mount and PID namespaces; `null` on a machine without /proc. */
  readonly spaces: string | null;
  /**
   * The users, groups, capabilities, sandbox marks and limits on files of the process; `null` on a machine without /proc.
   * A process with others may do more or less than the command.
   */
  readonly rights: string | null;
  /** The device and inode of `/`, which differs after chroot(2). */
  readonly root: string;
  /** The device and inode of the working folder. */
  readonly cwd: string;
}

/** Returns `undefined` if the folder is not there. */
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

/** The lines of proc_pid_status(5) and of proc_pid_limits(5) that say what a process may do. */
const RIGHTS = /^(?:Uid|Gid|Groups|Cap\w+|NoNewPrivs|Seccomp):.*$/gm;
const LIMITS = /^Max (?:file size|open files|address space|data size) .*$/gm;

function rightsOf(disk: Disk): string | null {
  const [status, limits] = ["status", "limits"].map((name) => procText(disk, `/proc/self/${name}`));
  if (status === undefined || limits === undefined) return null;
  return [...(status.match(RIGHTS) ?? []), ...(limits.match(LIMITS) ?? [])].join("\n");
}

/** True if a sandbox may hold the process: its descendants can gain no rights. */
export function mayBeSandboxed(disk: Disk): boolean {
  return /^NoNewPrivs:\s*[^0\s]/m.test(procText(disk, "/proc/self/status") ?? "");
}

function spacesOf(disk: Disk): string | null {
  if (disk.lstat("/proc/self/ns") === undefined) return null;
  return ["mnt", "pid"].map((name) => disk.readlink(`/proc/self/ns/${name}`).toString()).join(" ");
}

/** A part of the output: the file descriptor (1 or 2) and the bytes. */
export type OutputPart = readonly [fd: 1 | 2, bytes: Uint8Array];

/** The command of a run, which the command line starts. */
export interface RunOrder {
  /** Names the run in the report of its end. */
  readonly token: string;
  /** The id of the session. */
  readonly session: string;
  readonly command: readonly string[];
  readonly cwd: string;
  /** Variables that the command gets besides those of the command line. */
  readonly moreEnv: Readonly<Record<string, string>>;
}

/** `errno` and `message`: those of the error if the command could not be started. */
export interface RunReport {
  readonly token: string;
  readonly end: CommandEnd | { readonly errno: string; readonly message: string };
}

/**
 * `direct`: the reason why the command line must do the command itself. Nothing was printed then. `isBegun`: the command
 * was begun, so the request keeps its id: it may have changed something before it turned out that it needs its client.
 */
export type CommandAnswer =
  | { readonly direct: string; readonly isBegun?: true }
  | (Outcome & { readonly output: readonly OutputPart[] });

/**
 * The exit code, or the command that the command line is to start. `endBy`: the signal by which the command line must
 * end itself instead of with the code.
 */
type Outcome = { readonly code: number; readonly endBy?: string } | { readonly run: RunOrder };

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
