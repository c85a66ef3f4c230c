import type { IncomingMessage } from "node:http";
import type { Authenticator } from "./authenticate.ts";
import { type Caller, OWNER } from "./caller.ts";
import type { Door } from "./door.ts";
import { type Refusal, refusalOf } from "./guard.ts";
import type { ServerLimits } from "./limits.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** A request that was let in. */
export interface Visit {
  readonly caller: Caller;
  readonly door: Door;
}

/**
 * Who is let in, on every surface: HTTP, and upgrades to WebSocket. Nothing of a request but its head is looked at before.
 */
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

  /** `isOpen`: anybody may ask this, without a token. */
  async admit(request: IncomingMessage, door: Door, isOpen = false): Promise<Visit | Refusal> {
    const { headers, url = "/" } = request;
    const refused = refusalOf({ headers, url }, door);
    if (refused !== undefined) return refused;
    if (door.kind === "socket") return { caller: OWNER, door };
    if (isOpen) return { caller: ANYBODY, door };
    const caller = await this.#authenticator.callerOf(headers.authorization, request.socket.remoteAddress ?? "");
    if ("status" in caller) return caller;
    const wait = this.#limiters[caller.role].take(caller.id, this.#now());
    if (wait === 0) return { caller, door };
    const detail = "too many requests with this token";
    return { status: 429, code: "RATE_LIMITED", detail, headers: { "retry-after": String(wait) } };
  }
}

/** Whoever asks whether the server lives. */
const ANYBODY: Caller = { id: "anybody", name: "anybody", role: "reader", workspaces: [], isOwner: false };
