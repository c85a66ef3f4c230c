import { PassThrough } from "node:stream";
import { LazyWorkspace } from "../../src/mcp/lazy-workspace.ts";
import type { ServerParts } from "../../src/mcp/make-server.ts";
import { serveStdio } from "../../src/mcp/serve-stdio.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { innerIo } from "../cli/memory-io.ts";
import { McpClient } from "./mcp-client.ts";
import { Project } from "./project.ts";
import { ServedStore } from "./served-store.ts";

/** Starts a project. `prepare` writes files before the history begins. */
export type StartMcp = (prepare?: (project: Project) => void) => Promise<McpProject>;

/** A project with an MCP server in this process, and a client that has done the handshake. */
export class McpProject implements AsyncDisposable {
  readonly project: Project;
  readonly client: McpClient;
  readonly reports: string[];
  readonly #close: () => Promise<void>;

  private constructor(parts: Pick<McpProject, "project" | "client" | "reports">, close: () => Promise<void>) {
    this.project = parts.project;
    this.client = parts.client;
    this.reports = parts.reports;
    this.#close = close;
  }

  /** Starts a server that opens the store itself. */
  static async start(prepare: (project: Project) => void = () => undefined): Promise<McpProject> {
    const project = await begun(prepare);
    const { parts, reports } = serverParts(project);
    const [toServer, fromServer] = [new PassThrough(), new PassThrough()];
    const server = serveStdio(parts, toServer, fromServer);
    const client = new McpClient(toServer, fromServer, { name: "claude-code" });
    await client.initialize();
    return new McpProject({ project, client, reports }, async () => {
      toServer.end();
      await server.done;
      await parts.workspace.close();
    });
  }

  /** Starts `chronicle mcp --remote`. It connects to a server of the store, which hosts the project. */
  static async startRemote(prepare: (project: Project) => void = () => undefined): Promise<McpProject> {
    const project = await begun(prepare);
    const served = await ServedStore.start({ places: project, folder: project.folder });
    const [toServer, fromServer] = [new PassThrough(), new PassThrough()];
    const io = innerIo(["mcp", "--remote", served.socketUrl], {
      streams: () => ({ input: toServer, output: fromServer }),
    });
    const done = runCli(io);
    const client = new McpClient(toServer, fromServer, { name: "claude-code" });
    await client.initialize();
    const reports: string[] = [];
    return new McpProject({ project, client, reports }, async () => {
      toServer.end();
      await done;
      await served[Symbol.asyncDispose]();
      if (io.err.text !== "") throw new Error(`chronicle mcp printed to stderr: ${io.err.text}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await this.project[Symbol.asyncDispose]();
  }
}

async function begun(prepare: (project: Project) => void): Promise<Project> {
  const project = new Project();
  prepare(project);
  await (await project.init()).close();
  return project;
}

/** Returns the parts of an MCP server on this project, made as the command line makes them. */
export function serverParts(project: Project): { readonly parts: ServerParts; readonly reports: string[] } {
  const reports: string[] = [];
  const workspace = new LazyWorkspace(async ({ client }) => {
    const store = await project.store({ actor: "agent", role: "agent" });
    return store.open({ folder: project.folder, role: "agent", client });
  });
  return { parts: { version: "1.2.3", workspace, askClient: false, report: (line) => reports.push(line) }, reports };
}
