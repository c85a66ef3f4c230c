import { dirname } from "node:path";
import { usageError } from "../process/usage-error.ts";
import { ChronicleError } from "../core/values/errors.ts";

/** Node's error for an address on which it cannot listen. */
interface ListenError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

function isListenError(error: unknown): error is ListenError {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return false;
  // The address of a Unix socket is its path, so an address that begins with `/` is no port.
  const isPort = error.syscall === "listen" && "address" in error && !String(error.address).startsWith("/");
  return isPort || error.syscall === "getaddrinfo";
}

/**
 * Returns an error with the reason and a hint, in place of Node's error for a port. The new error is `REFUSED` if the
 * port is in use or reserved by the system, and `USAGE` if the address is unknown or does not belong to this machine.
 * Returns other errors unchanged.
 */
export function listenTrouble(error: unknown): unknown {
  if (!isListenError(error)) return error;
  const { code, address = error.hostname ?? "", port } = error;
  const data = { address, port: port ?? null, errno: code };
  const refused = (message: string, hint: string): ChronicleError =>
    new ChronicleError("REFUSED", message, { hint, data, cause: error });
  switch (code) {
    case "EADDRINUSE":
      return refused(
        `port ${port} of ${address} is taken by another program`,
        "choose another port; --port 0 takes any port that is free",
      );
    case "EACCES":
      return refused(`this user may not listen on port ${port} of ${address}`, "choose a port of 1024 or more");
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return usageError(
        `${address} is no address of this machine`,
        "give --listen an address of this machine; 0.0.0.0 or [::] means all its addresses",
      );
    default:
      return error;
  }
}

/** The maximum length of a socket's path on Linux, in bytes: the size of `sun_path` without the NUL (unix(7)). */
const LONGEST = 107;

/**
 * The maximum length, in bytes, of the temporary name under which a server creates its socket. The name is `.` and the
 * process id. The length includes the slash: `/.4194304`.
 */
const FIRST_NAME = 9;

/** Throws `USAGE` for a path that is too long for a socket. `isServed`: true if a server will listen on the socket. */
export function refuseLongSocket(path: string, isServed: boolean): void {
  const bytes = Buffer.byteLength(path);
  const needed = isServed ? Math.max(bytes, Buffer.byteLength(dirname(path)) + FIRST_NAME) : bytes;
  if (needed <= LONGEST) return;
  throw usageError(
    `${path} is too long for a socket: it takes ${needed} bytes, and the system allows ${LONGEST}`,
    isServed
      ? "choose a shorter path: --socket PATH"
      : "make a link with a shorter name to its folder, and give the path through that link",
  );
}
