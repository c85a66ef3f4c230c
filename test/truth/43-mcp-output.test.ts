/**
 * MCP tools declare schemas of their answers, and answer what these say, so that a client's program can rely on them.
 */
import { describe, expect, it } from "vitest";
import { misfit } from "../helpers/mcp-client.ts";
import { McpProject } from "../helpers/mcp-project.ts";

interface Listed {
  readonly name: string;
  readonly outputSchema?: object;
}

/** Every tool with arguments that it can answer in the project of the test, in the order of the calls. */
const CALLS: readonly (readonly [string, object])[] = [
  ["status", {}],
  ["take_snapshot", { message: "two" }],
  ["diff", { from: "baseline", patch: true }],
  ["list_history", {}],
  ["list_actions", {}],
  ["what_changed", {}],
  ["file_history", { path: "a" }],
  ["read_version", { path: "a" }],
  ["find_file", { name: "a" }],
  ["blame", { path: "a" }],
  ["grep", { pattern: "." }],
  ["grep", { pattern: ".", history: true }],
  ["begin_transaction", { name: "try" }],
  ["restore", { moment: "baseline", dry_run: true }],
  ["restore", { moment: "baseline" }],
  ["undo", {}],
  ["redo", {}],
  ["list_transactions", {}],
  ["list_conflicts", {}],
  ["verify", {}],
  // The calls from here on are refused. A refusal is an answer, too.
  ["show_action", { id: "00000000-0000-4000-8000-000000000000" }],
  ["rollback", { id: "00000000-0000-4000-8000-000000000000" }],
  ["commit_transaction", { id: "00000000-0000-4000-8000-000000000000" }],
  ["rollback_transaction", { id: "00000000-0000-4000-8000-000000000000" }],
  ["resolve_conflict", { conflict: "none", keep: "current" }],
  ["status", { unknown: true }],
];

async function schemas(mcp: McpProject): Promise<ReadonlyMap<string, Listed>> {
  const { result } = await mcp.client.request("tools/list", {});
  const { tools } = result as { readonly tools: readonly Listed[] };
  return new Map(tools.map((tool) => [tool.name, tool]));
}

describe("MCP tools", { timeout: 120_000 }, () => {
  it("declare a schema of their answers: an object with summary, next, error and further fields", async () => {
    await using mcp = await McpProject.start();
    for (const [name, { outputSchema }] of await schemas(mcp)) {
      expect([name, outputSchema]).toEqual([name, expect.objectContaining({ type: "object" })]);
      const known = Object.keys((outputSchema as { properties?: object } | undefined)?.properties ?? {});
      // Besides `summary`, `next` and `error` there is at least one field for what the tool is for.
      expect([name, known.length > 3]).toEqual([name, true]);
      expect([name, known]).toEqual([name, expect.arrayContaining(["summary", "next", "error"])]);
    }
  });

  it("answer what their schemas say, errors included", async () => {
    await using mcp = await McpProject.start((project) => project.write("a", "one\n"));
    mcp.project.write("a", "two\n");
    const tools = await schemas(mcp);
    for (const [name, args] of CALLS) {
      const { result } = await mcp.client.request("tools/call", { name, arguments: args });
      const { structuredContent } = result as { readonly structuredContent: unknown };
      const found = misfit(tools.get(name)?.outputSchema ?? { not: {} }, structuredContent);
      expect([name, args, found]).toEqual([name, args, undefined]);
    }
    expect([...tools.keys()].filter((name) => !CALLS.some(([called]) => called === name))).toEqual([]);
  });

  it("declare schemas that refuse incomplete answers", async () => {
    await using mcp = await McpProject.start();
    for (const [name, { outputSchema }] of await schemas(mcp)) {
      for (const answer of [{}, { summary: "done", next: [] }, { error: "no" }]) {
        expect([name, answer, misfit(outputSchema ?? {}, answer)]).toEqual([name, answer, expect.any(String)]);
      }
    }
  });
});
