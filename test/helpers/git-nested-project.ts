import { join } from "node:path";
import type { RunShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { GitProject } from "./git-project.ts";

/** The kinds of repositories within another one. */
export const KINDS: readonly string[] = ["a repository of its own", "a submodule", "a linked working tree"];

/** Makes two commits and a staged edit in the repository in `cwd`. */
export function fill(project: GitProject, cwd: string): void {
  for (const text of ["1\n", "2\n"]) {
    project.write(join(cwd, "a"), text);
    project.git(["add", "a"], cwd);
    project.git(["commit", "-qm", text.trim()], cwd);
  }
  project.write(join(cwd, "a"), "2\nstaged\n");
  project.git(["add", "a"], cwd);
}

/** A repository with another one in the folder `inner`: of its own, a submodule, or a linked working tree. */
export function nestedProject(kind: string): { readonly project: GitProject; readonly inner: string } {
  const made = new GitProject(["-b", "main"]);
  const inner = join(made.top, "in/ner");
  fill(made, made.top);
  if (kind === "a repository of its own") {
    made.git(["init", "-q", "-b", "main", inner]);
    fill(made, inner);
  } else if (kind === "a submodule") {
    const other = join(made.base, "other");
    made.git(["init", "-q", "-b", "main", other]);
    fill(made, other);
    made.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "in/ner"]);
    made.git(["commit", "-qm", "a submodule"]);
    made.write("a", "staged again\n");
    made.git(["add", "a"]);
    made.write(join(inner, "a"), "2\nstaged\n");
    made.git(["add", "a"], inner);
  } else {
    made.git(["worktree", "add", "-q", "-b", "side", inner]);
    fill(made, inner);
  }
  return { project: made, inner };
}

/** Runs a script of the shell in the top of the project, as a recorded run. */
export function runScript(made: GitProject, workspace: WorkspaceApi, script: string): Promise<RunShape> {
  return workspace.run({ command: ["sh", "-c", script], cwd: made.top, env: made.env });
}
