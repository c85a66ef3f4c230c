import { refuseLongSocket } from "../serving/listen-trouble.ts";
import { usageError } from "../../process/usage-error.ts";
import { typedPath } from "../../process/user-path.ts";

/** The address of an origin, and the workspace meant there. */
export interface UpstreamAddress {
  /** `http(s)://HOST:PORT`, `ws(s)://…`, or `unix:/PATH`. */
  readonly url: string;
  readonly workspace: string | undefined;
}

const FORMS =
  "it is http(s)://HOST:PORT, ws(s)://HOST:PORT, or unix:/PATH of a socket; each may have #WORKSPACE behind it";

/**
 * Parses `URL` or `URL#WORKSPACE`. A workspace's name or id contains no `#`, but a socket's path may. Throws `USAGE`.
 */
export function parseUpstream(text: string, cwd: string): UpstreamAddress {
  const at = text.lastIndexOf("#");
  const url = at < 0 ? text : text.slice(0, at);
  const workspace = at < 0 ? "" : text.slice(at + 1);
  return { url: originUrl(url, cwd), workspace: workspace === "" ? undefined : workspace };
}

/** Returns an origin's address in the form that is stored. Throws `USAGE`. */
export function originUrl(url: string, cwd: string): string {
  if (url.startsWith("unix:")) return socketUrl(url.slice("unix:".length).replace(/^\/\/(?=\/)/, ""), cwd);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // The address may contain a password, so it is not printed.
  if (parsed !== undefined && (parsed.username !== "" || parsed.password !== "")) {
    throw usageError(
      "an origin's address has no user and no password in it",
      "give the token by $CHRONICLE_TOKEN or --token-file FILE",
    );
  }
  const isKnown = parsed !== undefined && ["http:", "https:", "ws:", "wss:"].includes(parsed.protocol);
  if (!isKnown || parsed.search !== "" || parsed.hash !== "")
    throw usageError(`${url} is no address of an origin`, meantBy(url));
  // The path for replicas is removed: clients of a server add it, and people may paste it with the address.
  return `${parsed.protocol}//${parsed.host}${parsed.pathname.replace(/\/+$/, "").replace(/\/v1\/replicate$/, "")}`;
}

/** Returns a hint for an address without a known scheme. */
function meantBy(text: string): string {
  if (/^\.{0,2}\//.test(text)) return `for a socket: unix:${text}`;
  return /^[\w.-]+:\d+$/.test(text) ? `http://${text}, or https://${text}` : FORMS;
}

/** Returns the address of a Unix socket by its path as typed. Throws `USAGE`. */
export function socketUrl(path: string, cwd: string): string {
  if (path === "") throw usageError("unix: has no path", FORMS);
  const whole = typedPath(cwd, "the path of the socket", path);
  refuseLongSocket(whole, false);
  return `unix:${whole}`;
}
