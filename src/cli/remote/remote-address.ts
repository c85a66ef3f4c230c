import { ChronicleError } from "../../core/values/errors.ts";
import type { Input } from "../../process/input.ts";
import type { Io } from "../../process/io.ts";
import { type CommandSpec, optionName } from "../table/spec.ts";
import { usageError } from "../../process/usage-error.ts";

/**
 * The address of a server that is used instead of the store of this machine. The address may also name one of the
 * server's workspaces.
 */
export interface RemoteAddress {
  /**
   * `http://127.0.0.1:7420`, `https://…` or `unix:/path/of/the/socket`. `unix:` alone is the socket of this machine's
   * own store.
   */
  readonly url: string;
  /** The id or name of a workspace: the text after `#`. */
  readonly workspace: string | undefined;
}

/**
 * Parses `URL` or `URL#WORKSPACE`. The last `#` separates the parts, because a socket's path may contain `#`, while
 * names and ids do not. `from`: the option or variable with the address. Throws `USAGE` for an invalid address.
 */
export function parseRemote(text: string, from: string): RemoteAddress {
  const at = text.lastIndexOf("#");
  const url = at < 0 ? text : text.slice(0, at);
  refuseNoAddress(url, from);
  const workspace = at < 0 ? "" : text.slice(at + 1);
  return { url, workspace: workspace === "" ? undefined : workspace };
}

const FORMS =
  "an address is http://HOST:PORT, https://HOST:PORT, unix:/PATH of a socket, or unix: alone (the server of this machine's own store); " +
  "#WORKSPACE may follow the address";

function refuseNoAddress(url: string, from: string): void {
  if (url === "") throw usageError(`${from} has a workspace and no server`, FORMS);
  if (url.startsWith("unix:")) {
    const path = url.slice("unix:".length);
    if (path === "" || path.startsWith("/")) return;
    throw usageError(`${from}: ${path} is no absolute path of a socket`, FORMS);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // The address is not printed, because it may contain a password.
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
 * Returns the server that `--remote` or else `$CHRONICLE_REMOTE` names. Returns `undefined`, which means the store of
 * this machine, in these cases:
 * - Neither is set, or the value is empty.
 * - Only the variable is set, and `--store` is given.
 * - Only the variable is set, and the command ignores it.
 *
 * Throws `USAGE` for an invalid address, for `--remote` together with `--store`, and for a command or an option that
 * only works on this machine.
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
    throw usageError("--store names a store on this machine, and --remote names a server", "give one of them");
  }
  const from = given === undefined ? "CHRONICLE_REMOTE" : "--remote";
  if (here === undefined) return parsedFor(parseRemote(text, from), input, spec);
  const not = given === undefined ? "; to use no server: add --remote ''" : "";
  throw usageError(`${spec?.name} works on this machine only, not with ${from}`, `${here.instead}${not}`);
}

/** Returns the address. Throws `USAGE` if one of the given options only works on this machine. */
function parsedFor(address: RemoteAddress, input: Input, spec: CommandSpec | undefined): RemoteAddress {
  const option = spec?.options.find((one) => one.localOnly !== undefined && input.has(optionName(one)));
  if (option?.localOnly === undefined) return address;
  throw usageError(option.localOnly.why, option.localOnly.instead);
}

/** Replaces the hint of a server's `UNAUTHENTICATED` by a hint for the command line. Returns other errors unchanged. */
export function withRemoteHint(error: unknown): unknown {
  if (!(error instanceof ChronicleError) || error.code !== "UNAUTHENTICATED") return error;
  const { code, message, data } = error;
  const hint =
    "give a token by $CHRONICLE_TOKEN or --token-file (`chronicle token create` on the server's machine makes " +
    "one); on that machine, the store's owner needs no token: --remote unix:";
  return new ChronicleError(code, message, { hint, data, cause: error });
}
