import { dirname } from "node:path";
import { usageError } from "../../process/usage-error.ts";
import { ChronicleError } from "../../core/values/errors.ts";

/** Node's error for a port that it cannot listen on. */
interface ListenError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

function isListenError(error: unknown): error is ListenError {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return false;
  // A Unix socket's address is its path.
  const isPort = error.syscall === "listen" && "address" in error && !String(error.address).startsWith("/");
  return isPort || error.syscall === "getaddrinfo";
}

/**
 * Returns an error with the reason and a hint for an error of listening: `REFUSED` if the port is taken or reserved by
 * the system, `USAGE` for an address that is not this machine's. Returns other errors as they are.
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
        "choose another, or any that is free: --port 0",
      );
    case "EACCES":
      return refused(`this user may not listen on port ${port} of ${address}`, "choose one of 1024 or more");
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return usageError(
        `${address} is no address of this machine`,
        "--listen takes one of its own, 0.0.0.0 or [::] for all of them",
      );
    default:
      return error;
  }
}

/** The length of the longest path of a socket, in bytes: `sun_path` of unix(7), less the NUL. */
const LONGEST = 107;

/**
 * The length in bytes of the longest name, with its slash, under which a server first creates its socket: `/.4194304`.
 */
const FIRST_NAME = 9;

/** Throws `USAGE` for a path that is too long for a socket. `isServed`: true for a socket to listen on. */
export function refuseLongSocket(path: string, isServed: boolean): void {
  const bytes = Buffer.byteLength(path);
  const needed = isServed ? Math.max(bytes, Buffer.byteLength(dirname(path)) + FIRST_NAME) : bytes;
  if (needed <= LONGEST) return;
  throw usageError(
    `${path} is too long for a socket: it takes ${needed} bytes, and the system has ${LONGEST}`,
    isServed
      ? "choose a shorter one: --socket PATH"
      : "make a link with a shorter name to its folder, and name it by that",
  );
}
