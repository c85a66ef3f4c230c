import { dirname, join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import type { HttpServer } from "../server/http-server.ts";
import { ownFolder, removeSmall, type RunFolder } from "./run-folder.ts";

/** The path at which clients reach a server. */
export interface ServerSocket {
  /** False if another server has replaced the socket, or if the socket was removed. */
  isOurs(): boolean;
  /** Removes the socket and the link to it, if they still belong to this server. */
  release(): void;
}

/**
 * Makes a server listen at the path of its run folder. The socket is created under a temporary name and then renamed,
 * so that it replaces the socket of a server that has died. If two servers start at the same time, the last rename
 * wins, and `isOurs` becomes false for the other server. Throws system errors, and `UNSAFE` if others can enter the run
 * folder or the folder of the socket.
 */
export async function openSocket(
  disk: Disk,
  server: HttpServer,
  { run, uid }: { readonly run: RunFolder; readonly uid: number },
): Promise<ServerSocket> {
  const { address, socket } = run;
  ownFolder(disk, run.folder, uid);
  ownFolder(disk, dirname(socket), uid);
  const born = join(dirname(socket), `.${process.pid}`);
  removeSmall(disk, born);
  await server.listen(born);
  const own = disk.lstat(born);
  disk.rename(born, socket);
  if (address !== socket) {
    const link = `${address}.${process.pid}`;
    removeSmall(disk, link);
    disk.symlink(Buffer.from(socket), link);
    disk.rename(link, address);
  }
  const leads = (): boolean => address === socket || linkTarget(disk, address) === socket;
  const isOurs = (): boolean => {
    const now = disk.lstat(socket);
    return now !== undefined && now.ino === own?.ino && now.dev === own.dev;
  };
  return {
    isOurs: () => isOurs() && leads(),
    release: () => {
      if (!isOurs()) return;
      removeSmall(disk, socket);
      if (leads()) removeSmall(disk, address);
    },
  };
}

function linkTarget(disk: Disk, path: string): string | undefined {
  return disk.lstat(path)?.kind === "symlink" ? disk.readlink(path).toString() : undefined;
}
