import { fileURLToPath } from "node:url";
import type { Server } from "@modelcontextprotocol/server";

const WAIT_MS = 3_000;

/** From this revision on, a server does not ask its client: the information comes with the request. */
const NO_MORE_ASKING = "2026-07-28";

/** Returns the folders that the client works in (MCP roots); empty if it does not report them. */
export async function clientFolders(server: Server, report: (message: string) => void): Promise<string[]> {
  if (server.getClientCapabilities()?.roots === undefined) return [];
  if ((server.getNegotiatedProtocolVersion() ?? NO_MORE_ASKING) >= NO_MORE_ASKING) return [];
  try {
    const { roots } = await server.listRoots(undefined, { timeout: WAIT_MS });
    return roots.flatMap(({ uri }) => (uri.startsWith("file:///") ? [fileURLToPath(uri)] : []));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report(`the client did not say which folders it works in, so the server's own is used: ${why}`);
    return [];
  }
}
