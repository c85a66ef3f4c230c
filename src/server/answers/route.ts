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

/** Returns the route for a path (still encoded); `undefined` if there is none. */
export function matchRoute(routes: readonly Route[], method: string, path: string): RouteMatch | undefined {
  for (const route of routes) {
    const params = route.method === method ? paramsOf(route.path, path) : undefined;
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = decoded(given[at] ?? "");
    if (value === undefined) return undefined;
    if (part.startsWith(":")) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // The path is not percent-encoded UTF-8, which no route has.
    return undefined;
  }
}
