import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ended, Sandbox } from "./sandbox.ts";
import { untilRecorded } from "../helpers/until-recorded.ts";

/** Waits until a file exists. On a busy machine, the start of a program takes many seconds. */
async function appears(path: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    if (existsSync(path)) return;
    await sleep(25);
  }
  throw new Error(`${path} did not appear`);
}

describe("run", () => {
  it("leaves stdin and stdout to the command, and exits with its exit code", async () => {
    using box = new Sandbox();
    const ran = box.run(["run", "--", "sh", "-c", "cat; echo err >&2; exit 7"], { input: "from stdin\n" });
    expect([ran.code, ran.stdout]).toEqual([7, "from stdin\n"]);
    expect(ran.stderr).toContain("err\nchronicle: nothing tracked changed\n");
    expect(box.run(["run", "--", "sh", "-c", "kill -9 $$"]).code).toBe(137);
    expect(box.run(["run", "--", "sh", "-c", "kill -TERM $$"]).code).toBe(143);
    expect(box.run(["run", "--otr", "--", "sh", "-c", "cat; exit 3"], { input: "x" })).toEqual({
      code: 3,
      stdout: "x",
      stderr: "",
    });
  });

  it("reports a new history, with the paths that it does not cover and the git repository around it", () => {
    using box = new Sandbox();
    box.write(".env", "secret");
    box.write("src/.gitignore", ".env\nout/\n");
    box.write("src/.env", "secret");
    box.write("src/a.txt", "one");
    box.sh("mkdir .git");
    const first = box.run(["run", "--", "sh", "-c", "rm .env"], { cwd: "project/src" });
    const folder = join(box.project, "src");
    expect(first.stderr).toBe(
      `chronicle: new history for ${folder} (2 paths; not covered: .env)\n` +
        `chronicle: this folder is only a part of the git repository ${box.project}; the rest of it is not recorded; ` +
        "to record all of it: chronicle -C .. …\n" +
        "chronicle: nothing tracked changed\n" +
        "chronicle: 1 path that the rules leave out was removed; undo brings it back: .env\n",
    );
    box.run(["run", "--", "sh", "-c", "echo two > a.txt"], { cwd: "project/src" });
    const idle = box.run(["run", "--", "true"], { cwd: "project/src" });
    expect(idle.stderr).toBe(
      "chronicle: nothing tracked changed (undo would take back what was done before: sh -c 'echo two > a.txt')\n",
    );
    box.run(["put", "c.txt"], { cwd: "project/src", input: "by hand" });
    expect(box.run(["run", "--", "true"], { cwd: "project/src" }).stderr).toMatch(
      /what was done before: .*c\.txt\)\n$/,
    );
    const init = box.run(["init"], { cwd: "project" });
    expect([init.code, init.stderr]).toEqual([0, ""]);
  });

  it("exits with 127 or 126, as a shell does, if the command cannot be started", async () => {
    using box = new Sandbox();
    box.write("not-executable", "x");
    for (const more of [[], ["--otr"]]) {
      const missing = box.run(["run", ...more, "--", "no-such-command-anywhere"]);
      expect([missing.code, missing.stdout]).toEqual([127, ""]);
      expect(missing.stderr).toContain("no-such-command-anywhere");
      expect(box.run(["run", ...more, "--", "./not-executable"]).code).toBe(126);
    }
  });

  it("--otr records nothing at all", async () => {
    using box = new Sandbox();
    expect(box.run(["run", "--otr", "--", "sh", "-c", "echo x > new"]).code).toBe(0);
    expect(existsSync(box.store)).toBe(false);
    expect(existsSync(join(box.folder, "config", "chronicle"))).toBe(false);
    expect(box.run(["list"]).code).toBe(3);
  });

  it("--otr with a workspace that does not exist does not start the command, with and without a store", async () => {
    using box = new Sandbox();
    for (const way of ["without a store", "with a store"]) {
      const refused = box.run(["run", "--otr", "-w", "other", "--", "sh", "-c", "echo x > ran"]);
      expect([way, refused.code, existsSync(join(box.project, "ran"))]).toEqual([way, 125, false]);
      expect(refused.stderr).toMatch(/(?:there is|has) no workspace/);
      if (way === "without a store") expect(existsSync(box.store)).toBe(false);
      expect(box.run(["init"]).code).toBe(0);
    }
  });

  it.each([
    ["--rollback-on-failure"],
    ["--summary", "../summary.json"],
    ["--json"],
    ["--note", "n"],
    ["--network-events", "../net.json"],
  ])("--otr with %s is refused before the command runs, because that option needs the record", (name, ...value) => {
    using box = new Sandbox();
    box.write("../net.json", "[]");
    const refused = box.run(["run", "--otr", name, ...value, "--", "sh", "-c", "echo x > ran"]);
    expect([refused.code, existsSync(join(box.project, "ran"))]).toEqual([2, false]);
    expect(refused.stdout + refused.stderr).toContain(`--otr and ${name} do not go together`);
    expect(existsSync(join(box.folder, "summary.json"))).toBe(false);
    const all = box.run(["run", "--otr", "--note", "n", "--summary", "../s.json", "--", "true"]);
    expect(all.stderr).toContain("--otr and --summary, --note do not go together");
  });

  it("--rollback-on-failure rolls the run back if the command fails, and only then", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    const failed = box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "echo two > a; echo x > b; exit 9"]);
    expect(failed.code).toBe(9);
    expect(failed.stderr).toContain("taken back");
    expect([readFileSync(join(box.project, "a"), "utf8"), existsSync(join(box.project, "b"))]).toEqual(["one", false]);
    expect(box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "echo two > a"]).code).toBe(0);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two\n");
  });

  it("--summary writes the result to a file; if it cannot be written, the command is not run", async () => {
    using box = new Sandbox();
    const file = join(box.folder, "summary.json");
    expect(box.run(["run", "--summary", file, "--", "sh", "-c", "echo x > new; exit 4"]).code).toBe(4);
    const summary: unknown = JSON.parse(readFileSync(file, "utf8"));
    expect(summary).toMatchObject({ exit_code: 4, signal: null, changes: [{ path: "new", change_type: "created" }] });
    for (const lost of ["no/such/folder/s.json", ".."]) {
      const refused = box.run(["run", "--summary", lost, "--", "sh", "-c", "echo x > ran"]);
      expect([refused.code, existsSync(join(box.project, "ran"))]).toEqual([2, false]);
      expect(refused.stderr).toContain(`the summary cannot be written to ${lost}`);
    }
    expect(readdirSync(box.project)).toEqual(["new"]);
  });

  it.each([
    [["run", "--", "no-such-command-anywhere"], 127],
    [["run", "--no-such-option", "--", "true"], 2],
    [["-C", "no/such/folder", "run", "--", "true"], 125],
  ])("--json prints an error as the last line of stderr, and nothing on stdout: %j", (words, code) => {
    using box = new Sandbox();
    const failed = box.run(["--json", ...words]);
    expect([failed.code, failed.stdout]).toEqual([code, ""]);
    const last = failed.stderr.trimEnd().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
  });

  it("an option's value that is the name of a command does not decide where errors are printed", () => {
    using box = new Sandbox();
    const status = box.run(["--json", "-C", "run", "status"]);
    expect([status.code, status.stderr]).toEqual([3, ""]);
    expect(JSON.parse(status.stdout)).toMatchObject({ error: { code: "NOT_FOUND" } });
    const ran = box.run(["--json", "-C", "list", "run", "--", "true"]);
    expect([ran.code, ran.stdout]).toEqual([125, ""]);
    expect(box.run(["--json", "-w", "list", "run", "--bogus"]).stdout).toBe("");
  });

  it("--json prints the result as the last line of stderr", async () => {
    using box = new Sandbox();
    const { code, stdout, stderr } = box.run([
      "run",
      "--json",
      "--",
      "sh",
      "-c",
      "echo out; echo err >&2; echo x > new",
    ]);
    expect([code, stdout]).toEqual([0, "out\n"]);
    const shape: unknown = JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "");
    expect(shape).toMatchObject({ exit_code: 0, changes: [{ path: "new" }], coverage: { complete: true } });
  });

  it("records notes and network events, masks secrets, and reports events that are no list", async () => {
    using box = new Sandbox();
    box.write("../net.json", '[{"host":"example.org"}]');
    box.write("../bad.json", '{"host":"example.org"}');
    const words = ["--network-events", "../net.json", "--note", "n", "--", "sh", "-c", "exit 0", "--token", "s3cr3t"];
    expect(box.run(["run", ...words]).code).toBe(0);
    expect((await box.json(["show"])).value).toMatchObject({ notes: ["n"], network_events: [{ host: "example.org" }] });
    expect(box.run(["show", "--json"]).stdout).not.toContain("s3cr3t");
    const ran = box.run(["run", "--network-events", "../bad.json", "--", "sh", "-c", "exit 4"]);
    expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining("the network events were not recorded")]);
  });

  it("passes a signal on to the command, and records the files that the command then wrote", async () => {
    using box = new Sandbox();
    const script = "trap 'echo trapped > left; exit 5' TERM; echo x > started; while :; do sleep 0.05; done";
    const child = box.start(["run", "--", "sh", "-c", script]);
    await appears(join(box.project, "started"));
    child.kill("SIGTERM");
    expect(await ended(child)).toBe(5);
    expect((await box.json(["history", "left"])).value).toMatchObject([{ iteration: 1 }]);
  });

  it("repeated Ctrl-C goes to the command, whose changes are still recorded and can be undone", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const script =
      "trap 'for i in 1 2 3 4 5 6; do echo $i > left$i; done; exit 6' INT; echo x > started; while :; do sleep 0.05; done";
    const child = box.start(["run", "--", "sh", "-c", script]);
    await appears(join(box.project, "started"));
    const typing = setInterval(() => child.kill("SIGINT"), 20);
    // The summary comes last. After it, the ending process cannot handle signals any more.
    child.stderr.once("data", () => clearInterval(typing));
    expect(await ended(child)).toBe(6);
    expect((await box.json(["sessions"])).value).toMatchObject([{ state: "ended", exit_code: 6, changed: 7 }]);
    await box.must(["undo"]);
    expect(readdirSync(box.project)).toEqual([]);
  });

  it("a run that was killed with kill -9 can be undone", async () => {
    using box = new Sandbox();
    box.write("a", "1");
    const script = `echo 2 > a; ${untilRecorded(box.store, "a")}; kill -9 $PPID`;
    box.run(["run", "--", "sh", "-c", script]);
    expect((await box.must(["status"])).stdout).toContain("ended without reporting its end");
    await box.must(["undo"]);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("1");
    expect((await box.json(["sessions"])).value).toMatchObject([{ state: "abandoned", changed: 1 }]);
    await box.must(["verify"]);
  });

  it("records from a subfolder, in which the command is started", async () => {
    using box = new Sandbox();
    box.write("src/a", "1");
    await box.must(["init"]);
    expect((await box.must(["run", "--", "pwd"], { cwd: "project/src" })).stdout).toBe(`${box.project}/src\n`);
    await box.must(["run", "--", "sh", "-c", "echo 2 > a"], { cwd: "project/src" });
    expect((await box.must(["diff", "0"], { cwd: "project/src" })).stdout).toContain("~ a ");
    expect((await box.must(["cat", "a"], { cwd: "project/src" })).stdout).toBe("2\n");
    expect((await box.must(["cat", join(box.project, "src/a")])).stdout).toBe("2\n");
    expect((await box.must(["-C", "src", "cat", "a@1"])).stdout).toBe("1");
  });
});
