import { expect } from "vitest";
import type { UndoShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { GitProject } from "./git-project.ts";
import { faultsOfGit, filesOf, seenGit } from "./git-state.ts";

/** Returns numbers from 0 to `most - 1`, the same ones for the same seed (a linear congruential generator). */
function choices(seed: number): (most: number) => number {
  let state = BigInt(seed) * 2654435761n + 1n;
  return (most) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
    return Number((state >> 33n) % BigInt(most));
  };
}

/** What people and agents do to a repository. `$F` is a file, `$B` and `$C` are branches, `$T` is a text. */
const OPERATIONS: readonly string[] = [
  'echo "$T" >> $F; git add -A; git commit -qm "$T"',
  'echo "$T" >> $F; git add $F',
  'echo "$T" >> $F',
  'echo "$T" > $F.new; git add -N $F.new',
  "rm -f $F",
  "git rm -q --cached $F",
  "git mv -f $F $F.moved",
  "git reset -q --hard HEAD~1",
  "git reset -q --soft HEAD~1",
  "git reset -q HEAD~1",
  "git checkout -q -f $B",
  "git checkout -q -f --detach $B",
  'git checkout -q -b "b$T"',
  "git branch -q -D $B",
  "git branch -q -f $B HEAD",
  "git branch -m $B $B-renamed",
  'echo "$T" >> $F; git stash push -q',
  'echo "$T" >> $F; git add $F; git stash push -q -u',
  "git stash pop -q",
  "git stash drop -q",
  "git stash clear",
  'echo "$T" >> $F; git commit -q -a --amend -m "amended $T"',
  "git rebase -q $B",
  "git merge -q $B",
  "git cherry-pick $B",
  "git revert --no-edit HEAD",
  "git restore --staged --worktree .",
  "git checkout -q -f -- .",
  "git clean -q -fd",
  'git tag -a -m "$T" "t$T"; git tag "l$T"',
  "git update-index --assume-unchanged $F",
  "git update-index --skip-worktree $F",
  "git pack-refs --all",
  "git gc -q --prune=now",
  "git reflog expire --expire=now --all; git gc -q --prune=now",
  "git rebase --abort; git merge --abort; git cherry-pick --abort",
  "git read-tree --empty",
];

/** A repository with three branches that have diverged. */
function repository(init: readonly string[]): GitProject {
  const project = new GitProject(["-b", "main", ...init]);
  for (const name of ["a", "b", "dir/c"]) project.write(name, `${name}\n`);
  project.git(["add", "."]);
  project.git(["commit", "-qm", "first"]);
  for (const branch of ["one", "two"]) {
    project.git(["checkout", "-q", "-b", branch, "main"]);
    project.write(branch === "one" ? "a" : "b", `${branch}\n`);
    project.git(["commit", "-qam", branch]);
  }
  project.git(["checkout", "-q", "main"]);
  return project;
}

interface Step {
  readonly script: string;
  readonly before: Seen;
  readonly after: Seen;
}

interface Seen {
  readonly git: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Plays histories on one repository. In each, up to three operations of git are run. They are undone one by one, and in
 * half of the histories redone; or they are undone and redone all at once, three times. After each step, the files, HEAD, the index, the refs and the stashes must be what they were,
 * and the repository must be sound. `init`: options of `git init`.
 */
export async function playGitHistories(seed: number, histories: number, init: readonly string[] = []): Promise<void> {
  const choose = choices(seed);
  await using project = repository(init);
  const workspace = await project.init();
  const done: string[] = [];
  for (let i = 0; i < histories; i += 1) {
    const steps: Step[] = [];
    const { seq } = await workspace.head();
    for (let left = 1 + choose(3); left > 0; left -= 1) {
      const script = scriptOf(choose, `${seed}-${i}-${left}`);
      done.push(script);
      const before = see(project);
      const { undo_id: id } = await run(project, workspace, script);
      const after = see(project);
      if (id === null) expect(after, told(done)).toEqual(before);
      else steps.push({ script, before, after });
    }
    const expectState = (state: Seen | undefined, { skipped }: UndoShape): void =>
      expect({ ...see(project), left: skipped }, told(done)).toEqual({ ...state, left: [] });
    if (choose(3) === 0 && steps.length > 0) {
      // All at once, again and again.
      for (const selection of [{ to: `seq:${seq}` }, {}, {}]) {
        expectState(steps[0]?.before, await workspace.undo(selection));
        expectState(steps.at(-1)?.after, await workspace.redo());
      }
      expect(faultsOfGit(project), told(done)).toBe("");
      continue;
    }
    for (const { before } of steps.toReversed()) expectState(before, await workspace.undo());
    if (choose(2) === 0) for (const { after } of steps) expectState(after, await workspace.redo());
    else done.push("(undone)");
    expect(faultsOfGit(project), told(done)).toBe("");
  }
}

function scriptOf(choose: (most: number) => number, text: string): string {
  const operation = OPERATIONS[choose(OPERATIONS.length)] ?? "";
  const file = ["a", "b", "dir/c"][choose(3)] ?? "";
  const branch = ["main", "one", "two"][choose(3)] ?? "";
  return `F=${file}; B=${branch}; T=${text}; export GIT_EDITOR=true; ${operation}; exit 0`;
}

function run(project: GitProject, workspace: WorkspaceApi, script: string): ReturnType<WorkspaceApi["run"]> {
  const command = ["sh", "-c", `{ ${script.replace(/; exit 0$/, "")}; } > /dev/null 2>&1; exit 0`];
  return workspace.run({ command, cwd: project.top, env: project.env });
}

function see(project: GitProject): Seen {
  return { git: seenGit(project), files: filesOf(project) };
}

function told(done: readonly string[]): string {
  return `after:\n${done.slice(-8).join("\n")}`;
}
