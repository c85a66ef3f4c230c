import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

const hasGit = spawnSync("git", ["--version"]).status === 0;

it.skipIf(!hasGit)("the list says what a run did to git, in git's words (skipped without git)", async () => {
  await using project = new Project();
  const git = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      cwd: project.folder,
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(stderr);
  };
  git("init", "-q", "-b", "main");
  for (const name of ["first", "second"]) {
    project.write(name, name);
    git("add", ".");
    git("commit", "-qm", name);
  }
  const workspace = await project.init();
  await workspace.run({ command: ["git", "reset", "-q", "--hard", "HEAD~1"] });
  git("checkout", "-q", "-b", "topic");
  await workspace.run({ command: ["git", "branch", "-q", "-D", "main"] });
  const runs = (await workspace.recent()).items.filter(({ kind }) => kind === "run");
  const told = runs.map(({ summary, git: all = [] }) => [summary, ...all.map(({ messages }) => messages)]);
  expect(told).toEqual([
    ["git branch -q -D main", undefined],
    ["git reset -q --hard 'HEAD~1'", ["reset: moving to HEAD~1"]],
  ]);
  expect(runs[0]?.git?.[0]?.refs).toMatchObject([{ name: "refs/heads/main", after: null }]);
  expect(runs[1]?.git?.[0]?.head_before).not.toEqual(runs[1]?.git?.[0]?.head_after);

  // The message of a pull has the words of its command line.
  const script = "GIT_REFLOG_ACTION='pull https://me:hush-hush@host/r.git main' git reset -q --hard HEAD";
  project.write("third", "third");
  git("add", ".");
  git("commit", "-qm", "third");
  await workspace.run({ command: ["sh", "-c", script.replace(/HEAD$/, "HEAD~1")] });
  const [pulled] = (await workspace.recent()).items;
  expect(pulled?.git?.[0]?.messages?.join()).toMatch(/^pull https:\/\/\S+@host\/r\.git main: /);
  expect(JSON.stringify(pulled)).not.toContain("hush-hush");
});
