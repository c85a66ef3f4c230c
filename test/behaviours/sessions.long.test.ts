import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../src/api/problems.ts";
import { ChronicleError } from "../../src/core/values/errors.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";
import { untilRecorded } from "../helpers/until-recorded.ts";

describe("a session survives a round trip through JSON", () => {
  const events = [
    { host: "example.org", seconds: 1.5, tiny: -2.5e-7, large: 1e300, port: 443, tls: true, error: null },
    { "naïve 漢字": ["\u2028", "\ud800", ""], "": {} },
    0.1,
    "text",
    [[[]]],
  ];

  it.each([
    ["with network events of any JSON", events],
    ["without network events", []],
  ])("%s", async (_name, networkEvents) => {
    await using project = new Project();
    project.write("a", "one");
    const workspace = await project.init();
    const notes = ["first note", "zweite\nNotiz"];
    const command = ["sh", "-c", "echo two > a; exit 3"];
    const run = await workspace.run({ command, networkEvents, notes });
    const wanted = { network_events: networkEvents, notes, command, exit_code: 3, state: "ended" };
    expect(run.session).toMatchObject(wanted);
    expect(await workspace.session(run.session.session_id)).toEqual(run.session);
    expect(JSON.parse(JSON.stringify(run.session))).toEqual(run.session);
    await workspace.close();
    const again = await project.open({ readOnly: true });
    expect(await again.sessions()).toEqual([run.session]);
    expect(await again.verify()).toMatchObject({ ok: true, problems: [] });
  });

  it("an event that JSON cannot hold is refused before the command starts", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const event of [circle, 10n, undefined, () => 1])
      await expect(
        workspace.run({ command: ["touch", project.at("never")], networkEvents: [event] }),
      ).rejects.toMatchObject({ code: "USAGE" });
    expect(readdirSync(project.folder)).toEqual([]);
    expect(await workspace.sessions()).toEqual([]);
  });

  it("--network-events accepts fractions", async () => {
    using box = new Sandbox();
    box.write("../net.json", '[{"host":"example.org","seconds":1.5}]');
    expect(box.run(["run", "--network-events", "../net.json", "--", "sh", "-c", "exit 4"]).code).toBe(4);
    expect((await box.json(["show"])).value).toMatchObject({ network_events: [{ host: "example.org", seconds: 1.5 }] });
  });

  it("secrets in the command are masked everywhere, and do not reach the store", async () => {
    await using project = new Project();
    project.write("a", "one");
    const workspace = await project.init();
    const secret = "hunter2-hunter2";
    const command = ["sh", "-c", `echo x > a # curl -H 'Authorization: Bearer ${secret}'`, "--token", secret];
    const run = await workspace.run({ command });
    await workspace.undo();
    const said = JSON.stringify([run, await workspace.log(), await workspace.sessions(), await workspace.operations()]);
    expect(said + JSON.stringify(await workspace.recent())).not.toContain(secret);
    await workspace.close();
    const found = `grep -rl ${secret} ${project.home} ${project.configFolder} || true`;
    const files = execFileSync("sh", ["-c", found], { encoding: "utf8" });
    expect(files).toBe("");
  });
});

describe("a run", () => {
  const ends: readonly [string, string, number, string | null][] = [
    ["success", "exit 0", 0, null],
    ["a failure", "exit 3", 3, null],
    ["a killed command", "kill -9 $$", 137, "SIGKILL"],
    ["a terminated command", "kill -TERM $$", 143, "SIGTERM"],
  ];

  it.each(ends)(
    "%s: the exit code is returned and recorded, and the run is rolled back only if it failed",
    async (_name, end, code, signal) => {
      await using project = new Project();
      project.write("a", "one");
      const workspace = await project.init();
      const before = project.tree();
      const command = ["sh", "-c", `echo two > a; mkdir d; echo x > d/new; ${end}`];
      const run = await workspace.run({ command, rollbackOnFailure: true });
      const failed = code !== 0;
      expect(run).toMatchObject({ exit_code: code, signal, rolled_back: failed, skipped: [] });
      expect(run.changes).toHaveLength(3);
      expect(run.session).toMatchObject({ exit_code: signal === null ? code : null, signal });
      if (failed) expect(project.tree()).toEqual(before);
      else expect(project.tree()).not.toEqual(before);
      // Redo brings back the files that the failed command made.
      if (failed) await workspace.redo();
      expect(project.read("d/new")).toBe("x\n");
    },
  );

  it("a command that cannot be started is NOT_FOUND, and its session is ended", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await expect(workspace.run({ command: ["/no/such"] })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await workspace.sessions()).toMatchObject([{ state: "ended", exit_code: null }]);
  });

  it("exits with 125 if Chronicle fails before the command starts", () => {
    using box = new Sandbox();
    for (let i = 0; i < 5; i += 1) box.write(`${i}`, "x");
    writeFileSync(box.store, "a file where the store should be");
    const ran = box.run(["run", "--", "touch", "never"]);
    expect([ran.code, ran.stdout, existsSync(join(box.project, "never"))]).toEqual([125, "", false]);
    expect(ran.stderr).toMatch(/^chronicle: /);
  });

  it("ignored files in a folder that a run made stay, and do not keep undo from the other changes", async () => {
    await using project = new Project();
    project.write(".gitignore", "__pycache__/\n");
    project.write("main.py", "import pkg\n");
    const workspace = await project.init();
    await workspace.run({
      command: [
        "sh",
        "-c",
        "mkdir -p pkg/__pycache__; echo 1 > pkg/a.py; echo 2 > pkg/__pycache__/a.pyc; echo >> main.py",
      ],
    });
    const undone = await workspace.undo();
    expect(undone.skipped).toMatchObject([{ path: "pkg", reason: "not-empty" }]);
    expect(project.read("main.py")).toBe("import pkg\n");
    expect(Object.keys(project.tree())).toEqual([
      ".gitignore",
      "main.py",
      "pkg",
      "pkg/__pycache__",
      "pkg/__pycache__/a.pyc",
    ]);
    await workspace.redo();
    expect(project.read("pkg/a.py")).toBe("1\n");
    expect(await workspace.verify()).toMatchObject({ ok: true });
  });

  it("changes are captured during a run, as iterations of their own", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    const step = (n: number): string => `echo step ${n} > a; ${untilRecorded(project.home, "a", n)}`;
    const script = [1, 2, 3].map(step).join("; ");
    const run = await workspace.run({ command: ["sh", "-c", script] });
    expect(run.session.merkle_roots.length).toBeGreaterThanOrEqual(2);
    const own = (await workspace.history("a")).filter((one) => one.session === run.session.session_id);
    expect(own.map(({ iteration }) => iteration)).toEqual([2, 3, 4]);
    await workspace.undo();
    expect(project.read("a")).toBe("0");
  });

  it("--otr leaves a note of the paths that it changed, and nothing else in the store", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    const state = (): string =>
      // The stat cache is left out, because it is derived: the end of a scan writes it anew.
      execFileSync("sh", ["-c", "find store config -type f ! -name stat.cache -exec sha256sum {} + | sort"], {
        cwd: box.folder,
        encoding: "utf8",
      });
    const before = state();
    const ran = box.run(["run", "--otr", "--", "sh", "-c", "echo two > a; exit 5"]);
    const after = state().split("\n");
    const note = after.filter((line) => line.endsWith("/off-record.json"));
    expect([ran.code, ran.stderr, note.length]).toEqual([5, "", 1]);
    expect(after.filter((line) => !note.includes(line)).join("\n")).toBe(before);
    expect(box.run(["run", "--otr", "--", "true"]).code).toBe(0);
    expect(state().split("\n")).toEqual(after);
    expect((await box.json(["sessions"])).value).toEqual([]);
  });
});

