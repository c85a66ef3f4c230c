import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { GitProject, hasGit } from "../helpers/git-project.ts";
import { seenGit } from "../helpers/git-state.ts";

/** A repository with two commits on `main`. */
function repository(): GitProject {
  const project = new GitProject(["-b", "main"]);
  for (const text of ["one", "two"]) {
    project.write("a", `${text}\n`);
    project.git(["add", "."]);
    project.git(["commit", "-qm", text]);
  }
  return project;
}

function canary(project: GitProject, at: string): string {
  const touched = join(project.base, "touched");
  mkdirSync(join(project.base, at, ".."), { recursive: true });
  writeFileSync(join(project.base, at), `#!/bin/sh\necho "$0 $*" >> ${touched}\nexec /usr/bin/git "$@"\n`);
  chmodSync(join(project.base, at), 0o755);
  return touched;
}

describe.skipIf(!hasGit)("undo of git's state in the face of a hostile folder", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it.each([
    ["in the tracked folder", (project: GitProject) => join(project.top, "node_modules/.bin")],
    [
      "in a folder elsewhere, as a link into the tracked folder",
      (project: GitProject) => {
        mkdirSync(join(project.base, "bin"));
        symlinkSync(join(project.top, "node_modules/.bin/git"), join(project.base, "bin/git"));
        return join(project.base, "bin");
      },
    ],
  ])("starts no program called git %s", async (_, folderOf) => {
    await using project = repository();
    project.write(".gitignore", "node_modules\n");
    const workspace = await project.init();
    const before = seenGit(project);
    await workspace.run({ command: ["git", "reset", "-q", "--hard", "HEAD~1"], cwd: project.top, env: project.env });
    const touched = canary(project, "repo/node_modules/.bin/git");
    vi.stubEnv("PATH", `node_modules/.bin:${folderOf(project)}:${process.env["PATH"]}`);
    await workspace.undo();
    expect(existsSync(touched)).toBe(false);
    vi.unstubAllEnvs();
    expect(seenGit(project)).toEqual(before);
  });
});
