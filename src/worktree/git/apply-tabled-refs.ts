import { REF } from "../../core/records/git-record.ts";
import { type GitCommand, type RunGit, safeGit } from "./run-git.ts";

// This file sets HEAD and the list of stashes of a repository whose refs are in tables (reftables). Git writes the
// tables, under its own lock.

export interface TabledTarget {
  readonly run: RunGit;
  readonly gitDir: string;
  /** The text for the reflogs, one line. */
  readonly message: string;
}

/** Sets HEAD to a commit, or to `ref: ` and a branch. Returns the reason if it could not be set. */
export function setTabledHead(target: TabledTarget, value: string): Promise<string | undefined> {
  const { gitDir, message } = target;
  const args = value.startsWith(REF)
    ? ["symbolic-ref", "-m", message, "HEAD", value.slice(REF.length)]
    : ["update-ref", "--no-deref", "-m", message, "HEAD", value];
  return ranGit(target, safeGit(gitDir, args));
}

/** The stashes of a repository: the value of the ref, and the lines of its reflog, the oldest first. */
export interface TabledStashes {
  readonly ref: string | undefined;
  readonly lines: readonly string[];
}

/**
 * Changes the list of stashes from `from`, its present state, to the lines `to` of a reflog. Git adds one line at a
 * time. Therefore, after a power loss, the list may have only the oldest lines of `to`. The next call then adds the
 * others. Git makes each step only if the ref still has the value that the previous step has set. Returns the reason if
 * git refuses.
 */
export async function setTabledStashes(
  target: TabledTarget,
  from: TabledStashes,
  to: readonly string[],
): Promise<string | undefined> {
  const { ref, lines } = from;
  const first = oldOf(to[0]);
  const isBegun = ref !== undefined && isStartOf(lines, to) && (lines.length > 0 || ref === first);
  // Without a line, git may still have the ref, and writes no line if the ref stays as it is.
  if (!isBegun && ref !== undefined) {
    // Git deletes the reflog together with the ref.
    const problem = await ranGit(target, safeGit(target.gitDir, ["update-ref", "--no-deref", "-d", STASH, ref]));
    if (problem !== undefined) return problem;
  }
  let old = isBegun ? ref : undefined;
  if (old === undefined && first !== undefined) {
    // The oldest stash was dropped, but the next one still names it as the value before. The ref gets it without a line.
    const args = ["-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", STASH, first, zeros(first)];
    const problem = await ranGit(target, safeGit(target.gitDir, args));
    if (problem !== undefined) return problem;
    old = first;
  }
  for (const line of to.slice(isBegun ? lines.length : 0)) {
    const pushed = pushStash(target.gitDir, line, old);
    if (pushed === undefined) return "a line of the list of stashes is damaged";
    const problem = await ranGit(target, pushed.command);
    if (problem !== undefined) return problem;
    old = pushed.commit;
  }
  return undefined;
}

/** True if the list `all` begins with all lines of `lines`. */
export function isStartOf(lines: readonly string[], all: readonly string[]): boolean {
  return lines.length <= all.length && lines.every((line, i) => line === all[i]);
}

/** Returns the value that a line of a reflog names as the one before it; `undefined` if there was none. */
export function oldOf(line: string | undefined): string | undefined {
  const old = line === undefined ? undefined : /^[0-9a-f]+(?= )/.exec(line)?.[0];
  return old === undefined || old === zeros(old) ? undefined : old;
}

const zeros = (hash: string): string => "0".repeat(hash.length);

const STASH = "refs/stash";
const LINE = /^[0-9a-f]+ ([0-9a-f]+) (.*) <(.*)> (\d+ [+-]\d{4})\t(.*)$/;

/**
 * Returns the command that adds a line to the list of stashes, and the value that the ref then has. The command fails
 * unless the ref has the value `old` (`undefined`: no ref). Returns `undefined` if the line is damaged.
 */
function pushStash(
  gitDir: string,
  line: string,
  old: string | undefined,
): { readonly command: GitCommand; readonly commit: string } | undefined {
  const [, commit, name, mail, date, message = ""] = LINE.exec(line) ?? [];
  if (commit === undefined || name === undefined || mail === undefined || date === undefined) return undefined;
  const said = message === "" ? [] : ["-m", message];
  const values = [commit, old ?? zeros(commit)];
  const command = safeGit(gitDir, ["update-ref", "--no-deref", "--create-reflog", ...said, STASH, ...values]);
  const who = { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: mail, GIT_COMMITTER_DATE: date };
  return { command: { ...command, env: { ...command.env, ...who } }, commit };
}

async function ranGit({ run }: TabledTarget, command: GitCommand): Promise<string | undefined> {
  const { problem } = await run(command);
  return problem === undefined ? undefined : `git did not change the refs (${problem})`;
}
