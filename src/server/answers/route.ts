import type { IncomingHttpHeaders } from "node:http";

/** A request whose body has been read. */
export interface ServerRequest {
  readonly method: string;
  /** Decoded once, without the query. */
  readonly path: string;
  /** What stands at the `:name`s of the route's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Asked on the owner's Unix socket. */
  readonly isOwner: boolean;
}

export interface ServerReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** One thing that the server answers. The surfaces bring theirs along: hooks now, files and history later. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `/hooks/:agent`: a `:name` stands for one component. */
  readonly path: string;
  /** Bytes; more is refused before it is read. */
  readonly maxBody: number;
  /** Answered to anybody, also without a token. Others are for the owner on the Unix socket. */
  readonly open?: true;
  /** Answered to an operator of the whole store, too, on a port. */
  readonly forOperators?: true;
  handle(request: ServerRequest): Promise<ServerReply>;
}

/** A route, and what stands at its names. */
export interface RouteMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The route for a path (still encoded); `undefined`: there is none. */
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
    // Not UTF-8, percent-encoded: no route has that.
    return undefined;
  }
}
