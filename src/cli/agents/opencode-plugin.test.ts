import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pluginFile } from "./opencode-plugin.ts";

type Call = (about: object, more: object) => Promise<void>;
type Hooks = Readonly<Record<"tool.execute.before" | "tool.execute.after", Call>> & { dispose(): Promise<void> };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-plugin-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Loads the installed plugin as opencode does. `hook`: the command line of the hook. `limitMs`: its time limit. */
async function loaded(hook: string, { limitMs = 10_000, directory = folder } = {}): Promise<Hooks> {
  const wanted = { hook, hookBefore: hook, mcp: [] };
  const text = String(pluginFile("chronicle.js", 0).install(undefined, wanted)).replace("600_000", String(limitMs));
  const file = join(folder, "chronicle.mjs");
  writeFileSync(file, text);
  const { Chronicle: begin } = (await import(pathToFileURL(file).href)) as {
    Chronicle: (of: object) => Promise<Hooks>;
  };
  const client = { session: { get: () => Promise.resolve({}) }, tui: { showToast: () => Promise.resolve() } };
  return begin({ client, directory });
}

const tool = { tool: "bash", sessionID: "s", callID: "c" };

describe("the plugin for opencode", () => {
  it("does not wait longer than its limit for a hook that hangs, also if the hook's own child keeps the output", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const plugin = await loaded("sh -c 'sleep 60' || exit 1", { limitMs: 300 });
    const begun = Date.now();
    await plugin["tool.execute.before"](tool, { args: {} });
    expect(Date.now() - begun).toBeLessThan(30_000);
  });

  it("goes on after a hook that cannot be started", async () => {
    const told = vi.spyOn(console, "error").mockReturnValue();
    const plugin = await loaded("true", { directory: "\0" });
    for (const callID of ["one", "two"]) await plugin["tool.execute.before"]({ ...tool, callID }, { args: {} });
    expect(told.mock.calls.join()).toContain("this step is not recorded");
  });

  it("runs no tool if a strict hook cannot be started", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const plugin = await loaded("true --strict", { directory: "\0" });
    for (const callID of ["one", "two"])
      await expect(plugin["tool.execute.before"]({ ...tool, callID }, { args: {} })).rejects.toThrow("null bytes");
  });
});
