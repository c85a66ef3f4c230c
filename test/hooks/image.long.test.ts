import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { hookScript } from "../../src/cli/agents/hook-script.ts";
import { IMAGE_FLAGS } from "../../src/daemon/hook-image.ts";
import { chronicleBin } from "../helpers/cli-package.ts";

/** `agents install` makes the image of the hook. The installed script uses the image, but only if it fits. */

const base = mkdtempSync(join(tmpdir(), "chronicle-image-"));
const store = join(base, "store");
const cache = join(store, "cache");
const tree = join(base, "tree");
const env = { ...process.env, HOME: base, XDG_CONFIG_HOME: join(base, "config"), NO_COLOR: "1" };
mkdirSync(tree);
afterAll(() => rmSync(base, { recursive: true, force: true }));

function run(argv: readonly string[], { input = "", cwd = tree } = {}) {
  const [program = "", ...args] = argv;
  return spawnSync(program, args, { cwd, env, input, encoding: "utf8" });
}

function chronicle(...args: string[]): string {
  const done = run([process.execPath, chronicleBin(), "--store", store, ...args]);
  expect(done.stderr).toBe("");
  expect(done.status).toBe(0);
  return done.stdout;
}

function entry(): string {
  return join(dirname(dirname(chronicleBin())), "dist", "hook.cjs");
}

function images(): string[] {
  return readdirSync(cache).filter((name) => name.startsWith("hook-"));
}

/** A process with the image, as the installed script starts it. */
function withImage(args: readonly string[], input = "", cwd = tree) {
  const [image = "none"] = images();
  return run([process.execPath, ...IMAGE_FLAGS, "--snapshot-blob", join(cache, image), entry(), ...args], {
    input,
    cwd,
  });
}

function call(event: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ session_id: "s", cwd: tree, prompt_id: "t", hook_event_name: event, ...more });
}

/** Edits a file between the two hooks of a tool call. `answer` runs one of the hooks. */
function edit(id: string, answer: (input: string) => ReturnType<typeof run>): void {
  const file = join(tree, "a.txt");
  const tool = { tool_name: "Write", tool_input: { file_path: file, content: "-" }, tool_use_id: id };
  const before = answer(call("PreToolUse", tool));
  appendFileSync(file, `${id}\n`);
  const after = answer(call("PostToolUse", { ...tool, tool_response: {} }));
  for (const { status, stderr } of [before, after]) expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
}

function recorded(): [string, string, number][] {
  const { actions } = JSON.parse(chronicle("-C", tree, "changes", "--session", "s", "--json")) as {
    actions: { tool_call: string; state: string; changed: number }[];
  };
  return actions.map(({ tool_call, state, changed }) => [tool_call, state, changed]);
}

test("an image answers as the hook's file does, from any folder, but not after the file was replaced", () => {
  chronicle("-C", tree, "init");
  chronicle("agents", "install", "claude");
  expect(images()).toHaveLength(1);
  const script = join(base, "config", "chronicle", "bin", "chronicle-hook");
  expect(readFileSync(script, "utf8")).toContain(`image=$store/cache/${images()[0]}\n`);
  const elsewhere = join(base, "elsewhere");
  mkdirSync(elsewhere);
  edit("image", (input) => withImage(["claude", "--direct", "--store", "../store"], input, elsewhere));
  edit("script", (input) => run([script, "claude", "--direct"], { input }));
  edit("file", (input) => run([process.execPath, entry(), "claude", "--direct", "--store", store], { input }));
  expect(withImage(["claude", "--direct", "--store", store], call("Stop"))).toMatchObject({ status: 0, stderr: "" });
  // The file is replaced by one of the same size, with the time that files of packages get.
  const text = readFileSync(entry());
  rmSync(entry());
  writeFileSync(entry(), text);
  utimesSync(entry(), 499_162_500, 499_162_500);
  expect(withImage(["claude", "--direct", "--store", store], call("PreToolUse")).status).toBe(75);
  edit("stale", (input) => run([script, "claude", "--direct"], { input }));
  // This process calls the hooks, so commands that it starts count as the agent's as long as the session is open.
  const end = { input: call("SessionEnd") };
  expect(run([process.execPath, entry(), "claude", "--direct", "--store", store], end).status).toBe(0);
  chronicle("agents", "install", "claude");
  expect(images()).toHaveLength(1);
  edit("anew", (input) => withImage(["claude", "--direct", "--store", store], input));
  expect(recorded()).toEqual(["image", "script", "file", "stale", "anew"].map((id) => [id, "done", 1]));
  chronicle("-C", tree, "verify");
});

