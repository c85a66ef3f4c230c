import { join } from "node:path";
import { ChronicleError } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { CommandContext } from "../support/context.ts";
import { placesOf } from "../../process/places.ts";
import { troubleLines } from "../render/syncs.ts";

/**
 * Returns a note about a problem of the workspace's sync and the next step. Returns no note with `--remote`, if the
 * workspace follows no origin, if the store's server does not answer, or if the server reports no problem. `workspace`:
 * the id of the workspace.
 */
export async function syncNotes(context: CommandContext, workspace: string): Promise<string[]> {
  const { io, input, remote } = context;
  if (remote !== undefined) return [];
  const { home } = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  if (new NodeDisk().lstat(join(home, "workspaces", workspace, "upstream")) === undefined) return [];
  const { runningClient } = await import("./sync-client.ts");
  try {
    await using client = await runningClient(context);
    const sync = (await client?.syncs.list())?.find(({ id }) => id === workspace);
    const lines = sync === undefined ? [] : troubleLines(sync, (text) => text);
    return lines.length === 0 ? [] : [`sync: ${lines.join("; ")}`];
  } catch (error) {
    // The error is ignored, because the server may be ending, and the status is useful without this note.
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
