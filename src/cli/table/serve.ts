import type { CommandSpec } from "./spec.ts";

const SERVE_GROUP = "Serve";

export const SERVE: CommandSpec = {
  name: "serve",
  group: SERVE_GROUP,
  summary: "serve the store's workspaces over HTTP, on a Unix socket and on ports",
  details:
    "One process serves a store for its user: every workspace of the store, and the folder in which it is started " +
    "(it begins a history there if there is none). Only the owner can use the Unix socket, without a token. " +
    "--port adds 127.0.0.1 (and ::1), where each request bears a token: one of `chronicle token create`, or the " +
    "operator's. The operator's is that of $CHRONICLE_TOKEN or --token-file, else one is made and kept in the " +
    "configuration folder. --listen is for other machines. Hooks start this process themselves (--idle), and work " +
    "without it, only slower. On SIGTERM it answers all requests that it has accepted, then ends; a second signal " +
    "ends it at once. More: docs/server.md.",
  args: [],
  options: [
    {
      flags: "--socket <path>",
      description: "where the socket lies (default: in $XDG_RUNTIME_DIR)",
      completes: "path",
    },
    { flags: "--port <n>", description: "listen on this port of this machine as well (0: any)", value: "count" },
    { flags: "--listen <host:port>", description: "listen there, for other machines" },
    {
      flags: "--allow-host <name>",
      description: "with --listen: a host name by which clients reach it",
      value: "text",
      repeated: true,
    },
    {
      flags: "--allow-origin <origin>",
      description: "let pages of this origin send requests, and read the replies",
      value: "text",
      repeated: true,
    },
    { flags: "--tls-cert <file>", description: "with --listen: the certificate (PEM)", completes: "path" },
    { flags: "--tls-key <file>", description: "with --listen: its key (PEM)", completes: "path" },
    { flags: "--behind-proxy", description: "with --listen: plain HTTP, since a proxy in front speaks TLS" },
    { flags: "--token-file <file>", description: "the operator's token (0600)", completes: "path" },
    {
      flags: "--oidc-issuer <url>",
      description: "also accept tokens of this OpenID provider, with the rights in their claims",
      value: "text",
    },
    { flags: "--oidc-audience <name>", description: "with --oidc-issuer: the audience of tokens for this server" },
    {
      flags: "--oidc-role-claim <name>",
      description: "the claim that holds reader, agent or operator (default: chronicle_role)",
      value: "text",
    },
    {
      flags: "--oidc-workspaces-claim <name>",
      description: "the claim that lists workspaces; `*`: all (default: chronicle_workspaces)",
      value: "text",
    },
    {
      flags: "--watch-most <n>",
      description: "watch so many of the store's folders, those used last (default 32); others from their first use",
      value: "count",
    },
    {
      flags: "--replication",
      description: "let replicas follow its workspaces, on the same socket and ports (docs/replication.md)",
    },
    { flags: "--metrics-public", description: "/metrics needs no token" },
    {
      flags: "--idle <seconds>",
      description: "end after so long without a request, and host no folder (default: never end)",
      value: "seconds",
    },
    { flags: "--quiet", description: "print nothing" },
  ],
  examples: [
    { line: "chronicle serve", why: "on the owner's socket; Ctrl-C ends it" },
    { line: "chronicle serve --port 7420", why: "for programs of this machine, with a token" },
    {
      line: "chronicle serve --replication --socket /run/user/1000/origin/c.sock",
      why: "for `chronicle replicate FOLDER --connect` that socket",
    },
    {
      line: "chronicle serve --listen 0.0.0.0:7420 --allow-host files.example.org --tls-cert c.pem --tls-key k.pem",
      why: "for others",
    },
  ],
  localOnly: { instead: "start it on the machine where the store is", ignoresEnvironment: true },
};

