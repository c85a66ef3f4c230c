import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { chronicleBin } from "../helpers/cli-package.ts";

/** The hook as it works without the long-lived process: one process for each call. */

const base = mkdtempSync(join(tmpdir(), "chronicle-direct-"));
const tree = join(base, "tree");
const store = join(base, "store");
mkdirSync(tree);
afterAll(() => rmSync(base, { recursive: true, force: true }));

function run(argv: readonly string[], input = ""): string {
  const env = { ...process.env, HOME: base, XDG_CONFIG_HOME: join(base, "config"), NO_COLOR: "1" };
  const done = spawnSync(process.execPath, argv, { cwd: tree, env, input, encoding: "utf8" });
  expect(done.stderr).toBe("");
  expect(done.status).toBe(0);
  return done.stdout;
}

function hook(event: string, more: Readonly<Record<string, unknown>> = {}): void {
  const entry = join(dirname(dirname(chronicleBin())), "dist", "hook.cjs");
  const call = { session_id: "s", cwd: tree, prompt_id: "t", hook_event_name: event, ...more };
  run([entry, "claude", "--direct", "--store", store], JSON.stringify(call));
}

function edit(id: string): void {
  const file = join(tree, "a.txt");
  const call = { tool_name: "Write", tool_input: { file_path: file, content: "-" }, tool_use_id: id };
  hook("PreToolUse", call);
  appendFileSync(file, `${id}\n`);
  hook("PostToolUse", { ...call, tool_response: {} });
}

function openFiles(): string[] {
  const workspaces = join(store, "workspaces");
  return readdirSync(workspaces).flatMap((id) =>
    readdirSync(join(workspaces, id)).filter((name) => name.endsWith("-wal")),
  );
}

/** The seq of the signed head: its second line. */
function headSeq(): number {
  const heads = join(base, "config", "chronicle", "heads");
  const [id = ""] = readdirSync(heads);
  return Number(readFileSync(join(heads, id), "utf8").split("\n")[1]);
}

test("tool calls leave the databases' WAL files to the next process; the end of the turn keeps none, but a head", () => {
  hook("SessionStart", { source: "startup" });
  hook("UserPromptSubmit", { prompt: "go" });
  expect(openFiles()).toEqual([]);
  const began = headSeq();
  edit("c1");
  edit("c2");
  expect(openFiles()).toEqual(["index.db-wal"]);
  expect(existsSync(join(store, "blobs", "index.db-wal"))).toBe(true);
  hook("Stop");
  expect(openFiles()).toEqual([]);
  // Six events: each of the two actions begins, changes the file, and ends (the first one makes the file).
  expect(headSeq()).toBe(began + 6);
  const cli = [chronicleBin(), "--store", store, "-C", tree];
  const { actions } = JSON.parse(run([...cli, "changes", "--session", "s", "--json"])) as {
    actions: { tool_call: string; changed: number }[];
  };
  expect(actions.map(({ tool_call, changed }) => [tool_call, changed])).toEqual([
    ["c1", 1],
    ["c2", 1],
  ]);
  run([...cli, "verify"]);
});

test("a denied tool stays denied if the fast hook cannot be installed, and stderr has that failure", () => {
  writeFileSync(join(base, "file"), "");
  const env = { ...process.env, HOME: base, XDG_CONFIG_HOME: join(base, "file"), NO_COLOR: "1" };
  const call = {
    ...{ session_id: "s", cwd: tree, hook_event_name: "PreToolUse", tool_use_id: "t" },
    ...{ tool_name: "Bash", tool_input: { command: "chronicle forget x -y" } },
  };
  const words = [chronicleBin(), "hook", "claude", "--store", join(base, "denied")];
  const done = spawnSync(process.execPath, words, { cwd: tree, env, input: JSON.stringify(call), encoding: "utf8" });
  expect(done.stdout).toContain('"permissionDecision":"deny"');
  expect(done.stderr).toContain("the fast hook could not be installed");
  expect(done.status).toBe(0);
});

test("a hook that can give no answer stops the tool if it is strict, and lets it run if not", () => {
  for (const [more, code] of [
    [[], 1],
    [["--strict"], 2],
  ] as const) {
    const words = [chronicleBin(), "hook", "nobody", ...more];
    const done = spawnSync(process.execPath, words, { cwd: tree, input: "{}", encoding: "utf8" });
    expect([done.status, done.stderr]).toEqual([code, expect.stringContaining('there is no agent "nobody"')]);
  }
});
