import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
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
