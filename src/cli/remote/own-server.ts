import { ChronicleError } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { isOwnAddress, ownUid, runFolder } from "../../daemon/run-folder.ts";
import { placesOf } from "../../process/places.ts";
import type { Io } from "../../process/io.ts";

/**
 * The server of this machine's own store, for a bare `unix:`. Throws `UNSAFE` if its socket could be another user's.
 */
export function ownServer({ env, userHome, cwd }: Pick<Io, "env" | "userHome" | "cwd">): string {
  const disk = new NodeDisk();
  const { home } = placesOf({ env, userHome, cwd, store: undefined });
  const run = runFolder(disk, { env, home, uid: ownUid() });
  if (isOwnAddress(disk, run, ownUid())) return `unix:${run.address}`;
  throw new ChronicleError("UNSAFE", `${run.address} leads to a folder that is not yours alone`, {
    hint: "look at it, remove it, and start the server anew: chronicle serve",
    data: { path: run.address },
  });
}
