import { NodeDisk } from "../../disk/node-disk.ts";
import { refuseOwnFolders } from "../../disk/refuse-own-folders.ts";
import type { Input } from "../../process/input.ts";
import type { Io } from "../../process/io.ts";
import { ownFolders } from "../../process/places.ts";
import { typedPath } from "../../process/user-path.ts";

interface Given {
  readonly io: Io;
  readonly input: Input;
}

/**
 * Returns the absolute path of a file or folder that a command will write. Throws the errors of `typedPath`, and
 * `UNSAFE` for a path in the store or the configuration folder, because commands must not write their output there.
 * `what` names the option or argument. `cwd` is the folder from which relative paths start. It must be given if the
 * current folder may have been removed since the command was started.
 */
export function writtenPath(
  given: Given,
  what: string,
  typed: string,
  cwd: string | (() => string) = () => given.io.cwd(),
): string {
  const path = typedPath(cwd, what, typed);
  refuseOwn(given, what, path, cwd);
  return path;
}

/** Throws `UNSAFE` for a path in the store or the configuration folder. */
export function refuseOwn(
  { io, input }: Given,
  what: string,
  path: string,
  cwd: string | (() => string) = () => io.cwd(),
): void {
  const inputs = { env: io.env, userHome: io.userHome, cwd, store: input.text("store") };
  refuseOwnFolders(new NodeDisk(), path, what, ownFolders(inputs));
}
