import type { IncomingMessage } from "node:http";
import { type Authenticator, type Refusal, refusalOf } from "./authenticate.ts";
import { type Caller, OWNER } from "./caller.ts";
import type { Listener, TcpListener } from "./listener.ts";
import type { ServerLimits } from "../limits/limits.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";

export interface AdmittedRequest {
  readonly caller: Caller;
  readonly listener: Listener;
  /**
   * Resolves to true if the token is still valid and has the same role, workspaces and replicas. Also resolves to true
   * if the token cannot be checked now. Always true for a request that needs no token. Called repeatedly for long-lived
   * connections, and again right before a change is made.
   */
  readonly isStillAdmitted: () => Promise<boolean>;
}

interface RouteRules {
  /** True if the route needs no token. Default: false. */
  readonly isOpen?: boolean;
  /** True if a link on a page of another site may lead to the route. Default: false. */
  readonly fromLinks?: boolean;
}

/** Decides which requests are served, before their bodies are read. Limits the rate of requests of each token. */
export class Admission {
  readonly #authenticator: Authenticator;
  readonly #limiters: Readonly<Record<Caller["role"], RateLimiter>>;
  readonly #now: () => number;

  constructor(
    authenticator: Authenticator,
    { limits, now }: { readonly limits: ServerLimits; readonly now: () => number },
  ) {
    const { reader, agent, operator } = limits.rates;
    this.#authenticator = authenticator;
    this.#now = now;
    this.#limiters = {
      reader: new RateLimiter(reader),
      agent: new RateLimiter(agent),
      operator: new RateLimiter(operator),
    };
  }

  /**
   * Returns the admitted request, or a refusal. A request on the Unix socket is the owner's.
   */
  async admit(
    request: IncomingMessage,
    listener: Listener,
    { isOpen = false, fromLinks = false }: RouteRules = {},
  ): Promise<AdmittedRequest | Refusal> {
    const { headers, rawHeaders, url = "/" } = request;
    const refused = refusalOf({ headers, rawHeaders, url }, listener, fromLinks);
    if (refused !== undefined) return refused;
    if (listener.kind === "socket") return { caller: OWNER, listener, isStillAdmitted };
    if (isOpen) return { caller: ANYBODY, listener, isStillAdmitted };
    const caller = await this.#callerOf(request, listener);
    if ("status" in caller) return caller;
    const wait = this.#limiters[caller.role].take(caller.id, this.#now());
    if (wait === 0) return { caller, listener, isStillAdmitted: () => this.#isStill(caller, request, listener) };
    const detail = "too many requests with this token";
    return { status: 429, code: "RATE_LIMITED", detail, headers: { "retry-after": String(wait) } };
  }

  #callerOf({ headers, socket }: IncomingMessage, { page }: TcpListener): Promise<Caller | Refusal> {
    return this.#authenticator.callerOf(headers.authorization, socket.remoteAddress ?? "", page);
  }

  async #isStill(caller: Caller, request: IncomingMessage, { page }: TcpListener): Promise<boolean> {
    const again = await this.#authenticator.bearerOf(request.headers.authorization, page);
    // If the token cannot be checked now, the result of the earlier check applies.
    return again === "unavailable" || (again !== undefined && rightsOf(again) === rightsOf(caller));
  }
}

function rightsOf({ id, role, workspaces, replicas }: Caller): string {
  return JSON.stringify([id, role, workspaces ?? null, replicas ?? null]);
}

/** The check for callers that were admitted without a token. It always resolves to true. */
const isStillAdmitted = (): Promise<boolean> => Promise.resolve(true);

/** The caller of a route that needs no token. */
const ANYBODY: Caller = { id: "anybody", name: "anybody", role: "reader", workspaces: [], isOwner: false };
