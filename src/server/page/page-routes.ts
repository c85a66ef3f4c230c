import type { Connection, ServerReply, ServerRequest, ServerRoute } from "../answers/server-route.ts";
import { makeProblem, problemReply } from "../answers/problem.ts";
import { WRONG } from "../callers/authenticate.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import { chosenEncoding, contentTypeOf } from "./page-asset.ts";
import type { PageSessions } from "./page-sessions.ts";

/** The built files of the page. */
export interface PageFiles {
  /** Returns the paths of the files: `index.html`, `assets/app-1a2b3c.js`, `assets/app-1a2b3c.js.br` … */
  list(): ReadonlySet<string>;
  /** Reads a file of the list. Returns `undefined` if it was removed in the meantime. */
  read(path: string): Uint8Array | undefined;
}

interface PageParts {
  readonly files: PageFiles;
  readonly sessions: PageSessions;
  /** In epoch milliseconds. */
  readonly now: () => number;
  /** True if another user of this machine holds the other end of the connection. */
  readonly isForeign: (connection: Connection) => boolean;
}

export const INDEX = "index.html";

/**
 * The paths of the page's own views. The server answers each of them with `index.html`. If a path were missing here,
 * the browser could not reload that view.
 */
const ADDRESSES = ["/", "/home", "/connect", "/w/:workspace", "/w/:workspace/:view", "/w/:workspace/:view/:item"];

