/** Runs `git` with arguments. The implementation starts it in a safe environment (see `safeGit`). */
export type RunGit = (command: GitCommand) => Promise<GitOutput>;

export interface GitCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: Buffer;
  /** The most bytes of output. If there are more, git is ended, and `problem` says so. */
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

export interface GitOutput {
  readonly stdout: Buffer;
  /** The reason why git failed or was not started, for people; absent if its exit code is 0. */
  readonly problem?: string;
}

/** The longest run of git, in ms. A hanging disk must not make a command wait forever. */
const MOST_MS = 60_000;

/** The most bytes of a pack or list that are read from git: 256 MiB. */
const MOST_GIT_BYTES = 256 * 1024 ** 2;

/**
 * The events of hooks that the used commands of git have. Since version 2.54, a configuration can name programs for
 * them. An older git ignores the settings that switch them off.
 */
export const HOOK_EVENTS: readonly string[] = ["reference-transaction"];

/**
 * Settings that override those of the repository. An agent can write its configuration, and git must start none of the
 * programs that such a configuration names.
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
 * The environment of git. It has nothing of the caller's environment, so that no `GIT_…` variable of an agent counts.
 * The user's and the machine's configurations are not read.
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

/** Returns the command that runs git on a repository, and lets it start no other program. */
export function safeGit(gitDir: string, args: readonly string[], input: Buffer = Buffer.alloc(0)): GitCommand {
  return {
    args: ["--no-pager", `--git-dir=${gitDir}`, ...OVERRIDES.flatMap((one) => ["-c", one]), ...args],
    env: ENV,
    input,
    mostBytes: MOST_GIT_BYTES,
    timeoutMs: MOST_MS,
  };
}
