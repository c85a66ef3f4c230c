import { randomBytes } from "node:crypto";
import { EXIT } from "../../../api/problems.ts";
import { outlivesProcess } from "../../../api/store-address.ts";
import type { OpenOptions, StoreApi } from "../../../api/store-api.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { type Asked, LazyWorkspace } from "../../../mcp/lazy-workspace.ts";
import type { ServerParts } from "../../../mcp/make-server.ts";
import { serveHttp } from "../../../mcp/serve-http.ts";
import { serveStdio } from "../../../mcp/serve-stdio.ts";
import { inactiveAgents } from "../../agents/agent-status.ts";
import { placesOf } from "../../../process/places.ts";
import type { CommandContext } from "../../support/context.ts";
import { printable } from "../../../process/printable.ts";
import { listenTrouble } from "../../../daemon/listen-trouble.ts";
import { usageError } from "../../../process/usage-error.ts";

const MAX_PORT = 65_535;
const MIN_TOKEN = 16;
const AS_AGENT = { actor: "agent", role: "agent" } as const;

/**
 * Opens the workspace of an MCP client:
 * - If a workspace was chosen on the command line, opens this workspace. Throws `NOT_FOUND` if it does not exist.
 * - Otherwise, opens the workspace of the first of the client's folders that has a history. If the client names no
 *   folder, opens the workspace of the current folder.
 * - If none of these folders has a history, `--create` begins one in the client's first folder, or in the current
 *   folder if the client names none. Without `--create`, throws `NOT_FOUND`.
 */
async function openWorkspace(context: CommandContext, { folders, client }: Asked): Promise<WorkspaceApi> {
  const store = await context.store(AS_AGENT);
  const as = { role: "agent", ...(client === "" ? {} : { client }) } as const;
  const named = await context.chosen();
  if (named !== undefined)
    return store.openById(named, as).catch((error: unknown) => Promise.reject(withWhoChose(error)));
  for (const folder of folders) {
    try {
      return await store.open({ folder, ...as });
    } catch (error) {
      const isAbsent =
        error instanceof ChronicleError && (error.code === "NOT_FOUND" || error.data["errno"] === "ENOENT");
      if (!isAbsent) throw error;
    }
  }
  const folder = folders[0] ?? context.io.cwd();
  try {
    return await store.open({ folder, ...as });
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
    if (context.input.flag("create")) return begin(store, folder, as);
    const hint = "a person begins one with `chronicle init` in that folder; or start this server with --create";
    throw new ChronicleError(error.code, error.message, { hint, data: error.data, cause: error });
  }
}

/**
 * Replaces the hint of a `NOT_FOUND` error. The new hint asks the model to tell the person, because the client cannot
 * choose another workspace. Returns other errors unchanged.
 */
function withWhoChose(error: unknown): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") return error;
  const hint =
    "tell the person: this server was set up for that workspace (-w NAME, or #NAME of --remote), but the " +
    "workspace does not exist; `chronicle workspaces` lists those that do";
  return new ChronicleError(error.code, error.message, { hint, data: error.data, cause: error });
}

/**
 * With `--remote`, throws if the server refuses this process, so that the error is reported at the start and not at the
 * first call.
 */
async function refuseStranger(context: CommandContext): Promise<void> {
  if (context.remote === undefined) return;
  await context.store(AS_AGENT);
  try {
    await context.meThere();
  } catch (error) {
    // If the server does not answer, this process continues, because the server may answer the first call.
    if (!(error instanceof ChronicleError) || error.code !== "UNAVAILABLE") throw error;
    context.say(`chronicle mcp: ${printable(error.message)}`);
  }
}

async function begin(store: StoreApi, folder: string, as: Omit<OpenOptions, "folder">): Promise<WorkspaceApi> {
  const { workspace } = await store.init({ roots: [folder] });
  await workspace.close();
  return store.open({ folder, ...as });
}

async function overHttp(context: CommandContext, parts: ServerParts): Promise<void> {
  const given = context.io.env["CHRONICLE_MCP_TOKEN"];
  if (given !== undefined && (given.length < MIN_TOKEN || /\s/.test(given))) {
    throw usageError(`$CHRONICLE_MCP_TOKEN needs ${MIN_TOKEN} characters or more, and no spaces`, "or leave it unset");
  }
  const token = given ?? randomBytes(24).toString("base64url");
  const port = context.input.number("port") ?? 0;
  if (port > MAX_PORT) throw usageError(`there is no port ${port}`, `give a port up to ${MAX_PORT}`);
  const stopped = new Promise<void>((resolve) => context.io.onInterrupt(() => resolve()));
  const server = await serveHttp(parts, { port, token }).catch((error: unknown) => {
    throw listenTrouble(error);
  });
  if (context.json) context.printJson({ url: server.url, token: given === undefined ? token : null });
  else {
    context.say(`listening on ${server.url}; Ctrl-C stops`);
    context.say(given === undefined ? `token of this run: ${token}` : "token: that of $CHRONICLE_MCP_TOKEN");
  }
  await stopped;
  await server.close();
}

async function overStdio(context: CommandContext, parts: ServerParts): Promise<void> {
  if (context.io.stdinIsTerminal)
    context.say("speaking MCP on stdin and stdout, for an agent's program; Ctrl-D ends it");
  const { input, output } = context.io.streams();
  const server = serveStdio(parts, input, output);
  const endInterrupt = context.io.onInterrupt(() => void server.close());
  await server.done;
  endInterrupt();
}

/**
 * Returns notes about agents that have hooks of Chronicle but may work without being recorded. The notes are part of
 * the instructions for the model, because an agent without working hooks still starts this server. With `--remote`,
 * returns no notes.
 */
function inactiveNotes({ io, input, remote }: CommandContext): string[] {
  // Hooks cannot record into a store that is lost when its process ends, such as `memory:`.
  if (remote !== undefined || !outlivesProcess(input.text("store") ?? "")) return [];
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  return inactiveAgents(io, places, [io.cwd()]).map((note) => `Tell the person: ${printable(note)}.`);
}

export async function mcp(context: CommandContext): Promise<number> {
  const { input, io } = context;
  if (input.number("port") !== undefined && !input.flag("http"))
    throw usageError("--port goes with --http", "say --http, or leave --port out");
  await refuseStranger(context);
  const workspace = new LazyWorkspace((asked) => openWorkspace(context, asked));
  const parts: ServerParts = {
    version: io.version,
    workspace,
    // The client is asked for its folders, except in two cases. With `-C`, a person has named the folder. With
    // `--remote`, `RemoteServer.workspace` gives the workspace, because the client's folders are not on the server's
    // machine.
    askClient: input.text("directory") === undefined && context.remote === undefined,
    notes: inactiveNotes(context),
    report: (message) => context.say(`chronicle mcp: ${printable(message)}`),
  };
  try {
    await (input.flag("http") ? overHttp(context, parts) : overStdio(context, parts));
  } finally {
    await workspace.close();
  }
  return EXIT.done;
}
