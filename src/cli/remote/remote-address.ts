import { ChronicleError } from "../../core/values/errors.ts";
import type { Input } from "../../process/input.ts";
import type { Io } from "../../process/io.ts";
import { type CommandSpec, optionName } from "../table/spec.ts";
import { usageError } from "../../process/usage-error.ts";

/** A server that replaces the store, and perhaps one of its workspaces. */
export interface RemoteAddress {
  /**
   * `http://127.0.0.1:7420`, `https://…`, or `unix:/path/of/the/socket`. `unix:` alone: the socket of this machine's
   * own store.
   */
  readonly url: string;
  /** The text behind `#`: a workspace's id or name. */
  readonly workspace: string | undefined;
}

/**
 * Parses `URL` or `URL#WORKSPACE`; `from`: the option or variable that gave it. Throws `USAGE`. Names and ids contain
 * no `#`, but a socket's path may.
 */
export function parseRemote(text: string, from: string): RemoteAddress {
  const at = text.lastIndexOf("#");
  const url = at < 0 ? text : text.slice(0, at);
  refuseNoAddress(url, from);
  const workspace = at < 0 ? "" : text.slice(at + 1);
  return { url, workspace: workspace === "" ? undefined : workspace };
}

const FORMS =
  "it is http://HOST:PORT, https://HOST:PORT, unix:/PATH of a socket, or unix: alone (the server of this machine's own store); " +
  "each may have #WORKSPACE behind it";

function refuseNoAddress(url: string, from: string): void {
  if (url === "") throw usageError(`${from} has a workspace and no server`, FORMS);
  if (url.startsWith("unix:")) {
    const path = url.slice("unix:".length);
    if (path === "" || path.startsWith("/")) return;
    throw usageError(`${from}: ${path} is no absolute path of a socket`, FORMS);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // The address may contain a password, so it is not printed.
  if (parsed !== undefined && (parsed.username !== "" || parsed.password !== "")) {
    throw usageError(
      `${from}: a server's address has no user and no password in it`,
      "give the token by $CHRONICLE_TOKEN or --token-file FILE",
    );
  }
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol) || parsed.search !== "") {
    throw usageError(`${from}: ${url} is no address of a server`, FORMS);
  }
}

/**
 * Returns the server for a command line: `--remote`, else `$CHRONICLE_REMOTE`, unless it is empty. `undefined`: the
 * store of this machine, also if the variable is set and `--store` is given, or the command ignores the variable.
 * Throws `USAGE` for an invalid address, for both options, and for a command, or an option, that works on this machine
 * only.
 */
export function remoteOf(
  { env }: Pick<Io, "env">,
  input: Input,
  spec: CommandSpec | undefined,
): RemoteAddress | undefined {
  const given = input.text("remote");
  const text = given ?? env["CHRONICLE_REMOTE"] ?? "";
  const here = spec?.localOnly;
  if (text === "" || (given === undefined && here?.ignoresEnvironment === true)) return undefined;
  if (input.text("store") !== undefined) {
    if (given === undefined) return undefined;
    throw usageError("--store is on this machine, and --remote is a server", "give one of them");
  }
  const from = given === undefined ? "CHRONICLE_REMOTE" : "--remote";
  if (here === undefined) return parsedFor(parseRemote(text, from), input, spec);
  const not = given === undefined ? "; not with the server: add --remote ''" : "";
  throw usageError(`${spec?.name} works on this machine only, not with ${from}`, `${here.instead}${not}`);
}

/** Returns the address. Throws `USAGE` if one of the given options works on this machine only. */
function parsedFor(address: RemoteAddress, input: Input, spec: CommandSpec | undefined): RemoteAddress {
  const option = spec?.options.find((one) => one.localOnly !== undefined && input.has(optionName(one)));
  if (option?.localOnly === undefined) return address;
  throw usageError(option.localOnly.why, option.localOnly.instead);
}

/** Adds a hint for the command line to a server's `UNAUTHENTICATED`; returns other errors as they are. */
export function withRemoteHint(error: unknown): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "UNAUTHENTICATED") return error;
  const { code, message, data } = error;
  const hint =
    "give a token by $CHRONICLE_TOKEN or --token-file (`chronicle token create` on the server's machine makes one); " +
    "there, its owner needs none: --remote unix:";
  return new ChronicleError(code, message, { hint, data, cause: error });
}
