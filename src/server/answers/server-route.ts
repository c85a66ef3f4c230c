import type { IncomingHttpHeaders } from "node:http";

export interface ServerRequest {
  readonly method: string;
  /** The path, decoded once, without the query. */
  readonly path: string;
  /** Maps the name of each `:name` component in the route's path to the component of the request's path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** True on the owner's Unix socket. */
  readonly isOwner: boolean;
  /** The ends of the connection; `undefined` on a Unix socket. */
  readonly connection: Connection | undefined;
}

/** The ends of a TCP connection: this server's, and the client's. */
export interface Connection {
  readonly here: ConnectionEnd;
  readonly there: ConnectionEnd;
}

interface ConnectionEnd {
  readonly address: string;
  readonly port: number;
}

export interface ServerReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A quick route: a route that is answered without loading the app. */
export interface ServerRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `:name` matches any one component, as in `/hooks/:agent`. */
  readonly path: string;
  /** The maximum size of the body, in bytes. A larger body is refused with 413. */
  readonly maxBody: number;
  /**
   * True if the route answers every caller, without a token. If absent, the route answers only the owner on the Unix
   * socket, and the operators that `forOperators` admits.
   */
  readonly open?: true;
  /** True if the route also answers operators of the whole store on a port. */
  readonly forOperators?: true;
  /**
   * True if the route exists only on listeners that offer the page. Such a route also takes HEAD if its method is GET.
   */
  readonly ofPage?: true;
  /**
   * True if a link on a page of another site may lead to the route. The answer to such a request must reveal nothing
   * and change nothing.
   */
  readonly fromLinks?: true;
  handle(request: ServerRequest): Promise<ServerReply>;
}

export interface RouteMatch {
  readonly route: ServerRoute;
  readonly params: Readonly<Record<string, string>>;
}

interface MatchedRequest {
  readonly method: string;
  /** The path, still percent-encoded. */
  readonly path: string;
  /** True if the request's listener offers the page. */
  readonly hasPage: boolean;
}

/**
 * Returns the quick route for a request, if there is one. The few quick routes are compared one by one, because loading
 * a router would slow down hooks.
 */
export function matchRoute(
  routes: readonly ServerRoute[],
  { method, path, hasPage }: MatchedRequest,
): RouteMatch | undefined {
  // All paths that begin with `/v1/` belong to the app.
  if (path.startsWith("/v1/")) return undefined;
  const given = path.split("/").map(decoded);
  const route = routes.find((one) => {
    if (one.ofPage === true && !hasPage) return false;
    const takes = one.method === method || (one.ofPage === true && one.method === "GET" && method === "HEAD");
    return takes && fits(one.path.split("/"), given);
  });
  if (route === undefined) return undefined;
  const parts = route.path.split("/").entries();
  const named = parts.filter(([, part]) => part.startsWith(":"));
  return { route, params: Object.fromEntries(named.map(([at, part]) => [part.slice(1), given[at] ?? ""])) };
}

function fits(wanted: readonly string[], given: readonly (string | undefined)[]): boolean {
  if (wanted.length !== given.length) return false;
  return wanted.every((part, at) => (part.startsWith(":") ? given[at] !== undefined : part === given[at]));
}

/** Returns the decoded component; `undefined` if it is not valid percent-encoded UTF-8. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
