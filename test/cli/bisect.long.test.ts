import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { ServedStore } from "../helpers/served-store.ts";
import { ended, Sandbox } from "./sandbox.ts";

/** A history of nine writes: after the write number n, `value` holds n. */
async function nineWrites(box: Sandbox): Promise<void> {
  box.write("value", "0\n");
  await box.must(["init"]);
  for (let n = 1; n <= 9; n += 1) await box.must(["put", "value"], { input: `${n}\n` });
}

/** The temporary files of the box, so that a test sees what is left of the copies. */
function withTemporaryFolder(box: Sandbox): { readonly TMPDIR: string } {
  const TMPDIR = join(box.folder, "tmp");
  mkdirSync(TMPDIR);
  return { TMPDIR };
}

/** Every path of the project with its times, so that any write is seen. */
function stateOf(box: Sandbox): string[] {
  const all = readdirSync(box.project, { recursive: true, encoding: "utf8" }).sort();
  return all.map((path) => `${path} ${lstatSync(join(box.project, path)).ctimeMs}`);
}

interface Answer {
  readonly found: {
    readonly seq: number;
    readonly summary: string;
    readonly undo: string;
    readonly actor: string;
  } | null;
  readonly first_candidate: number | null;
  readonly why: string | null;
  readonly tested: readonly {
    readonly seq: number;
    readonly verdict: string;
    readonly exit_codes: readonly number[];
  }[];
  readonly linked: readonly string[];
  readonly left_out: readonly string[];
}

function answerOf(text: string): Answer {
  return JSON.parse(text) as Answer;
}

it("finds the change after which the test fails, and leaves the folder alone", async () => {
  using box = new Sandbox();
  const env = withTemporaryFolder(box);
  await nineWrites(box);
  const before = stateOf(box);
  for (const bad of [1, 4, 9]) {
    const { code, value } = await box.json(["bisect", "-q", "--", "sh", "-c", `test $(cat value) -lt ${bad}`], { env });
    const { found, first_candidate: first, tested } = value as Answer;
    expect({ code, summary: found?.summary, first }).toEqual({ code: 0, summary: "write", first: found?.seq });
    const content = await box.must(["cat", `value@${bad + 1}`]);
    expect(content.stdout).toBe(`${bad}\n`);
    // The two ends, and at most as many points as a binary search among nine takes; each twice.
    expect(tested.length).toBeLessThanOrEqual(2 + 4);
    expect(tested.every(({ exit_codes: codes }) => codes.length === 2)).toBe(true);
  }
  expect(stateOf(box)).toEqual(before);
  expect(readdirSync(env.TMPDIR)).toEqual([]);
});

it("names the undo of the run, and keeps the output of the test off stdout", () => {
  using box = new Sandbox();
  box.write("a", "");
  box.run(["init"]);
  for (const name of ["one", "two", "three"]) box.run(["run", "--", "touch", name]);
  const { stdout, stderr } = box.run(["bisect", "--", "sh", "-c", "echo noise; test ! -e two"]);
  expect(stdout).toContain("human: touch two\n  + two");
  expect(stdout).not.toContain("noise");
  expect(stderr).toContain("noise");
  const [, undo = ""] = /take it back: chronicle (.*)/.exec(stdout) ?? [];
  expect(box.run(undo.split(" ")).code).toBe(0);
  expect(readdirSync(box.project).sort()).toEqual(["a", "one", "three"]);
});

it("finds edits that no work was recorded for, and the action of an agent", () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  box.run(["init"]);
  box.write("a.txt", "two\n");
  box.run(["snapshot"]);
  const call = { session_id: "s1", prompt_id: "t1", cwd: box.project, tool_name: "Write", tool_use_id: "c1" };
  const input = { tool_input: { file_path: join(box.project, "a.txt"), content: "three\n" } };
  box.run(["hook", "claude"], { input: JSON.stringify({ hook_event_name: "PreToolUse", ...call, ...input }) });
  box.write("a.txt", "three\n");
  const end = { hook_event_name: "PostToolUse", ...call, ...input, tool_response: { success: true } };
  box.run(["hook", "claude"], { input: JSON.stringify(end) });
  const edit = answerOf(box.run(["bisect", "--json", "--", "grep", "-q", "one", "a.txt"]).stdout);
  expect(edit.found).toMatchObject({ actor: "human", summary: "edits that nobody's work was recorded for" });
  const agents = answerOf(box.run(["bisect", "--json", "--", "sh", "-c", "! grep -q three a.txt"]).stdout);
  expect(agents.found).toMatchObject({ actor: "claude", undo: expect.stringMatching(/^chronicle undo --action /) });
});

it("passes over states that cannot be tested, and names the first change that may be the bad one", async () => {
  using box = new Sandbox();
  await nineWrites(box);
  const test = "n=$(cat value); case $n in 3|4|5) exit 125;; esac; test $n -lt 6";
  const {
    found,
    first_candidate: first,
    tested,
  } = answerOf(box.run(["bisect", "--json", "--", "sh", "-c", test]).stdout);
  expect(found?.summary).toBe("write");
  expect(tested.filter(({ verdict }) => verdict === "unknown")).toHaveLength(3);
  expect(first).toBeLessThan(found?.seq ?? 0);
  const text = await box.call(["bisect", "-q", "--", "sh", "-c", test]);
  expect(text.stdout).toContain(`the first bad change is between seq:${first} and seq:${found?.seq}`);
});