export const TOKEN: CommandSpec = {
  name: "token",
  group: SERVE_GROUP,
  summary: "the tokens of a server: create, list, revoke",
  details:
    "create prints a new token, once: only its hash is kept (0600, in the configuration folder). A reader looks; " +
    "an agent works, but cannot give up, free or administer; an operator may do everything. With --workspace, no " +
    "other workspace exists for the token. A running server sees new and revoked tokens at once.",
  args: [
    { name: "[what]", description: "what to do (default: list)", completes: ["create", "list", "revoke"] },
    { name: "[id]", description: "with revoke: the id of the token, or its beginning" },
  ],
  options: [
    { flags: "--role <role>", description: "reader, agent or operator", completes: ["reader", "agent", "operator"] },
    {
      flags: "--workspace <id>",
      description: "only this workspace, by id or name (it need not exist yet); default: all",
      value: "text",
      repeated: true,
      completes: "workspace",
    },
    {
      flags: "--replica <id>",
      description:
        "may present this replica, which began with another token (for example, the one that this token replaces)",
      value: "text",
      repeated: true,
    },
    { flags: "--name <text>", description: "its purpose, as lists and the history name it" },
    { flags: "--expires <time>", description: "when it ends: 12h, 30d, or a date (default: never)" },
  ],
  examples: [
    { line: "chronicle token create --role agent --workspace session-42 --expires 30d", why: "for one session" },
    { line: "chronicle token list", why: "all tokens; their texts are not kept" },
    { line: "chronicle token revoke 0fd1a2b3", why: "it is refused from now on" },
  ],
  localOnly: { instead: "tokens are made on the machine where the store is", ignoresEnvironment: true },
};

export const MCP: CommandSpec = {
  name: "mcp",
  group: "Agents",
  summary: "serve this workspace to an agent (Model Context Protocol)",
  details:
    "An agent's program starts it and speaks to it on stdin and stdout: to look at the history, take work back, " +
    "and restore files. The agent cannot prune, erase, compact, collect, configure, pin, rebuild, archive, forget, " +
    "or accept a head. docs/mcp.md lists the tools. Without -C it serves the folders that the client names, else " +
    "the current one. With --http it listens on 127.0.0.1, and each request must bear a token: that of " +
    "$CHRONICLE_MCP_TOKEN, else a new one, which is printed.",
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

const AGENTS_GROUP = "Agents";
const AGENTS: readonly string[] = ["claude", "codex", "gemini"];

export const AGENTS_COMMAND: CommandSpec = {
  name: "agents",
  group: AGENTS_GROUP,
  summary: "record every tool call of an AI agent: install, uninstall, status, test",
  details:
    "install merges hooks (before and after each tool call, sessions, turns) and the MCP server into the agent's " +
    "own configuration: comments, order and other entries stay, a backup is kept beside each file, and a second " +
    "install changes nothing. A configuration that the agent would not accept (Claude Code ignores one with a " +
    "comment) is refused, and the line is named. It also works before the agent itself is installed. With " +
    "--strict a tool does not run if Chronicle cannot record it, unless Chronicle was uninstalled: the agent then " +
    "works, and is told so. status also names files whose hooks the agent does not call. test sends a made-up " +
    "tool call through the installed command.",
  args: [
    { name: "<what>", description: "what to do", completes: ["install", "uninstall", "status", "test"] },
    {
      name: "[agent...]",
      description: "claude, codex, gemini (default: all; for test those that are installed; install needs a name)",
      completes: AGENTS,
    },
  ],
  options: [
    { flags: "--project", description: "in the project's configuration, in the current folder (default: the user's)" },
    { flags: "--user", description: "in the user's configuration (default)" },
    { flags: "--strict", description: "no tool runs unrecorded: fail closed" },
    { flags: "-n, --dry-run", description: "name the files that would change, write nothing" },
  ],
  examples: [
    { line: "chronicle agents install claude", why: "from now on, every tool call of Claude Code can be taken back" },
    { line: "chronicle agents install codex --project", why: "only in this project" },
    { line: "chronicle agents status", why: "where it is installed, and whether it fires" },
    { line: "chronicle agents test claude", why: "try the installed command" },
  ],
  localOnly: { instead: "install them on the machine where the agents work", ignoresEnvironment: true },
};

export const HOOK: CommandSpec = {
  name: "hook",
  group: AGENTS_GROUP,
  summary: "answer one hook call of an agent (called by the agents)",
  args: [{ name: "<agent>", description: "claude, codex or gemini", completes: AGENTS }],
  options: [
    { flags: "--strict", description: "fail closed" },
    { flags: "--direct", description: "work on the store directly, without the server" },
  ],
  examples: [],
  hidden: true,
  localOnly: { instead: "hooks are called on the machine where the agent works", ignoresEnvironment: true },
};
