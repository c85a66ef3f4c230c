import { dirname, join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import type { HttpServer } from "../server/http-server.ts";
import { ownFolder, removeSmall, type RunFolder } from "./run-folder.ts";

/** The name under which a server can be reached. */
export interface ServerSocket {
  /** Is the name this server's still? Another one may have taken it, or somebody removed it. */
  isOurs(): boolean;
  /** Takes the name away, if it is this server's. */
  release(): void;
}

/**
 * Makes a server reachable. It is born under a name of its own and renamed over whatever had the name: a dead server's
 * socket is replaced, and of two that start at once the last has the name; the other sees that, and leaves.
 * Throws `UNSAFE` if the folder is not this user's alone, else system errors.
 */
export async function openSocket(
  disk: Disk,
  server: HttpServer,
  { run, uid }: { readonly run: RunFolder; readonly uid: number },
): Promise<ServerSocket> {
  const { door, socket } = run;
  ownFolder(disk, run.folder, uid);
  ownFolder(disk, dirname(socket), uid);
  const born = join(dirname(socket), `.${process.pid}`);
  removeSmall(disk, born);
  await server.listen(born);
  const own = disk.lstat(born);
  disk.rename(born, socket);
  if (door !== socket) {
    const link = `${door}.${process.pid}`;
    removeSmall(disk, link);
    disk.symlink(Buffer.from(socket), link);
    disk.rename(link, door);
  }
  const leads = (): boolean => door === socket || linkTarget(disk, door) === socket;
  const isOurs = (): boolean => {
    const now = disk.lstat(socket);
    return now !== undefined && now.ino === own?.ino && now.dev === own.dev;
  };
  return {
    isOurs: () => isOurs() && leads(),
    release: () => {
      if (!isOurs()) return;
      removeSmall(disk, socket);
      if (leads()) removeSmall(disk, door);
    },
  };
}

function linkTarget(disk: Disk, path: string): string | undefined {
  return disk.lstat(path)?.kind === "symlink" ? disk.readlink(path).toString() : undefined;
}
