import { readdirSync } from "node:fs";
import { join } from "node:path";
import { GitProject } from "./git-project.ts";
import { filesOf, seenGit } from "./git-state.ts";

/** A repository with packed and loose objects, a stash, a hook and staged edits. `init`: options of `git init`. */
export function mixedRepository(init: readonly string[] = []): GitProject {
  const project = new GitProject(["-b", "main", ...init]);
  for (const text of ["1\n", "2\n", "3\n"]) {
    project.write("a", text);
    project.git(["add", "."]);
    if (text !== "3\n") project.git(["commit", "-qm", text.trim()]);
    if (text === "1\n") project.git(["gc", "-q"]);
  }
  project.git(["stash", "-q"]);
  project.write("sub/b", "staged\n");
  project.git(["add", "."]);
  project.write(".git/hooks/post-commit", "#!/bin/sh\n");
  return project;
}

/** Returns everything that an undo must bring back. */
export const allOf = (project: GitProject): unknown => [
  seenGit(project),
  filesOf(project),
  new Set(readdirSync(join(project.top, ".git"), { recursive: true, encoding: "utf8" })),
];
