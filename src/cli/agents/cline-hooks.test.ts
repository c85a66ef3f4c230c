import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clineHookFiles } from "./cline-hooks.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-cline-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const INPUT = JSON.stringify({ hookName: "tool_call", tool_call: { id: "c1" } });

/** Runs a hook file as Cline does. `hook`: the command line before a tool. `limit`: its time limit, in seconds. */
function run(
  hook: string,
  { cwd = folder, event = "PreToolUse", limit = "100" } = {},
): { code: number | null; stdout: string } {
  const file = clineHookFiles("hooks", 0).find(({ path }) => path === `hooks/${event}.bash`);
  const text = String(file?.install(undefined, { hook: "exit 1", hookBefore: hook, mcp: [] }));
  const path = join(folder, "hook");
  writeFileSync(path, text.replace("sleep 100 ", `sleep ${limit} `));
  const ran = spawnSync("sh", [path], {
    cwd,
    env: { PATH: "/usr/bin:/bin", HOME: "/home/me" },
    input: INPUT,
    encoding: "utf8",
  });
  return { code: ran.status, stdout: ran.stdout };
}

describe("a hook file for Cline", () => {
  it.each(["cat", "cat # --strict"])("passes the input on, with what Cline leaves out: %s", (hook) => {
    const { code, stdout } = run(hook);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ...{ hook_event_name: "PreToolUse", cwd: folder, sessions: "/home/me/.cline/data/sessions" },
      ...{ hookName: "tool_call", tool_call: { id: "c1" } },
    });
  });

  it("names no folder that it cannot write as JSON", () => {
    const cwd = join(folder, 'a "b');
    mkdirSync(cwd);
    expect(JSON.parse(run("cat", { cwd }).stdout)).toEqual({
      ...{ hook_event_name: "PreToolUse", hookName: "tool_call", tool_call: { id: "c1" } },
    });
  });

  it("lets the tool run if its command fails", () => {
    expect(run("/nowhere/chronicle-hook cline || exit 1")).toEqual({ code: 0, stdout: "" });
    expect(run("unused", { event: "PostToolUse" })).toEqual({ code: 0, stdout: "" });
  });

  it("lets no tool run if its strict command ends with 2, and says why", () => {
    const why = `printf 'it is "gone"\\n\\\\' >&2`;
    const { code, stdout } = run(`${why}; sh -c 'exit 3' --strict || exit 2`);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ cancel: true, errorMessage: "Chronicle: it is 'gone' /" });
    expect(JSON.parse(run("/nowhere/chronicle-hook cline --strict || exit 2").stdout)).toMatchObject({ cancel: true });
  });

  it("lets no tool run if its strict command takes too long", () => {
    const { stdout } = run("sleep 1; true --strict", { limit: "0.1" });
    expect(JSON.parse(stdout)).toMatchObject({ cancel: true });
    expect(stdout).toContain("took longer than 100 seconds");
  });
});
