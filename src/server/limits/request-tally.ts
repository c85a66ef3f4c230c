import type { IncomingMessage, ServerResponse } from "node:http";

/** A request that was answered or aborted. */
export interface EndedRequest {
  readonly method: string;
  /** The pattern of its route, or `none`; never text from a client. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

interface OpenRequest {
  readonly began: number;
  route: string;
}

const METHODS = new Set(["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"]);

/** Tracks the open requests, and reports each one that ends. */
export class RequestTally {
  readonly #open = new Map<IncomingMessage, OpenRequest>();
  /** Called for each request that ends, once it is set. */
  onEnd: ((ended: EndedRequest) => void) | undefined;

  /** Counts a request until its answer is sent or its client is gone. */
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

  /** Sets the route of a request, once it is known. */
  name(request: IncomingMessage, route: string): void {
    const open = this.#open.get(request);
    if (open !== undefined) open.route = route;
  }

  /** Returns the number of open requests; with `route`, of that route. */
  open(route?: string): number {
    if (route === undefined) return this.#open.size;
    let count = 0;
    for (const one of this.#open.values()) if (one.route === route) count += 1;
    return count;
  }
}
