import type { CommandSpec } from "./spec.ts";

const SERVE_GROUP = "Serve";

export const UI: CommandSpec = {
  name: "ui",
  group: SERVE_GROUP,
  summary: "open the page: see what agents did, and take it back",
  details:
    "The page shows all workspaces of the store, and begins with that of the current folder. The store's process " +
    "offers it on a port of 127.0.0.1, and is started if it does not run. The printed address holds a code, which " +
    "can be used once, within 5 minutes. No browser is opened without a terminal, over SSH, in CI, and on a machine " +
    "without a display. docs/page.md says how to look at the page of another machine.",
  args: [
    {
      name: "[workspace]",
      description: "begin with this workspace, by id or name (default: that of the current folder)",
      completes: "workspace",
    },
  ],
  options: [
    { flags: "--no-open", description: "open no browser, only print the address" },
    {
      flags: "--port <n>",
      description: "offer the page on this port of 127.0.0.1 (default: the one in use, else any that is free)",
      value: "count",
    },
  ],
  examples: [
    { line: "chronicle ui", why: "the page of the current folder, in the browser" },
    { line: "chronicle ui --no-open --port 7421", why: "on another machine, for `ssh -L 7421:127.0.0.1:7421`" },
  ],
  localOnly: { instead: "open the server's own address in a browser: it has the page if it was started with --ui" },
};

export const SERVE: CommandSpec = {
  name: "serve",
  group: SERVE_GROUP,
  summary: "serve the store's workspaces over HTTP, on a Unix socket and on ports",
  details:
    "One process serves a store for its user. It serves every workspace of the store, and the folder in which it is " +
    "started; if that folder has no history, serve begins one. Only the owner can use the Unix socket, and needs no " +
    "token there. --port adds a port of 127.0.0.1 (and ::1), where each request must bear a token: one that " +
    "`chronicle token create` made, or the operator's token. The operator's token is that of $CHRONICLE_TOKEN or " +
    "--token-file; without these, one is made and kept in the configuration folder. --listen is for other machines. " +
    "Hooks start this process themselves (with --idle). Hooks also work without the process, but are slower. On " +
    "SIGTERM, the process answers all requests that it has accepted, and then ends. A second signal ends the " +
    "process at once. More: docs/server.md.",
  args: [],
  options: [
    {
      flags: "--socket <path>",
      description: "where the socket lies (default: in $XDG_RUNTIME_DIR)",
      completes: "path",
    },
    { flags: "--port <n>", description: "listen on this port of this machine as well (0: any)", value: "count" },
    { flags: "--listen <host:port>", description: "listen on this address and port, for other machines" },
    {
      flags: "--allow-host <name>",
      description: "with --listen: a host name by which clients reach it",
      value: "text",
      repeated: true,
    },
    {
      flags: "--allow-origin <origin>",
      description: "let web pages of this origin send requests and read the replies",
      value: "text",
      repeated: true,
    },
    { flags: "--tls-cert <file>", description: "with --listen: the certificate (PEM)", completes: "path" },
    { flags: "--tls-key <file>", description: "with --listen: the certificate's key (PEM)", completes: "path" },
    { flags: "--behind-proxy", description: "with --listen: plain HTTP, since a proxy in front speaks TLS" },
    {
      flags: "--token-file <file>",
      description: "a file with the operator's token, which only its owner may read (0600)",
      completes: "path",
    },
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
      description:
        "watch this many of the store's folders, the most recently used ones (default 32); others are watched from " +
        "their first use on",
      value: "count",
    },
    {
      flags: "--replication",
      description: "let replicas follow the store's workspaces, on the same socket and ports (docs/replication.md)",
    },
    {
      flags: "--ui",
      description: "offer the page on the ports as well (docs/page.md); without a port: on any that is free",
    },
    { flags: "--metrics-public", description: "give out /metrics without a token" },
    {
      flags: "--idle <seconds>",
      description: "end after this many seconds without a request, and host no folder (default: never end)",
      value: "seconds",
    },
    { flags: "--quiet", description: "print nothing" },
  ],
  examples: [
    { line: "chronicle serve", why: "on the owner's socket; Ctrl-C ends it" },
    { line: "chronicle serve --port 7420", why: "for programs of this machine, with a token" },
    { line: "chronicle serve --ui --port 7420", why: "the same, with the page" },
    {
      line: "chronicle serve --replication --socket /run/user/1000/origin/c.sock",
      why: "for replicas, which use `chronicle replicate FOLDER --connect` with that socket",
    },
    {
      line: "chronicle serve --listen 0.0.0.0:7420 --allow-host files.example.org --tls-cert c.pem --tls-key k.pem",
      why: "for other machines",
    },
  ],
  localOnly: { instead: "start it on the machine where the store is", ignoresEnvironment: true },
};

