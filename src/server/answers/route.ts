import type { IncomingHttpHeaders } from "node:http";

/** A request whose body has been read. */
export interface ServerRequest {
  readonly method: string;
  /** The path, decoded once, without the query. */
  readonly path: string;
  /** Values of the `:name`s of the route's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** True if it came on the owner's Unix socket. */
  readonly isOwner: boolean;
}

export interface ServerReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** One quick route of the server. Each surface brings its own. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `/hooks/:agent`: a `:name` stands for one component. */
  readonly path: string;
  /** The most bytes of a body; a larger one is refused before it is read. */
  readonly maxBody: number;
  /** Answers anybody, also without a token. Other routes are for the owner on the Unix socket. */
  readonly open?: true;
  /** Also answers an operator of the whole store on a port. */
  readonly forOperators?: true;
  handle(request: ServerRequest): Promise<ServerReply>;
}

/** A route, and the values of its names. */
export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Returns the route for a path (still encoded); `undefined` if there is none. There are four, which are compared one by
 * one: for hooks no router is loaded.
 */
export function matchRoute(routes: readonly Route[], method: string, path: string): RouteMatch | undefined {
  // All of the app's routes, and none of these.
  if (path.startsWith("/v1/")) return undefined;
  const given = path.split("/").map(decoded);
  const route = routes.find((one) => one.method === method && fits(one.path.split("/"), given));
  if (route === undefined) return undefined;
  const parts = route.path.split("/").entries();
  const named = parts.filter(([, part]) => part.startsWith(":"));
  return { route, params: Object.fromEntries(named.map(([at, part]) => [part.slice(1), given[at] ?? ""])) };
}

function fits(wanted: readonly string[], given: readonly (string | undefined)[]): boolean {
  if (wanted.length !== given.length) return false;
  return wanted.every((part, at) => (part.startsWith(":") ? given[at] !== undefined : part === given[at]));
}

/** `undefined` for text that is not percent-encoded UTF-8, which no route has. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