describe("a session whose process died", () => {
  it("is reported, recorded as abandoned by the next run, and can be undone", async () => {
    using box = new Sandbox();
    box.write("a", "one");
    await box.must(["init"]);
    // The command runs until the test writes `let-go`, so it is still running during the checks.
    const held = "while ! test -e let-go; do sleep 0.05; done";
    const child = box.start(["run", "--", "sh", "-c", `echo two > a; echo x > started; ${held}`]);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    while (!existsSync(join(box.project, "started"))) await sleep(20);
    while (!JSON.stringify((await box.json(["history", "a"])).value).includes('"iteration":2')) await sleep(50);
    const running = (await box.json(["sessions"])).value;
    expect(running).toMatchObject([{ state: "running", ended: null, to_seq: null }]);
    // The changes so far are counted. Fields that only an ended session has are left out.
    expect(box.run(["sessions"]).stdout).toMatch(/running {2}[1-9]\d* changes? /);
    const shown = box.run(["show"]).stdout;
    expect(shown).toMatch(/^state {5}running$/m);
    expect(shown).not.toMatch(/^(ended|root) /m);
    child.kill("SIGKILL");
    await gone;
    box.write("let-go", "");
    expect((await box.json(["status"])).value).toMatchObject({
      notes: [expect.stringContaining("ended without reporting its end")],
    });
    expect(box.run(["run", "--", "true"]).code).toBe(0);
    expect((await box.json(["sessions"])).value).toMatchObject([
      { state: "ended" },
      { state: "abandoned", exit_code: null, changed: expect.any(Number) },
    ]);
    await box.must(["undo"]);
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one");
  });
});

describe("errors", () => {
  it("have a code, a hint and an exit code", async () => {
    await using project = new Project();
    project.write("a", "one");
    const workspace = await project.init();
    await workspace.run({ command: ["sh", "-c", "echo two > a"] });
    project.write("a", "edited since");
    mkdirSync(project.at("full"));
    project.write("full/x", "x");
    const failing: readonly [() => Promise<unknown>, string, number][] = [
      [() => workspace.manifest("99"), "NOT_FOUND", 3],
      [() => workspace.manifest("no such"), "USAGE", 2],
      [() => workspace.undo({ exact: true }), "REFUSED", 6],
      [() => workspace.restore("0", { to: project.at("full") }), "REFUSED", 6],
      [() => workspace.session("ffff"), "NOT_FOUND", 3],
      [() => workspace.verify({ expect: "nonsense" }), "USAGE", 2],
    ];
    for (const [ask, code, exit] of failing) {
      const error = await ask().then(
        () => expect.fail(`${code} was expected`),
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ChronicleError);
      expect(error).toMatchObject({ code, hint: expect.stringMatching(/\w/) });
      expect(exitCodeOf((error as ChronicleError).code)).toBe(exit);
    }
    expect(project.read("a")).toBe("edited since");
    // With `force`, the edit is undone, too. It is captured first, so undo brings it back.
    const forced = await workspace.undo({ force: true });
    expect(project.read("a")).toBe("one");
    await workspace.undo({ operation: forced.undo_id ?? "" });
    expect(project.read("a")).toBe("edited since");
  });
});
