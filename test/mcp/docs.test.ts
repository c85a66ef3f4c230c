/** The table of tools in docs/mcp.md is the one in the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOM_ARGUMENT, type Tool } from "../../src/mcp/tool.ts";
import { TOOLS } from "../../src/mcp/make-server.ts";

const EFFECTS = { reads: "reads", records: "records", changes: "changes files" } as const;

function row({ name, title, effect, inputSchema }: Tool): string {
  const { properties = {}, required = [] } = inputSchema as { properties?: object; required?: string[] };
  const own = Object.keys(properties).filter((key) => key !== ROOM_ARGUMENT);
  const args = own.map((key) => (required.includes(key) ? `**${key}**` : key));
  return `| \`${name}\` | ${title} | ${EFFECTS[effect]} | ${args.join(", ")} |`;
}

it("the table in docs/mcp.md has every tool as it is in the code", () => {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "mcp.md"), "utf8");
  const table = /<!-- tools -->\n([^]*?)<!-- \/tools -->/.exec(page)?.[1];
  const head = ["| tool | what it does | effect | arguments (**needed**) |", "|---|---|---|---|"];
  expect(table).toBe([...head, ...TOOLS.map(row)].join("\n") + "\n");
});
