import type { Disk } from "../disk/disk.ts";
import { whoAnswers } from "./ask-server.ts";
import { isOwnDoor, type RunInputs, syncRunFolder } from "./run-folder.ts";
import type { FindOther } from "./joined-syncs.ts";

/**
 * Finds the process that runs a sync of a store in the foreground, by its socket (see `openSyncDoor`). If that process
 * has died, nothing answers there.
 */
export function findSyncProcess(disk: Disk, inputs: RunInputs, version: string): FindOther {
  return async (id) => {
    const run = syncRunFolder(disk, inputs, id);
    const kind = disk.lstat(run.door)?.kind;
    if (kind === undefined || !isOwnDoor(disk, run, inputs.uid)) return undefined;
    // The path of `door` may be longer than a socket's address can be, so a link is resolved first.
    const socket = kind === "symlink" ? disk.readlink(run.door).toString() : run.door;
    const there = await whoAnswers(socket, version);
    if (there === undefined) return undefined;
    const { createClient } = await import("../client/create-node-client.ts");
    const client = createClient({ url: `unix:${socket}`, commandHints: true });
    return { syncs: client.syncs, pid: there.pid, [Symbol.asyncDispose]: () => client.close() };
  };
}
