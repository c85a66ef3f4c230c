import type { CommandSpec } from "./spec.ts";

export const MCP: CommandSpec = {
  name: "mcp",
  group: "Agents",
  summary: "serve this workspace to an agent (Model Context Protocol)",
  details:
    "An agent's program starts it and speaks on stdin and stdout: look at the history, take work back, restore files. " +
    "The agent cannot prune, collect, configure or pin. Which tools there are: docs/mcp.md. Without -C the folders that " +
    "the client names are used, else the present one. With --http it listens on 127.0.0.1 and each request must bear a " +
    "token: that of $CHRONICLE_MCP_TOKEN, else a new one, which is printed.",
  args: [],
  options: [
    { flags: "--http", description: "listen on 127.0.0.1 instead of stdin and stdout" },
    { flags: "--port <n>", description: "with --http: the port (default: any that is free)", value: "count" },
    {
      flags: "--create",
      description: "begin a history where there is none",
      localOnly: {
        why: "--create begins a history in a folder of this machine",
        instead: "chronicle workspaces create [name]",
      },
    },
  ],
  examples: [
    { line: "chronicle mcp", why: "for a client's configuration: command chronicle, argument mcp" },
    { line: "chronicle -C ~/project mcp", why: "this folder, whatever the client says" },
    { line: "chronicle mcp --http --port 7420", why: "for clients that speak HTTP" },
  ],
};