/** Matches the host of a request that comes from this machine itself, and not through a proxy. */
const LOOPBACK = /^(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?$/i;

/** The maximum size of the body with a code, in bytes. */
const MAX_BODY = 1_024;

const YEAR_SECONDS = 31_536_000;

/** The features of browsers that are forbidden, because the page does not use them. */
const PERMISSIONS = [
  ...["accelerometer", "autoplay", "browsing-topics", "camera", "display-capture", "encrypted-media"],
  ...["fullscreen", "gamepad", "geolocation", "gyroscope", "hid", "identity-credentials-get", "idle-detection"],
  ...["local-fonts", "magnetometer", "microphone", "midi", "payment", "picture-in-picture", "screen-wake-lock"],
  ...["serial", "storage-access", "usb", "window-management", "xr-spatial-tracking"],
];

/** Returns the routes of the page: its files, and the exchange of a code for a token. */
export function pageRoutes({ files, ...session }: PageParts): readonly ServerRoute[] {
  // A link on another site, such as in a chat, may lead to the page, because the page shows nothing without a token.
  const fromLinks = { fromLinks: true } as const;
  return [
    ...ADDRESSES.map((path) => ({ ...fileRoute(path, () => indexReply(files)), ...fromLinks })),
    fileRoute("/assets/:name", ({ params, headers }) =>
      assetReply(files, params["name"] ?? "", headers["accept-encoding"]?.toString() ?? ""),
    ),
    sessionRoute(session),
  ];
}

/** Returns the route that exchanges a code for a token. */
function sessionRoute({ sessions, now, isForeign }: Omit<PageParts, "files">): ServerRoute {
  const wrong = new RateLimiter(WRONG);
  const reply = ({ body, connection, headers: { host } }: ServerRequest): ServerReply => {
    const code = codeIn(body);
    if (code === undefined) return problemReply(NO_CODE);
    // A code with a place was put on the command line that opened the browser. All users of the machine can read this
    // command line, and could use the code before the browser does. Therefore, such a code is accepted only at its
    // place. There, the system tells which user has opened the connection.
    const place = sessions.placeOf(code);
    if (place !== undefined && !isAt(place, connection, host)) return problemReply(ELSEWHERE);
    // Any other code was printed to a terminal. A request with such a code may come through a proxy that another user
    // runs. Therefore, the user is checked only if the `Host` is a loopback address.
    const isChecked = place !== undefined || LOOPBACK.test(host ?? "");
    if (connection !== undefined && isChecked && isForeign(connection)) return problemReply(FOREIGN);
    const token = sessions.exchange(code);
    if (token === undefined) return refusedCode(wrong.take(connection?.there.address ?? "", now()));
    const headers = { "content-type": "application/json" };
    return { status: 200, headers, body: JSON.stringify({ token, role: "operator" }) };
  };
  const rules = { maxBody: MAX_BODY, open: true, ofPage: true } as const;
  return { method: "POST", path: "/page/session", ...rules, handle: (request) => Promise.resolve(reply(request)) };
}

/**
 * True if a request was sent directly to this address and port. A proxy usually forwards the `Host` of the original
 * request, which differs from this address.
 */
function isAt(place: string, connection: Connection | undefined, host: string | undefined): boolean {
  return connection !== undefined && place === `${connection.here.address}:${connection.here.port}` && place === host;
}

function fileRoute(path: string, reply: (request: ServerRequest) => ServerReply): ServerRoute {
  const rules = { maxBody: 0, open: true, ofPage: true } as const;
  return { method: "GET", path, ...rules, handle: (request) => Promise.resolve(reply(request)) };
}

function indexReply(files: PageFiles): ServerReply {
  const text = files.list().has(INDEX) ? files.read(INDEX) : undefined;
  if (text === undefined) return problemReply(NO_PAGE);
  return {
    status: 200,
    headers: { ...PAGE_HEADERS, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
    body: text,
  };
}

function assetReply(files: PageFiles, name: string, accepted: string): ServerReply {
  const path = `assets/${name}`;
  const listed = files.list();
  const type = contentTypeOf(name);
  if (type === undefined || !listed.has(path)) return problemReply(NO_FILE);
  const encoding = chosenEncoding(accepted, (suffix) => listed.has(path + suffix));
  const body = files.read(path + (encoding?.suffix ?? ""));
  if (body === undefined) return problemReply(NO_FILE);
  const headers = {
    ...PAGE_HEADERS,
    ...(encoding === undefined ? {} : { "content-encoding": encoding.name }),
    "content-type": type,
    "cache-control": `public, max-age=${YEAR_SECONDS}, immutable`,
    vary: "accept-encoding",
  };
  return { status: 200, headers, body };
}

/** The policy of the page's files. Scripts and styles come from files of the page only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY.join("; "),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": PERMISSIONS.map((name) => `${name}=()`).join(", "),
};

/** Returns the code in a body `{ "code": "…" }`; `undefined` for any other body. */
function codeIn(body: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    const isObject = typeof value === "object" && value !== null;
    return isObject && "code" in value && typeof value.code === "string" ? value.code : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the reply to a wrong code. `wait`: the seconds until the next attempt is allowed; 0 if this code was within
 * the rate limit.
 */
function refusedCode(wait: number): ServerReply {
  if (wait > 0) {
    const problem = makeProblem(429, "RATE_LIMITED", "too many wrong codes from this address");
    return problemReply(problem, { "retry-after": String(wait) });
  }
  const problem = makeProblem(401, "UNAUTHENTICATED", "this code is not known, was used or has expired");
  return problemReply({ ...problem, hint: "run `chronicle ui` again: it opens the page with a new code" });
}

const NO_CODE = makeProblem(400, "USAGE", 'the body is JSON with a code: { "code": "…" }');
const FOREIGN = {
  ...makeProblem(403, "FORBIDDEN", "this code is for another user of this machine"),
  hint: "give the page a token: `chronicle token create` makes one",
};
const ELSEWHERE = {
  ...makeProblem(403, "FORBIDDEN", "this code is for another address of this server"),
  hint: "open the address that `chronicle ui` printed, as it is",
};
const NO_FILE = makeProblem(404, "NOT_FOUND", "the page has no such file");
const NO_PAGE = {
  ...makeProblem(404, "NOT_FOUND", "this installation has no page"),
  hint: "install Chronicle from its package, or build the page: npm run build",
};