it("says that there is nothing to find, that a test is flaky, and that a test does not start", async () => {
  using box = new Sandbox();
  await nineWrites(box);
  const flakyTest = `n=$(cat ${box.folder}/n 2>/dev/null || echo 0); echo $((n + 1)) > ${box.folder}/n; exit $((n % 2))`;
  const ways: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["--", "true"], 1, /nothing to find: the test passes in the last state/],
    [["--", "false"], 1, /nothing to find: the test fails in the first state \(seq:\d+\) already/],
    [
      ["--", "sh", "-c", flakyTest],
      6,
      /the test is flaky: in two copies of the state at seq:\d+, it ended with 0 and 1/,
    ],
    [["--", "no-such-test"], 6, /the test cannot tell in the state at seq:\d+: it ended with 127/],
    [["--to", "baseline", "--", "false"], 3, /no change of files is recorded between/],
    [["--from", "seq:6", "--to", "baseline", "--", "false"], 2, /--to is before --from/],
    [["--link", "nowhere", "--", "false"], 2, /--link nowhere does not exist/],
    [[], 2, /missing required argument/],
  ];
  for (const [words, code, text] of ways) {
    const ran = await box.call(["bisect", "-q", ...words]);
    expect({ words, code: ran.code }).toEqual({ words, code });
    expect(ran.stdout + ran.stderr).toMatch(text);
  }
});

it("links dependencies that are not recorded, runs in the same subfolder, and notes edits that are not recorded", () => {
  using box = new Sandbox();
  box.sh(
    "git init -q; mkdir -p node_modules/dep src; echo node_modules > .gitignore; echo 1 > node_modules/dep/one; echo a > src/a",
  );
  box.write("data/large.bin", "x");
  box.run(["init", "--exclude", "data"]);
  box.run(["run", "--", "sh", "-c", "echo b > src/a"]);
  box.write("src/a", "c\n");
  const test = ["sh", "-c", "test -e ../node_modules/dep/one && test -e ../data/large.bin && grep -q a a"];
  const { stdout, stderr } = box.run(["bisect", "--json", "--link", "../data", "--", ...test], { cwd: "project/src" });
  expect(answerOf(stdout)).toMatchObject({
    linked: ["data", "node_modules"],
    found: { summary: "sh -c 'echo b > src/a'" },
  });
  expect(stderr).toContain("1 change in the folder are not recorded");
  const without = box.run(["bisect", "-q", "--no-dependencies", "--", ...test], { cwd: "project/src" });
  expect(without.stdout).toContain("fails in the first state");
});

it("gives a command of an agent no secrets, and says what its copies lack", () => {
  using box = new Sandbox();
  box.write(".env", "TOKEN=x\n");
  box.write("a", "1\n");
  box.run(["init"]);
  box.run(["run", "--", "sh", "-c", "echo 2 > a"]);
  const words = ["bisect", "--json", "--", "sh", "-c", "test ! -e .env && grep -q 1 a"];
  const agents = answerOf(box.run(words, { env: { CHRONICLE_ROLE: "agent" } }).stdout);
  expect(agents).toMatchObject({ left_out: [".env"], found: { summary: "sh -c 'echo 2 > a'" } });
  expect(answerOf(box.run(words).stdout)).toMatchObject({ found: null, left_out: [] });
});

it("works on a history of a server, which has no folder here", async () => {
  using box = new Sandbox();
  await using served = await ServedStore.start();
  const env = { CHRONICLE_REMOTE: served.url, CHRONICLE_TOKEN: served.token };
  await box.must(["workspaces", "create", "w"], { env });
  for (const input of ["one", "two", "three"]) await box.must(["-w", "w", "put", "a.txt"], { env, input });
  const words = ["-w", "w", "bisect", "-q", "--", "sh", "-c", "! grep -q two a.txt"];
  const { code, stdout, stderr } = await box.call(words, { env });
  expect(stderr).toContain("passes");
  expect(stdout).toContain("the test passes in the last state");
  expect(code).toBe(1);
  const found = await box.must([...words.slice(0, -1), "! grep -q three a.txt"], { env });
  expect(found.stdout).toContain("~ a.txt");
  expect(found.stdout).toMatch(/take it back: chronicle -w w undo [0-9a-f]{8}/);
});

it("removes its copies if it is interrupted", async () => {
  using box = new Sandbox();
  const env = withTemporaryFolder(box);
  await nineWrites(box);
  const [node = "", ...first] = box.command;
  const words = [...first, "bisect", "--", "sh", "-c", "echo begun; exec sleep 60"];
  const child = spawn(node, words, { cwd: box.project, env: box.env(env), stdio: ["ignore", "ignore", "pipe"] });
  await once(child.stderr, "data");
  await setTimeout(100);
  child.kill("SIGINT");
  await ended(child);
  expect(child.signalCode).toBe("SIGINT");
  expect(readdirSync(env.TMPDIR)).toEqual([]);
});

it("runs the test in the current folder also if that is another folder of the workspace", async () => {
  using box = new Sandbox();
  const other = join(box.folder, "other");
  mkdirSync(join(other, "deep"), { recursive: true });
  writeFileSync(join(other, "deep/value"), "1\n");
  await box.must(["init", ".", other]);
  for (const n of [2, 3]) {
    writeFileSync(join(other, "deep/value"), `${n}\n`);
    await box.must(["snapshot"]);
  }
  const test = ["bisect", "-q", "--", "sh", "-c", "test $(cat value) -lt 3"];
  const { code, value } = await box.json(test, { cwd: "other/deep" });
  expect([code, (value as Answer).tested.map(({ verdict }) => verdict)]).toEqual([0, ["bad", "good", "good"]]);
});
