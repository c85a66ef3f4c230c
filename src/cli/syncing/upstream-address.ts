import { refuseLongSocket } from "../../daemon/listen-trouble.ts";
import { usageError } from "../../process/usage-error.ts";
import { typedPath } from "../../process/user-path.ts";

export interface UpstreamAddress {
  /** `http(s)://HOST:PORT`, `ws(s)://…`, or `unix:/PATH`. */
  readonly url: string;
  /** The id or name of a workspace: the text after `#`; `undefined` if there is none. */
  readonly workspace: string | undefined;
}

const FORMS =
  "an address is http(s)://HOST:PORT, ws(s)://HOST:PORT, or unix:/PATH of a socket; #WORKSPACE may follow the address";

/**
 * Parses `URL` or `URL#WORKSPACE`. The last `#` separates the parts, because a socket's path may contain `#`, while
 * names and ids do not. `cwd`: the folder that a relative path of a socket starts from. Throws `USAGE` for an invalid
 * address.
 */
export function parseUpstream(text: string, cwd: string): UpstreamAddress {
  const at = text.lastIndexOf("#");
  const url = at < 0 ? text : text.slice(0, at);
  const workspace = at < 0 ? "" : text.slice(at + 1);
  return { url: originUrl(url, cwd), workspace: workspace === "" ? undefined : workspace };
}

/** Returns the address of an origin in the form in which it is stored. Throws `USAGE` for an invalid address. */
export function originUrl(url: string, cwd: string): string {
  if (url.startsWith("unix:")) return socketUrl(url.slice("unix:".length).replace(/^\/\/(?=\/)/, ""), cwd);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // The address is not printed, because it may contain a password.
  if (parsed !== undefined && (parsed.username !== "" || parsed.password !== "")) {
    throw usageError(
      "an origin's address has no user and no password in it",
      "give the token by $CHRONICLE_TOKEN or --token-file FILE",
    );
  }
  const isKnown = parsed !== undefined && ["http:", "https:", "ws:", "wss:"].includes(parsed.protocol);
  if (!isKnown || parsed.search !== "" || parsed.hash !== "")
    throw usageError(`${url} is no address of an origin`, meantBy(url));
  // Removes slashes at the end and the path `/v1/replicate`. People may paste an address with this path, and clients
  // add the path themselves.
  return `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, "").replace(/\/v1\/replicate$/, "")}`;
}

function meantBy(text: string): string {
  if (/^\.{0,2}\//.test(text)) return `for a socket: unix:${text}`;
  return /^[\w.-]+:\d+$/.test(text) ? `http://${text}, or https://${text}` : FORMS;
}

/**
 * Returns the address of a socket from its path as it was typed. Throws `USAGE` if the path is empty, begins with `~`,
 * or is too long.
 */
export function socketUrl(path: string, cwd: string): string {
  if (path === "") throw usageError("unix: has no path", FORMS);
  const whole = typedPath(cwd, "the path of the socket", path);
  refuseLongSocket(whole, false);
  return `unix:${whole}`;
}
