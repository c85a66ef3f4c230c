import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

describe("Truth 77: a run that makes git track an ignored file has not created it", () => {
  it("the run's answer and changes say so, and undo leaves the file", async () => {
    await using project = new Project();
    const git = (...args: string[]): void => void execFileSync("git", ["-C", project.folder, ...args]);
    git("init", "-q");
    project.write(".gitignore", "*.log\nbuild/\n");
    for (const name of ["added.log", "listed.log", "build/made"]) project.write(name, "before the run\n");
    const workspace = await project.init();
    const script = 'git add -f added.log; printf "*.log\\n!listed.log\\n" > .gitignore; echo new > new';
    const ran = await workspace.run({ command: ["sh", "-c", script], cwd: project.folder });
    expect(ran.notes).toEqual([
      "added.log: it was excluded then, so it may have been there",
      "build: it was excluded then, so it may have been there",
      "build/made: it was excluded then, so it may have been there",
      "listed.log: it was excluded then, so it may have been there",
    ]);
    expect(ran.newly_recorded).toEqual(["added.log", "build", "build/made", "listed.log"]);
    expect((await workspace.changes({ session: ran.session.session_id })).notes).toEqual(ran.notes);
    expect((await workspace.undo()).skipped.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["added.log", "listed.log", "build/made"]),
    );
    expect(project.read("added.log")).toBe("before the run\n");
  });

  it("the summary counts such a file as newly recorded, and not as created", async () => {
    using box = new Sandbox();
    box.write(".gitignore", ".env\nbuild/\n");
    box.write(".env", "KEY=1\n");
    box.write("build/out", "before the run\n");
    const ran = box.run(["run", "--", "sh", "-c", "echo x > .gitignore; echo KEY=2 > .env; echo new > new"]);
    expect(ran.stderr).toContain("chronicle: 5 changes (1 created, 1 modified, 3 newly recorded). Take back:");
  });

  it("a rollback that leaves such a file names the reason, and a command that shows more", async () => {
    using box = new Sandbox();
    box.write(".gitignore", "*.log\n");
    box.write("a.log", "before the run\n");
    const script = "printf '' > .gitignore; echo n > new; exit 3";
    const ran = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", script]);
    expect(ran.code).toBe(122);
    const why = "NOT rolled back: a.log \\(their state before the run is not known; .*\\)";
    const [, id = ""] = new RegExp(`${why}\\. Next: chronicle show (\\w{8})\\n`).exec(ran.stderr) ?? [];
    expect((await box.must(["show", id])).stdout).toContain("a.log");
  });

  it("a run that creates only a new file has no notes", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.log\n");
    project.write("x.log", "ignored\n");
    const workspace = await project.init();
    const ran = await workspace.run({ command: ["sh", "-c", "echo new > new"], cwd: project.folder });
    expect([ran.notes, ran.newly_recorded, ran.changes.length]).toEqual([undefined, undefined, 1]);
  });
});
