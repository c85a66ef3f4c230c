import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import { ended, Sandbox } from "../cli/sandbox.ts";
import { sharedChronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";

/** `chronicle` as the commands of a run call it. */
function inner(box: Sandbox): string {
  const [node = "", main = ""] = box.command;
  return `'${node}' '${main}'`;
}

function summaryIn(box: Sandbox, file: string): RunShape {
  return JSON.parse(readFileSync(join(box.folder, file), "utf8")) as RunShape;
}

const FAILS = "echo x > f; mkdir d; echo y > d/g; exit 3";

describe("Truth 5: runs within runs", () => {
  it("a run within a run is rolled back when its command fails", async () => {
    using box = new Sandbox();
    box.write("kept", "before\n");
    await box.must(["init"]);
    const script = `echo o > outer; ${inner(box)} run --summary ../inner.json --rollback-on-failure -- sh -c '${FAILS}'; echo $? > code`;
    expect(box.run(["run", "--summary", "../outer.json", "--", "sh", "-c", script]).code).toBe(0);
    expect(readFileSync(join(box.project, "code"), "utf8")).toBe("3\n");
    expect([existsSync(join(box.project, "f")), existsSync(join(box.project, "d"))]).toEqual([false, false]);
    const within = summaryIn(box, "inner.json");
    expect(within).toMatchObject({ rolled_back: true, ambiguous: [], exit_code: 3 });
    expect(within.changes.map((one) => one.path)).toEqual(["d", "d/g", "f"]);
    const outer = summaryIn(box, "outer.json");
    // Changes that were rolled back within the outer run are not among its changes.
    expect(outer.changes.map((one) => one.path)).toEqual(["code", "outer"]);
    expect(outer.ambiguous).toEqual([]);
    await box.must(["undo"]);
    expect(existsSync(join(box.project, "outer"))).toBe(false);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n");
  });

  it("undo of a run undoes what the runs within it did", async () => {
    using box = new Sandbox();
    box.write("kept", "before\n");
    await box.must(["init"]);
    const deep = `${inner(box)} run -- sh -c "echo 3 > three; echo 3 >> kept"`;
    const script = `echo 1 > one; ${inner(box)} run -- sh -c 'echo 2 > two; ${deep}'; echo 1 >> kept`;
    expect(box.run(["run", "--summary", "../outer.json", "--", "sh", "-c", script]).code).toBe(0);
    const outer = summaryIn(box, "outer.json");
    expect(outer.changes.map((one) => one.path)).toEqual(["kept", "one", "three", "two"]);
    const events = (await box.json(["log"])).value as { record_id: string; recursion_depth: number }[];
    const depthOf = (id: string) => events.findLast((one) => one.record_id === id)?.recursion_depth;
    expect([depthOf("file:one"), depthOf("file:two"), depthOf("file:three")]).toEqual([0, 1, 2]);
    await box.must(["undo"]);
    for (const name of ["one", "two", "three"]) expect(existsSync(join(box.project, name))).toBe(false);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n");
    await box.must(["redo"]);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n3\n1\n");
  });

  it("the rollback of a failed outer run also undoes the runs within it, and copes with one that was rolled back", async () => {
    using box = new Sandbox();
    box.write("kept", "before\n");
    await box.must(["init"]);
    const script = `${inner(box)} run -- sh -c 'echo 2 > two; echo 2 >> kept'; ${inner(box)} run --rollback-on-failure -- sh -c '${FAILS}'; echo 1 >> kept; exit 4`;
    expect(box.run(["run", "--rollback-on-failure", "--", "sh", "-c", script]).code).toBe(4);
    expect(existsSync(join(box.project, "two"))).toBe(false);
    expect(existsSync(join(box.project, "f"))).toBe(false);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n");
  });

  it("a run within a run is recognised by its processes if its environment was cleared", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const env = Object.entries(box.env())
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${key}='${value}'`)
      .join(" ");
    const script = `env -i CI=true ${env} ${inner(box)} run --rollback-on-failure -- sh -c 'echo x > f; exit 3'`;
    expect(box.run(["run", "--", "sh", "-c", script]).code).toBe(3);
    expect(existsSync(join(box.project, "f"))).toBe(false);
  });

  it("a run within a run is recognised by its environment if it is no descendant any more", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    // The subshell ends at once, so that the inner run is no descendant of the outer one.
    const run = `${inner(box)} run --rollback-on-failure -- sh -c 'echo x > f; exit 3'; echo $? > ../code`;
    writeFileSync(join(box.folder, "inner.sh"), run);
    const script = "(setsid sh ../inner.sh > /dev/null 2>&1 &); while [ ! -s ../code ]; do sleep 0.05; done";
    expect(box.run(["run", "--", "sh", "-c", script]).code).toBe(0);
    expect(readFileSync(join(box.folder, "code"), "utf8")).toBe("3\n");
    expect(existsSync(join(box.project, "f"))).toBe(false);
  });

  it("one of four parallel inner runs that fails says what it did not roll back; undo of the outer run undoes all", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    // All four are at work before any of them writes, and none ends before all have written.
    const all = (what: string) => `while [ $(ls ../${what}.* 2>/dev/null | wc -l) -lt 4 ]; do sleep 0.02; done`;
    // In a Makefile a dollar sign is written twice; as a replacement text "$$" would be one.
    const work = (n: number) =>
      `: > ../begun.${n}; ${all("begun")}; echo ${n} > f${n}; : > ../done.${n}; ${all("done")}; exit ${n === 2 ? 3 : 0}`;
    const rules = [1, 2, 3, 4].map(
      (n) =>
        `t${n}:\n\t-@${inner(box)} run --summary ../inner${n}.json --rollback-on-failure -- sh -c '${work(n).replaceAll("$", () => "$$")}'; echo $$? > ../code${n}\n`,
    );
    writeFileSync(join(box.folder, "Makefile"), `all: t1 t2 t3 t4\n${rules.join("")}`);
    const ran = box.run(["run", "--summary", "../outer.json", "--", "make", "-s", "-j4", "-f", "../Makefile"]);
    expect(ran.code).toBe(0);
    const outer = summaryIn(box, "outer.json");
    expect(outer.ambiguous).toEqual([]);
    expect(outer.changes.map((one) => one.path)).toEqual(["f1", "f2", "f3", "f4"]);
    const failed = summaryIn(box, "inner2.json");
    expect(failed.exit_code).toBe(3);
    expect(failed.rolled_back).toBe(false);
    expect(failed.not_rolled_back?.paths).toContain("f2");
    expect(readFileSync(join(box.folder, "code2"), "utf8")).toBe("122\n");
    expect(ran.stderr).toContain("NOT rolled back");
    await box.must(["undo"]);
    for (const n of [1, 2, 3, 4]) expect(existsSync(join(box.project, `f${n}`))).toBe(false);
  });

  it("a failed run beside an unrelated one does not undo the other's work, and says what it left", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const wait = (name: string) => `while [ ! -e ../${name} ]; do sleep 0.02; done`;
    const other = box.start(["run", "--", "sh", "-c", `: > ../begun; ${wait("go")}; echo o > theirs; : > ../done`]);
    const otherEnded = new Promise<void>((done) => other.once("exit", () => done()));
    const script = `${wait("begun")}; : > ../go; ${wait("done")}; echo m > mine; exit 3`;
    const ran = box.run(["--json", "run", "--rollback-on-failure", "--", "sh", "-c", script]);
    await otherEnded;
    expect(ran.code).toBe(122);
    const shape = JSON.parse(ran.stderr) as RunShape;
    expect(shape).toMatchObject({ exit_code: 3, rolled_back: false });
    expect(shape.not_rolled_back?.paths).toContain("theirs");
    expect(existsSync(join(box.project, "theirs"))).toBe(true);
  });

  it("a write by a command within a run belongs to the run; an unrelated write does not", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const put = (path: string) => `echo x | ${inner(box)} put ${path} > /dev/null`;
    expect(box.run(["run", "--", "sh", "-c", `${put("mine")}; echo y > plain`]).code).toBe(0);
    await box.must(["undo"]);
    expect([existsSync(join(box.project, "mine")), existsSync(join(box.project, "plain"))]).toEqual([false, false]);
    const wait = "while [ ! -e ../go ]; do sleep 0.02; done";
    const other = box.start(["run", "--rollback-on-failure", "--", "sh", "-c", `: > ../begun; ${wait}; exit 3`]);
    const otherEnded = ended(other);
    box.sh("while [ ! -e ../begun ]; do sleep 0.02; done");
    await box.must(["put", "theirs"], { input: "x" });
    box.write("../go", "");
    await otherEnded;
    expect(existsSync(join(box.project, "theirs"))).toBe(true);
  });

  it("a run within an agent's tool call is rolled back if it fails, and belongs to the call otherwise", async () => {
    using box = new Sandbox();
    box.write("kept", "before\n");
    await box.must(["init"]);
    agentCalls(box, [
      {
        id: "c1",
        command: `echo 1 > one; ${inner(box)} run --summary ../r1.json -- sh -c 'echo 2 > two; echo 2 >> kept'`,
      },
      {
        id: "c2",
        command: `echo 3 > three; ${inner(box)} run --summary ../r2.json --rollback-on-failure -- sh -c '${FAILS}'`,
      },
    ]);
    expect(summaryIn(box, "r2.json")).toMatchObject({ rolled_back: true, not_rolled_back: null, ambiguous: [] });
    expect(existsSync(join(box.project, "f"))).toBe(false);
    const { value } = await box.json(["actions", "c1"]);
    expect(value).toMatchObject({ diff: { changes: [{ path: "kept" }, { path: "one" }, { path: "two" }] } });
    const ofRun = (await box.json(["changes", "--session", summaryIn(box, "r1.json").session.session_id])).value;
    expect(ofRun).toMatchObject({ changes: [{ path: "kept" }, { path: "two" }], ambiguous: [] });
    await box.must(["undo", "--action", "c1"]);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n");
    expect([existsSync(join(box.project, "two")), existsSync(join(box.project, "three"))]).toEqual([false, true]);
    // The call is the operation, not the run within it.
    await box.must(["redo"]);
    await box.must(["undo"]);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n");
  });

  it("the calls of an agent that works within a run, and the runs in these calls, belong to the run", async () => {
    using box = new Sandbox();
    box.write("kept", "before\n");
    await box.must(["init"]);
    const script = agentScript(box, [
      { id: "c1", command: `echo 1 > one; ${inner(box)} run --rollback-on-failure -- sh -c '${FAILS}'` },
      { id: "c2", command: `${inner(box)} run -- sh -c 'echo 2 >> kept'` },
    ]);
    expect(box.run(["run", "--summary", "../outer.json", "--", process.execPath, script]).code).toBe(0);
    const outer = summaryIn(box, "outer.json");
    expect(outer.changes.map((one) => one.path)).toEqual(["kept", "one"]);
    expect(outer.ambiguous).toEqual([]);
    await box.must(["undo"]);
    expect([existsSync(join(box.project, "one")), existsSync(join(box.project, "f"))]).toEqual([false, false]);
    expect(readFileSync(join(box.project, "kept"), "utf8")).toBe("before\n");
  });

  it("runs within the library's action(…) belong to it, whether the library or another process begins them", async () => {
    await using project = new Project({ config: "config/chronicle" });
    project.write("kept", "before\n");
    const workspace = await project.init();
    const run = (command: readonly string[]) => workspace.run({ command, rollbackOnFailure: true });
    const action = await workspace.action(
      { type: "run_command", payload: { command: "work" }, actor: "me" },
      async (begun) => {
        project.write("one", "1");
        const byItself = await run(["sh", "-c", "echo x > f; exit 3"]);
        expect(byItself).toMatchObject({ rolled_back: true, not_rolled_back: null, ambiguous: [] });
        expect((await run(["sh", "-c", "echo 2 > two"])).changes).toMatchObject([{ path: "two" }]);
        const other = await chronicleIn(project, [
          "run",
          "--rollback-on-failure",
          "--",
          "sh",
          "-c",
          "echo x > f; exit 3",
        ]);
        expect(other).toBe(3);
        expect(await chronicleIn(project, ["run", "--", "sh", "-c", "echo 3 >> kept"])).toBe(0);
        return begun;
      },
    );
    expect(existsSync(project.at("f"))).toBe(false);
    const seen = await workspace.diffAction(action?.id ?? "");
    expect(seen.changes.map((one) => one.path)).toEqual(["kept", "one", "two"]);
    await workspace.undo();
    expect(Object.keys(project.tree())).toEqual(["kept"]);
    expect(project.read("kept")).toBe("before\n");
  });
});

interface Call {
  readonly id: string;
  readonly command: string;
}

/**
 * Writes a program that acts as an agent with Chronicle's hooks: it runs each command between the two hooks of its
 * call. Returns its path.
 */
function agentScript(box: Sandbox, calls: readonly Call[]): string {
  const file = join(box.folder, "agent.js");
  writeFileSync(
    file,
    `const { spawnSync } = require("node:child_process");
    const [node, main, calls, cwd] = ${JSON.stringify([...box.command, calls, box.project])};
    const hook = (event, more) => {
      const call = { session_id: "s1", prompt_id: "t1", cwd, hook_event_name: event, ...more };
      const { status, stderr } = spawnSync(node, [main, "hook", "claude", "--direct"], { cwd, input: JSON.stringify(call) });
      if (status !== 0 || stderr.length > 0) throw new Error("the hook: " + stderr);
    };
    for (const { id, command } of calls) {
      const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: id };
      hook("PreToolUse", call);
      spawnSync("sh", ["-c", command], { cwd, stdio: "inherit" });
      hook("PostToolUse", { ...call, tool_response: {} });
    }`,
  );
  return file;
}

function agentCalls(box: Sandbox, calls: readonly Call[]): void {
  const file = agentScript(box, calls);
  const { status, stderr } = spawnSync(process.execPath, [file], {
    cwd: box.project,
    env: box.env(),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
}

/** Runs the command line as another process on the project's store. Resolves to its exit code. */
function chronicleIn(project: Project, args: readonly string[]): Promise<number | null> {
  const env = { ...process.env, CHRONICLE_HOME: project.home, XDG_CONFIG_HOME: dirname(project.configFolder) };
  return ended(spawn(process.execPath, [sharedChronicleBin(), ...args], { cwd: project.folder, env, stdio: "ignore" }));
}
