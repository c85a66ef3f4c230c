import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** Calls the hook of Claude Code as the agent does. */
async function hears(box: Sandbox, event: string, more: object): Promise<void> {
  const input = JSON.stringify({ session_id: "s1", cwd: box.project, hook_event_name: event, ...more });
  await box.must(["hook", "claude", "--direct"], { input });
}

interface Turn {
  readonly id: string;
  readonly prompt: string;
  readonly path: string;
  readonly content: string;
}

/** One turn of the agent that writes a file. */
async function turn(box: Sandbox, { id, prompt, path, content }: Turn): Promise<void> {
  await hears(box, "UserPromptSubmit", { prompt_id: id, prompt });
  const call = { prompt_id: id, tool_name: "Write", tool_input: { file_path: join(box.project, path) } };
  await hears(box, "PreToolUse", { ...call, tool_use_id: `${id}-${path}` });
  box.write(path, content);
  await hears(box, "PostToolUse", { ...call, tool_use_id: `${id}-${path}` });
}

async function askedTwice(): Promise<Sandbox> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await hears(box, "SessionStart", {});
  await turn(box, { id: "0f3c-first", prompt: "refactor the parser\nplease", path: "a.txt", content: "two\n" });
  await turn(box, { id: "1a9b-second", prompt: "add the tests", path: "t/b.txt", content: "test\n" });
  box.write("mine.txt", "by a person\n");
  await hears(box, "SessionEnd", {});
  return box;
}

const read = (box: Sandbox, path: string): string => readFileSync(join(box.project, path), "utf8");

it("turns lists what was asked, and rewind goes to before it; redo brings it back", async () => {
  using box = await askedTwice();
  const listed = (await box.must(["turns"])).stdout;
  expect(listed).toMatch(
    /^1 {2}.* claude {2}1a9b-sec {2}add the tests {8}t\/b\.txt\n2 {2}.* claude {2}0f3c-fir {2}refactor the parser {2}a\.txt\n/,
  );
  const done = await box.must(["rewind", "2"]);
  expect(done.stderr).toContain("to before: refactor the parser\n");
  expect(done.stdout).toContain("chronicle redo brings it back");
  expect(done.stdout).toContain("in Claude Code, type /rewind");
  expect([read(box, "a.txt"), read(box, "mine.txt")]).toEqual(["one\n", "by a person\n"]);
  expect((await box.must(["turns"])).stdout).toMatch(/^ +\S.*t\/b\.txt {2}\(undone\)\n +\S.*a\.txt {2}\(undone\)\n/);
  expect((await box.call(["rewind", "last"])).code).toBe(3);
  await box.must(["redo"]);
  expect([read(box, "a.txt"), read(box, "t/b.txt")]).toEqual(["two\n", "test\n"]);
});

it("last again goes one turn further back; an id, its beginning and --everything name a turn, too", async () => {
  using box = await askedTwice();
  expect((await box.must(["rewind", "last", "--dry-run"])).stdout).not.toContain("the conversation");
  await box.must(["rewind", "last"]);
  expect(read(box, "a.txt")).toBe("two\n");
  await box.must(["rewind", "last"]);
  expect(read(box, "a.txt")).toBe("one\n");
  await box.must(["redo"]);
  await box.must(["redo"]);
  await box.must(["rewind", "0f3c", "--dry-run"]);
  const { value } = await box.json(["rewind", "s1:1a9b-second", "--everything"]);
  expect((value as { changes: { path: string }[] }).changes.map(({ path }) => path)).toEqual([
    ...["mine.txt", "t", "t/b.txt"],
  ]);
  await box.must(["undo"]);
  expect(read(box, "mine.txt")).toBe("by a person\n");
});

it("without a turn and without a terminal, rewind says how to name one", async () => {
  using box = await askedTwice();
  const { code, stderr } = await box.call(["rewind"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("`chronicle turns` lists the turns")]);
  expect((await box.call(["rewind", "9"])).code).toBe(3);
  expect((await box.call(["rewind", "nothing"])).code).toBe(3);
});

it("an agent sees the turns without the prompts", async () => {
  using box = await askedTwice();
  const env = { CHRONICLE_ROLE: "agent" };
  const { stdout } = await box.must(["turns"], { env });
  expect(stdout).toContain("(prompt shown to persons only)");
  expect(stdout).not.toContain("refactor");
});

it("list shows no prompt to a command that an agent has started, without a variable", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await hears(box, "SessionStart", {});
  await turn(box, { id: "0f3c-first", prompt: "refactor the parser", path: "a.txt", content: "two\n" });
  // The session is still open, and its process is an ancestor of this test.
  expect((await box.must(["turns"])).stdout).toContain("(prompt shown to persons only)");
  for (const args of [[], ["list"], ["list", "--json"], ["list", "--actions"], ["list", "--grep", "refactor"]]) {
    const { stdout } = await box.must(args);
    expect(stdout).not.toContain("refactor the");
  }
  expect((await box.must(["list"])).stdout).toContain("turn: ");
  await hears(box, "SessionEnd", {});
  for (const args of [[], ["list"], ["list", "--json"], ["list", "--actions"], ["list", "--grep", "refactor"]])
    expect((await box.must(args)).stdout).toContain("refactor the parser");
});

