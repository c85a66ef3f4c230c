import type { Disk } from "../disk/disk.ts";
import { whoAnswers } from "./ask-server.ts";
import { isOwnAddress, type RunInputs, syncRunFolder } from "./run-folder.ts";
import type { FindOther } from "./joined-syncs.ts";

/**
 * Returns a function that finds the process that runs a sync in the foreground. The function asks at the socket of that
 * process, and resolves to `undefined` if no process answers there.
 */
export function findSyncProcess(disk: Disk, inputs: RunInputs, version: string): FindOther {
  return async (id) => {
    const run = syncRunFolder(disk, inputs, id);
    const kind = disk.lstat(run.address)?.kind;
    if (kind === undefined || !isOwnAddress(disk, run, inputs.uid)) return undefined;
    // Resolve a link first, because the path of the link can be too long for a socket.
    const socket = kind === "symlink" ? disk.readlink(run.address).toString() : run.address;
    const there = await whoAnswers(socket, version);
    if (there === undefined) return undefined;
    const { createClient } = await import("../client/create-node-client.ts");
    const client = createClient({ url: `unix:${socket}`, commandHints: true });
    return { syncs: client.syncs, pid: there.pid, [Symbol.asyncDispose]: () => client.close() };
  };
}