test("many files are read by worker threads of a process with an image, too", () => {
  const many = join(tree, "many");
  mkdirSync(many);
  const tool = { tool_name: "Bash", tool_input: { command: "make" }, tool_use_id: "many" };
  const args = ["claude", "--direct", "--store", store];
  expect(withImage(args, call("PreToolUse", tool))).toMatchObject({ status: 0, stderr: "" });
  for (let n = 0; n < 1_000; n++) writeFileSync(join(many, `${n}`), `${n}\n`.repeat(2_000));
  expect(withImage(args, call("PostToolUse", { ...tool, tool_response: {} }))).toMatchObject({ status: 0, stderr: "" });
  expect(recorded().at(-1)).toEqual(["many", "done", 1_000]);
});

describe("the installed script", () => {
  /** Runs the script with a Node that ends with these codes. Returns what Node ran, and how the script ended. */
  function told(codes: { readonly image: number; readonly file: number }, ...words: string[]) {
    const folder = mkdtempSync(join(base, "script-"));
    const log = join(folder, "log");
    mkdirSync(join(folder, "cache"));
    writeFileSync(join(folder, "cache", "hook.blob"), "an image");
    // An image that does not fit ends before it reads the input.
    const node = executable(
      join(folder, "node"),
      `case $1 in --*) echo image >>${log}; exit ${codes.image};; esac\necho "file $(cat)" >>${log}; exit ${codes.file}`,
    );
    const entry = executable(join(folder, "hook.cjs"), "");
    const places = { home: folder, node, entry, image: "hook.blob", version: "1", configHome: undefined };
    const script = executable(join(folder, "hook"), hookScript(places));
    const { status, stdout } = run([script, "gemini", "--direct", ...words], { input: "{input}" });
    return { status, stdout, ran: readFileSync(log, "utf8").trim().split("\n") };
  }

  function executable(path: string, text: string): string {
    writeFileSync(path, text.startsWith("#!") ? text : `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  test("does not run the file after the image has answered", () => {
    expect(told({ image: 0, file: 1 })).toEqual({ status: 0, stdout: "", ran: ["image"] });
  });

  test.each([14, 75, 126, 127, 134, 139, 255])("runs the file when the image ends with %i", (image) => {
    expect(told({ image, file: 0 })).toEqual({ status: 0, stdout: "", ran: ["image", "file {input}"] });
    expect(told({ image, file: 1 }, "--strict")).toEqual({ status: 2, stdout: "", ran: ["image", "file {input}"] });
  });

  test.each([1, 2])("does not ask twice when the hook itself ends with %i", (image) => {
    const stdout = `{"systemMessage":"Chronicle: this step is not recorded: the hook could not be run (exit code ${image}); see: chronicle doctor"}\n`;
    expect(told({ image, file: 0 })).toEqual({ status: 0, stdout, ran: ["image"] });
    expect(told({ image, file: 0 }, "--strict")).toEqual({ status: 2, stdout: "", ran: ["image"] });
  });
});

test("no image is made in a store that does not exist yet", () => {
  const none = join(base, "none");
  expect(run([process.execPath, chronicleBin(), "--store", none, "agents", "install", "claude"]).status).toBe(0);
  expect(existsSync(none)).toBe(false);
});
