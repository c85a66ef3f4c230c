import { REF } from "../../core/records/git-record.ts";
import { type GitCommand, type RunGit, safeGit } from "./run-git.ts";

// Changes what refs in tables have besides the refs themselves. Git writes the tables, under its own lock.

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

/**
 * Sets the list of stashes to these lines of a reflog, from the lines that it has now. Each step is a change of its own,
 * so after a power loss the list is a part of `to`, from its oldest line on, which the next call completes. Returns the
 * reason if git refuses.
 */
export async function setTabledStashes(
  target: TabledTarget,
  from: readonly string[],
  to: readonly string[],
): Promise<string | undefined> {
  // Without a line, git may still have the ref, and writes no line if the ref stays as it is.
  const isBegun = from.length > 0 && from.length <= to.length && from.every((line, i) => line === to[i]);
  if (!isBegun) {
    // Without the ref, its reflog is gone as well.
    const problem = await ranGit(target, safeGit(target.gitDir, ["update-ref", "--no-deref", "-d", STASH]));
    if (problem !== undefined) return problem;
  }
  for (const line of to.slice(isBegun ? from.length : 0)) {
    const command = pushStash(target.gitDir, line);
    const problem = command === undefined ? "a line of the list of stashes is damaged" : await ranGit(target, command);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const STASH = "refs/stash";
const LINE = /^[0-9a-f]+ ([0-9a-f]+) (.*) <(.*)> (\d+ [+-]\d{4})\t(.*)$/;

/** Returns the command that makes the last line of the list of stashes; `undefined` if it is no such line. */
function pushStash(gitDir: string, line: string): GitCommand | undefined {
  const [, commit, name, mail, date, message = ""] = LINE.exec(line) ?? [];
  if (commit === undefined || name === undefined || mail === undefined || date === undefined) return undefined;
  const said = message === "" ? [] : ["-m", message];
  const command = safeGit(gitDir, ["update-ref", "--no-deref", "--create-reflog", ...said, STASH, commit]);
  const who = { GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: mail, GIT_COMMITTER_DATE: date };
  return { ...command, env: { ...command.env, ...who } };
}

async function ranGit({ run }: TabledTarget, command: GitCommand): Promise<string | undefined> {
  const { problem } = await run(command);
  return problem === undefined ? undefined : `git did not change the refs (${problem})`;
}
