import { describe, expect, it } from "vitest";
import { annotationsOf, TOOLS } from "../../src/mcp/make-server.ts";
import { McpProject } from "../helpers/mcp-project.ts";
import { toolsSuite } from "./tools-suite.ts";

describe("the list of tools", () => {
  it("is pinned: name, effect and arguments", () => {
    const rows = TOOLS.map((tool) => {
      const { readOnlyHint, destructiveHint, idempotentHint } = annotationsOf(tool);
      const marks = [readOnlyHint && "read-only", destructiveHint && "destructive", idempotentHint && "idempotent"];
      const { properties = {}, required = [] } = tool.inputSchema as { properties?: object; required?: string[] };
      const args = Object.keys(properties).map((name) => (required.includes(name) ? name : `[${name}]`));
      return `${tool.name}(${args.join(" ")}): ${marks.filter(Boolean).join(", ")}`;
    });
    expect(rows).toMatchInlineSnapshot(`
      [
        "list_history([limit] [max_chars]): read-only, idempotent",
        "list_actions([session] [turn] [path] [limit] [cursor] [max_chars]): read-only, idempotent",
        "show_action(id [patch] [max_chars]): read-only, idempotent",
        "what_changed([action] [turn] [session] [actor] [file] [since] [to] [until] [rewind] [patch] [max_chars]): read-only, idempotent",
        "diff([from] [to] [paths] [patch] [max_chars]): read-only, idempotent",
        "file_history(path [limit] [max_chars]): read-only, idempotent",
        "read_version(path [iteration] [offset] [max_bytes] [max_chars]): read-only, idempotent",
        "find_file(name [max_chars]): read-only, idempotent",
        "blame(path [from_line] [to_line] [at] [max_chars]): read-only, idempotent",
        "grep(pattern [paths] [history] [at] [ignore_case] [fixed] [files_only] [max_chars]): read-only, idempotent",
        "undo([action] [turn] [session] [actor] [file] [since] [to] [until] [rewind] [operation] [from_line] [to_line] [parts] [dry_run] [force] [exact] [max_chars]): destructive",
        "redo([operation] [dry_run] [force] [exact] [max_chars]): destructive",
        "rollback(id [dry_run] [force] [outside] [max_chars]): destructive, idempotent",
        "restore(moment [paths] [dry_run] [force] [max_chars]): destructive, idempotent",
        "begin_transaction([name] [session] [max_chars]): ",
        "commit_transaction(id [max_chars]): idempotent",
        "rollback_transaction(id [max_chars]): destructive, idempotent",
        "list_transactions([limit] [max_chars]): read-only, idempotent",
        "list_conflicts([all] [patch] [limit] [max_chars]): read-only, idempotent",
        "resolve_conflict(conflict keep [content] [max_chars]): destructive, idempotent",
        "status([max_chars]): read-only, idempotent",
        "take_snapshot([message] [max_chars]): ",
        "verify([quick] [max_chars]): read-only, idempotent",
      ]
    `);
  });

  it("says of each tool that changes files how it is undone, and has no tool that is for people only", () => {
    for (const tool of TOOLS) {
      expect(tool.description.length).toBeLessThan(900);
      if (tool.effect === "changes") expect(tool.description).toMatch(/undo|redo/);
    }
    const names = TOOLS.map((tool) => tool.name).join(" ");
    expect(names).not.toMatch(/prune|gc|compact|config|pin\b|forget/);
  });

  it("gives clients schemas that forbid unknown arguments", async () => {
    await using mcp = await McpProject.start();
    const { result } = await mcp.client.request("tools/list");
    const { tools } = result as { tools: { name: string; inputSchema: Record<string, unknown> }[] };
    expect(tools.map((tool) => tool.name)).toEqual(TOOLS.map((tool) => tool.name));
    for (const { inputSchema } of tools) {
      expect(inputSchema["type"]).toBe("object");
      expect(inputSchema["additionalProperties"]).toBe(false);
    }
  });
});

describe("in this process", () => {
  toolsSuite((prepare) => McpProject.start(prepare));
});
