import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GitProject } from "./git-project.ts";

/** What git says of a repository: everything that a person sees of it, and that an undo must bring back. */
const SCRIPT = `
echo "HEAD $(git symbolic-ref -q HEAD) $(git rev-parse -q --verify HEAD)"
echo index; git ls-files -s -v
echo refs; git for-each-ref --format="%(refname) %(objectname) %(symref)"
echo stashes; git stash list --format="%H %gs"
echo status; git status --porcelain=v2 --branch -uall
for name in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge/head-name rebase-merge/done rebase-apply/next; do
  file=$(git rev-parse --git-path $name); [ -f $file ] && echo $name && cat $file
done
exit 0`;

/** Returns what git itself says of the project's repository, or of one in the folder `cwd`, line by line. */
export function seenGit(project: GitProject, cwd = project.top): readonly string[] {
  const { stdout, stderr } = spawnSync("sh", ["-c", SCRIPT], {
    cwd,
    // `git status` must not write the index.
    env: { ...project.env, GIT_OPTIONAL_LOCKS: "0" },
    encoding: "utf8",
  });
  return `${stdout}${stderr}`.split("\n");
}

/** Returns the commit that is checked out; empty for an unborn branch. */
export function commitOf(project: GitProject, cwd = project.top): string {
  return seenGit(project, cwd)[0]?.split(" ")[2] ?? "";
}

/** Returns the files of the working tree with their modes and contents. */
export function filesOf(project: GitProject): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(project.top, { recursive: true, encoding: "utf8" })) {
    const path = join(project.top, name);
    if (name === ".git" || name.startsWith(".git/") || !lstatSync(path).isFile()) continue;
    found[name] = `${lstatSync(path).mode.toString(8)} ${readFileSync(path, "utf8")}`;
  }
  return found;
}

/** Returns what `git fsck` reports as wrong: nothing for a sound repository. Unreachable objects are not wrong. */
export function faultsOfGit(project: GitProject, cwd = project.top): string {
  const args = ["fsck", "--full", "--no-progress", "--no-dangling"];
  const { stdout, stderr, status } = spawnSync("git", args, { cwd, env: project.env, encoding: "utf8" });
  // Git does not store the empty tree of a commit without files, and then reports it itself as missing.
  const told = `${stdout}${stderr}`.replace(
    /^(?:notice: .*|missing tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904)\n/gm,
    "",
  );
  return told === "" ? "" : `${status}: ${told}`;
}
