/** Runs `git` with the arguments and the environment of a command (see `safeGit`). */
export type RunGit = (command: GitCommand) => Promise<GitOutput>;

export interface GitCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: Buffer;
  /** The maximum size of the output, in bytes. If the output is larger, git is ended, and `problem` says so. */
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

export interface GitOutput {
  readonly stdout: Buffer;
  /** The reason, for people, why git failed or was not started. Absent if git's exit code is 0. */
  readonly problem?: string;
}

/**
 * The maximum time, in ms, that one git process may take. Without this limit, a disk that hangs could make a command
 * wait forever.
 */
const MOST_MS = 60_000;

/** The maximum size, in bytes, of a pack or list that is read from git. */
const MOST_GIT_BYTES = 256 * 1024 ** 2;

/**
 * The hook events that occur in the commands of git that are used here. Since version 2.54, a configuration of git can
 * name programs for these events. `OVERRIDES` has the settings that switch them off. Older versions of git ignore these
 * settings.
 */
export const HOOK_EVENTS: readonly string[] = ["reference-transaction"];

/**
 * Settings that override those of the repository. An agent can write a repository's configuration, so git must start
 * none of the programs that this configuration names.
 */
const OVERRIDES: readonly string[] = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.alternateRefsCommand=false",
  "core.sshCommand=false",
  "core.gitProxy=",
  "core.askPass=",
  "core.pager=cat",
  "core.editor=false",
  "core.attributesFile=/dev/null",
  "credential.helper=",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
  ...HOOK_EVENTS.map((event) => `hook.${event}.enabled=false`),
];

/**
 * The environment of git. No variable of the caller's environment is taken over, so that no `GIT_…` variable of
 * an agent has an effect. The user's and the machine's configurations are not read.
 */
const ENV: Readonly<Record<string, string>> = {
  LC_ALL: "C",
  HOME: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_COMMITTER_NAME: "Chronicle",
  GIT_COMMITTER_EMAIL: "chronicle@localhost",
};

/** Returns a command that runs git on a repository, with settings that keep git from starting other programs. */
export function safeGit(gitDir: string, args: readonly string[], input: Buffer = Buffer.alloc(0)): GitCommand {
  return {
    args: ["--no-pager", `--git-dir=${gitDir}`, ...OVERRIDES.flatMap((one) => ["-c", one]), ...args],
    env: ENV,
    input,
    mostBytes: MOST_GIT_BYTES,
    timeoutMs: MOST_MS,
  };
}
