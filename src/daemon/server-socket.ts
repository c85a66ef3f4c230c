import { dirname, join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import type { HttpServer } from "../server/http-server.ts";
import { ownFolder, removeSmall, type RunFolder } from "./run-folder.ts";

/** The name under which a server can be reached. */
export interface ServerSocket {
  /** True if the name is still this server's. Another server may have taken it, or it may have been removed. */
  isOurs(): boolean;
  /** Removes the name, if it is this server's. */
  release(): void;
}

/**
 * Makes a server reachable. The socket is created under a name of its own and renamed over any present socket.
 * Therefore a dead server's socket is replaced. Of two servers that start at once, the last gets the name; the other
 * notices that, and leaves. Throws `UNSAFE` if the folder is not this user's alone, else system errors.
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