export const TOKEN: CommandSpec = {
  name: "token",
  group: SERVE_GROUP,
  summary: "the tokens of a server: create, list, revoke",
  details:
    "create prints a new token. The token is shown only this once, because only its hash is kept (0600, in the " +
    "configuration folder). A reader can only look. An agent can work, but cannot give up, free or administer " +
    "anything. An operator can do everything. With --workspace, the token is valid for that workspace only, and " +
    "shows no other. A running server sees new and revoked tokens at once.",
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
        "let the token connect as this replica, which began with another token (for example, the one that this token " +
        "replaces)",
      value: "text",
      repeated: true,
    },
    { flags: "--name <text>", description: "the token's name in lists and in the history, such as its purpose" },
    { flags: "--expires <time>", description: "when the token ends: 12h, 30d, or a date (default: never)" },
  ],
  examples: [
    {
      line: "chronicle token create --role agent --workspace session-42 --expires 30d",
      why: "a token for one session",
    },
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
    "An agent's program starts this server and speaks to it on stdin and stdout. The agent can look at the " +
    "history, take work back and restore files. It cannot prune, erase, compact, collect, configure, pin, " +
    "rebuild, archive, forget, or accept a head. docs/mcp.md lists the tools. Without -C, the server serves the " +
    "folders that the client names; if the client names none, it serves the current folder. With --http, the " +
    "server listens on 127.0.0.1, and each request must bear a token: the one of $CHRONICLE_MCP_TOKEN or, if " +
    "that is not set, a new one, which is printed.",
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
    { line: "chronicle mcp", why: "in a client's configuration: the command chronicle with the argument mcp" },
    { line: "chronicle -C ~/project mcp", why: "this folder, whatever the client says" },
    { line: "chronicle mcp --http --port 7420", why: "for clients that speak HTTP" },
  ],
};

const AGENTS_GROUP = "Agents";
const AGENTS: readonly string[] = ["claude", "codex", "gemini", "opencode", "cursor", "copilot", "cline"];

export const AGENTS_COMMAND: CommandSpec = {
  name: "agents",
  group: AGENTS_GROUP,
  summary: "record every tool call of an AI agent: install, uninstall, status, test",
  details:
    "install adds hooks and the MCP server to the agent's own configuration. The hooks are called before and after " +
    "each tool call, and for sessions and turns. Comments, order and other entries stay, a backup is kept beside " +
    "each file, and a second install changes nothing. A configuration that the agent would not accept is refused, " +
    "and the line is named. (Claude Code, for example, ignores a configuration with a comment.) install also works " +
    "before the agent itself is installed. With --strict, a tool does not run if Chronicle cannot record it. If " +
    "Chronicle was uninstalled, tools run even with --strict, and the agent is told that nothing is recorded. " +
    "install also adds commands for the agent, chronicle-undo and chronicle-rewind (docs/agents.md); a command that " +
    "you have edited stays. status also names files whose hooks the agent does not call. test sends a made-up tool " +
    "call through the installed command.",
  args: [
    { name: "<what>", description: "what to do", completes: ["install", "uninstall", "status", "test"] },
    {
      name: "[agent...]",
      description:
        `${AGENTS.slice(0, -1).join(", ")} or ${AGENTS.at(-1)} (default: all; for test: the installed ones; ` +
        "install needs a name)",
      completes: AGENTS,
    },
  ],
  options: [
    { flags: "--project", description: "in the project's configuration, in the current folder (default: the user's)" },
    { flags: "--user", description: "in the user's configuration (default)" },
    { flags: "--strict", description: "no tool runs unrecorded: if recording fails, the tool is refused" },
    { flags: "-n, --dry-run", description: "name the files that would change, write nothing" },
  ],
  examples: [
    { line: "chronicle agents install claude", why: "from now on, every tool call of Claude Code can be taken back" },
    { line: "chronicle agents install codex --project", why: "only in this project" },
    { line: "chronicle agents status", why: "where the hooks are installed, and whether the agents call them" },
    { line: "chronicle agents test claude", why: "try the installed command" },
  ],
  localOnly: { instead: "install them on the machine where the agents work", ignoresEnvironment: true },
};

export const HOOK: CommandSpec = {
  name: "hook",
  group: AGENTS_GROUP,
  summary: "answer one hook call of an agent (called by the agents)",
  args: [
    { name: "<agent>", description: "claude, codex, gemini, opencode, cursor, copilot or cline", completes: AGENTS },
  ],
  options: [
    { flags: "--strict", description: "refuse the tool if recording fails" },
    { flags: "--direct", description: "use the store directly, without the server" },
  ],
  examples: [],
  hidden: true,
  localOnly: { instead: "hooks are called on the machine where the agent works", ignoresEnvironment: true },
};
