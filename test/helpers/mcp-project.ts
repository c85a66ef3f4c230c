import { PassThrough } from "node:stream";
import { LazyWorkspace } from "../../src/mcp/lazy-workspace.ts";
import type { ServerParts } from "../../src/mcp/make-server.ts";
import { serveStdio } from "../../src/mcp/serve-stdio.ts";
import { McpClient } from "./mcp-client.ts";
import { Project } from "./project.ts";

/** A project with an MCP server on it, in this process, and a client that has said hello. */
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

  /** `prepare` writes files before the history begins. */
  static async start(prepare: (project: Project) => void = () => undefined): Promise<McpProject> {
    const project = new Project();
    prepare(project);
    await (await project.init()).close();
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    await this.project[Symbol.asyncDispose]();
  }
}

/** What a server on this project is made with, as the command line makes it. */
export function serverParts(project: Project): { readonly parts: ServerParts; readonly reports: string[] } {
  const reports: string[] = [];
  const workspace = new LazyWorkspace(async ({ client }) => {
    const store = await project.store({ actor: "agent", role: "agent" });
    return store.open({ folder: project.folder, role: "agent", client });
  });
  return { parts: { version: "1.2.3", workspace, askClient: false, report: (line) => reports.push(line) }, reports };
}
