import { dirname } from "node:path";
import { usageError } from "../../process/usage-error.ts";

/** `sun_path` of sockaddr_un(7), less the NUL. */
const LONGEST = 107;
/** Length in bytes of the longest name, with its slash, under which a server first creates its socket: `/.4194304`. */
const BIRTH_NAME = 9;

/** Throws `USAGE` for a path that is too long for a socket. `isServed`: true for one to listen on. */
export function refuseLongSocket(path: string, isServed: boolean): void {
  const bytes = Buffer.byteLength(path);
  const needed = isServed ? Math.max(bytes, Buffer.byteLength(dirname(path)) + BIRTH_NAME) : bytes;
  if (needed <= LONGEST) return;
  throw usageError(
    `${path} is too long for a socket: it takes ${needed} bytes, and the system has ${LONGEST}`,
    isServed
      ? "choose a shorter one: --socket PATH"
      : "make a link with a shorter name to its folder, and name it by that",
  );
}
