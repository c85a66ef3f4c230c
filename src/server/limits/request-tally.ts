import type { IncomingMessage, ServerResponse } from "node:http";

/** A request that was answered, or given up. */
export interface EndedRequest {
  readonly method: string;
  /** The pattern of its route, or `none`: nothing that a client has made up. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

interface OpenRequest {
  readonly began: number;
  route: string;
}

const METHODS = new Set(["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"]);

/** Knows which requests are going on, and tells of those that have ended. */
export class RequestTally {
  readonly #open = new Map<IncomingMessage, OpenRequest>();
  /** Told of each that ends, from then on when it is set. */
  onEnd: ((ended: EndedRequest) => void) | undefined;

  /** Counts a request until its answer is sent, or its client is gone. */
  enter(request: IncomingMessage, response: ServerResponse): void {
    const open: OpenRequest = { began: performance.now(), route: "none" };
    this.#open.set(request, open);
    response.once("close", () => {
      this.#open.delete(request);
      const { method = "" } = request;
      const seconds = (performance.now() - open.began) / 1000;
      const known = METHODS.has(method) ? method : "other";
      this.onEnd?.({ method: known, route: open.route, status: response.statusCode, seconds });
    });
  }

  /** Says which route a request has turned out to take. */
  name(request: IncomingMessage, route: string): void {
    const open = this.#open.get(request);
    if (open !== undefined) open.route = route;
  }

  /** How many are going on; with `route`: of this one. */
  open(route?: string): number {
    if (route === undefined) return this.#open.size;
    let count = 0;
    for (const one of this.#open.values()) if (one.route === route) count += 1;
    return count;
  }
}
