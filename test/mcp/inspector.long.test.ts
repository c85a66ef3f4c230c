/**
 * The server, driven by a real client: the inspector's command line. It is not a dependency: `$CHRONICLE_TEST_AGENTS` is
 * a folder in whose `node_modules` it is installed.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { TOOLS } from "../../src/mcp/make-server.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { type ToolAnswer, toolAnswer } from "../helpers/mcp-client.ts";

const folder = process.env["CHRONICLE_TEST_AGENTS"] ?? "";
const inspector = join(folder, "node_modules", ".bin", "mcp-inspector");
const isThere = folder !== "" && existsSync(inspector);
const isNeeded = (process.env["CHRONICLE_REQUIRE_AGENTS"] ?? "") !== "";

if (!isThere && !isNeeded) {
  console.warn(
    "SKIPPED, SO NOT TESTED: the MCP inspector is not there. CHRONICLE_TEST_AGENTS=$(node scripts/install-test-agents.js)",
  );
}

/** What the inspector prints after one request to `chronicle mcp`. Rejects if it fails. */
function inspect(box: Sandbox, args: readonly string[]): Promise<unknown> {
  // The inspector hands its own words on to the program that it starts: those of ours come after `--`.
  const words = ["--cli", process.execPath, chronicleBin(), "mcp", ...args];
  const child = spawn(inspector, words, { cwd: box.project, env: box.env(), stdio: ["ignore", "pipe", "pipe"] });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (piece: Buffer) => out.push(piece));
  child.stderr.on("data", (piece: Buffer) => err.push(piece));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(Buffer.concat(out).toString("utf8")));
      else reject(new Error(`the inspector ended with ${code}: ${Buffer.concat(err).toString("utf8")}`));
    });
  });
}

async function call(box: Sandbox, tool: string, args: readonly string[] = []): Promise<ToolAnswer> {
  const given = args.flatMap((one) => ["--tool-arg", one]);
  const result = await inspect(box, ["--method", "tools/call", "--tool-name", tool, ...given]);
  return toolAnswer(result as CallToolResult);
}

it.runIf(isNeeded && !isThere)("the inspector is installed", () => {
  expect.fail(`there is no ${inspector}: CHRONICLE_REQUIRE_AGENTS says that it must be there`);
});

describe.runIf(isThere)("the inspector's command line", () => {
  it("lists the tools, with their annotations", async () => {
    using box = new Sandbox();
    const { tools } = (await inspect(box, ["--method", "tools/list"])) as {
      tools: { name: string; annotations: { readOnlyHint: boolean; destructiveHint: boolean } }[];
    };
    expect(tools.map((tool) => tool.name)).toEqual(TOOLS.map((tool) => tool.name));
    const byName = new Map(tools.map((tool) => [tool.name, tool.annotations]));
    expect(byName.get("diff")).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(byName.get("undo")).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });

  it("sees a change, restores a file, and undoes the restore", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    box.write("a.txt", "two\n");
    expect((await call(box, "diff", ["patch=true"])).text).toContain("+two");
    const restored = await call(box, "restore", ["moment=baseline", 'paths=["a.txt"]']);
    expect(restored).toMatchObject({ isError: false, data: { total_changes: 1 } });
    expect((await call(box, "read_version", ["path=a.txt"])).data["content"]).toBe("one\n");
    expect((await call(box, "undo")).isError).toBe(false);
    expect((await call(box, "read_version", ["path=a.txt"])).data["content"]).toBe("two\n");
    expect((await call(box, "verify")).data["ok"]).toBe(true);
  });

  it("gets errors that say what to do", async () => {
    using box = new Sandbox();
    const { isError, text } = await call(box, "status");
    expect(isError).toBe(true);
    expect(text).toContain("chronicle init");
  });
});
