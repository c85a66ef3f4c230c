import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("explain reports a path without a file, and a pipe, which is never opened", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.sh("mkfifo pipe; rm a.txt");
  const { stdout } = await box.must(["explain", "pipe", "missing", "a.txt"]);
  expect(stdout.split("\n")).toEqual([
    "pipe: not tracked: a pipe, a socket or a device: listed, never opened",
    "missing: the path does not exist, and is not recorded; it would be tracked: nothing leaves it out",
    "a.txt: tracked: nothing leaves it out",
    "",
  ]);
});

it("explain looks in the folder of the workspace of -w, not in the current folder", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  const { workspace } = JSON.parse((await box.must(["status", "--json"])).stdout) as { workspace: string };
  box.write("new.txt", "new\n");
  box.sh("echo other > ../only-here");
  const { stdout } = await box.must(["-w", workspace, "explain", "new.txt", "only-here"], { cwd: "." });
  expect(stdout.split("\n")).toEqual([
    "new.txt: tracked: nothing leaves it out",
    "only-here: the path does not exist, and is not recorded; it would be tracked: nothing leaves it out",
    "",
  ]);
});

it("an undo that changes nothing does not mention redo", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  box.run(["run", "--", "sh", "-c", "echo two > a.txt"]);
  box.write("a.txt", "one\n");
  const { stdout } = await box.must(["undo"]);
  expect(stdout).toContain("nothing to change: everything is like that already");
  expect(stdout).not.toContain("redo");
});

it("verify prints no rate after a very short time", async () => {
  using box = new Sandbox();
  await box.must(["init"]);
  expect((await box.must(["verify"])).stdout).not.toContain("events/s");
});

it('status names the file of a root that is a single file, and list says "1 path" for a baseline of one path', async () => {
  using box = new Sandbox();
  box.sh("mkdir ../further; echo 1 > ../further/one.conf; echo 2 > ../further/other");
  await box.must(["init", ".", "../further/one.conf"]);
  expect((await box.must(["status"])).stdout).toMatch(/@one-conf: \S+\/further\/one\.conf\n/);
  expect((await box.must(["list"])).stdout).toContain("baseline of 1 path  ");
});

it("list names the edits before a run without the changes of an undo and a redo before them", async () => {
  using box = new Sandbox();
  box.sh("echo 1 > f; echo 1 > g; echo 1 > h");
  await box.must(["init"]);
  box.run(["run", "--", "sh", "-c", "echo 2 > f; echo 2 > g; echo 2 > h"]);
  await box.must(["undo"]);
  await box.must(["redo"]);
  box.write("f", "3\n");
  box.run(["run", "--", "true"]);
  const { stdout } = await box.must(["list"]);
  expect(stdout).toMatch(/outside of recorded work {2,}f {2,}/);
});

it("list prints for each snapshot a command that restores the state before it, and one example that restores it", async () => {
  using box = new Sandbox();
  box.write("f", "1\n");
  await box.must(["init"]);
  box.write("f", "2\n");
  await box.must(["snapshot", "--name", "good"]);
  box.write("f", "3\n");
  await box.must(["snapshot"]);
  const { stdout } = await box.must(["list"]);
  const [, before = ""] = /snapshot 1: good {2,}f .* chronicle (restore \S+)\n/.exec(stdout) ?? [];
  const [, to = ""] = /chronicle (restore 2) goes to snapshot 2; /.exec(stdout) ?? [];
  await box.must(before.split(" "));
  expect(readFileSync(join(box.project, "f"), "utf8")).toBe("1\n");
  await box.must(to.split(" "));
  expect(readFileSync(join(box.project, "f"), "utf8")).toBe("3\n");
  await box.must(["restore", "1"]);
  expect(readFileSync(join(box.project, "f"), "utf8")).toBe("2\n");
});

it("an undo with nothing to undo names the options that undo edits by hand", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.write("a.txt", "two\n");
  const { code, stderr } = await box.call(["undo"]);
  expect(code).toBe(3);
  expect(stderr).toContain("`chronicle undo --file PATH` or `--since MOMENT`");
  await box.must(["undo", "--file", "a.txt"]);
  expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("one\n");
});

it("a run of a quoted command line prints the command that passes the line to a shell", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  const { code, stderr } = await box.call(["run", "--", "echo 'hi' > said"]);
  expect(code).toBe(127);
  const [, line = ""] = /`chronicle (run .+)`/.exec(stderr) ?? [];
  box.sh(`${box.command.join(" ")} ${line}`);
  expect(readFileSync(join(box.project, "said"), "utf8")).toBe("hi\n");
});

it("verify names the option that repairs a damaged content", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.sh(`find ${box.store} -name '*.pack' -exec truncate -s -1 {} +`);
  const { code, stdout, stderr } = await box.call(["verify"]);
  expect([code, stdout]).toEqual([4, expect.stringContaining("DAMAGED")]);
  expect(stderr).toContain("`chronicle verify --repair-from PLACE`");
  const repaired = await box.call(["verify", "--repair-from", "."]);
  expect(repaired.stderr).not.toContain("--repair-from PLACE");
});