it("recordPrompts keeps nothing of what is asked", async () => {
  using box = await askedTwice();
  await box.must(["config", "record_prompts", "false"]);
  await turn(box, { id: "2c00-third", prompt: "a third thing", path: "c.txt", content: "c\n" });
  await hears(box, "SessionEnd", {});
  const { stdout } = await box.must(["turns"]);
  expect(stdout).toContain("(prompt not recorded)");
  expect(stdout).toContain("(prompt no longer kept)");
  expect(stdout).not.toMatch(/refactor|third thing/);
});

it("--conversation is refused, before anything changes, where the agent's program cannot copy a conversation", async () => {
  using box = await askedTwice();
  const { code, stderr } = await box.call(["rewind", "last", "--conversation"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("claude cannot be told to copy a conversation")]);
  expect(stderr).toContain("in Claude Code, type /rewind");
  const agents = await box.call(["rewind", "last", "--conversation"], { env: { CHRONICLE_ROLE: "agent" } });
  expect(agents.code).toBe(6);
  expect(read(box, "t/b.txt")).toBe("test\n");
});

describe("--conversation with Codex", () => {
  /** A Codex that answers as its app server does, with the turns `turns`. */
  const codex = (turns: readonly string[]): string =>
    [
      `#!${process.execPath}`,
      `const turns = ${JSON.stringify(turns)};`,
      'require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {',
      "  const { id, method, params } = JSON.parse(line);",
      "  const say = (message) => console.log(JSON.stringify(message));",
      '  if (method === "initialize") say({ method: "note" }), say({ id, result: {} });',
      '  if (method === "thread/turns/list") {',
      "    const [first, ...others] = turns.slice(Number(params.cursor ?? 0));",
      "    const next = others.length === 0 ? null : String(turns.length - others.length);",
      "    say({ id, result: { data: [{ id: first }], nextCursor: next } });",
      "  }",
      '  if (method === "thread/fork" && params.lastTurnId === "t0") say({ id, error: { message: "no room" } });',
      '  else if (method === "thread/fork") say({ id, result: { thread: { id: `copy-to-${params.lastTurnId}` } } });',
      "});",
    ].join("\n");

  async function inCodex(turns: readonly string[] | undefined): Promise<Sandbox> {
    const box = new Sandbox();
    box.write("a.txt", "one\n");
    const told = { session_id: "s1", turn_id: "t2", cwd: box.project, model: "m" };
    const hear = (event: string, more: object = {}) =>
      box.must(["hook", "codex", "--direct"], { input: JSON.stringify({ ...told, hook_event_name: event, ...more }) });
    await hear("UserPromptSubmit", { prompt: "make it two" });
    const call = { tool_name: "Bash", tool_use_id: "c1", tool_input: { command: "echo two > a.txt" } };
    await hear("PreToolUse", call);
    box.write("a.txt", "two\n");
    await hear("PostToolUse", call);
    await hear("Stop");
    await hear("SessionEnd");
    if (turns !== undefined) box.write("../bin/codex", codex(turns));
    return box;
  }

  const pathOf = (box: Sandbox) => ({ PATH: `${join(box.folder, "bin")}:/usr/bin:/bin` });
  const run = (box: Sandbox) => {
    box.sh("mkdir -p ../bin; chmod -f +x ../bin/codex || true");
    return box.call(["rewind", "last", "--conversation"], { env: pathOf(box) });
  };

  it("the copy ends with the turn before, also on another page; the first prompt begins a new one", async () => {
    using box = await inCodex(["t3", "t2", "t1"]);
    const { code, stdout } = await run(box);
    expect([code, stdout]).toEqual([0, expect.stringContaining("ends before this prompt: codex resume copy-to-t1\n")]);
    expect(read(box, "a.txt")).toBe("one\n");
    // Also after the files were taken back.
    const again = await box.call(["rewind", "t2", "--conversation"], { env: pathOf(box) });
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("codex resume copy-to-t1\n")]);
    using first = await inCodex(["t3", "t2"]);
    expect((await run(first)).stdout).toContain("ends before this prompt: codex\n");
  });

  it.each([
    [undefined, "the program was not found in $PATH"],
    [["t3", "t1"], "the prompt is no longer in it"],
    [["t2", "t0"], "no room"],
  ])("no file changes if there is no copy (%j)", async (turns, why) => {
    using box = await inCodex(turns);
    const { code, stderr } = await run(box);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`codex did not copy the conversation: ${why}`)]);
    expect(read(box, "a.txt")).toBe("two\n");
  });
});
