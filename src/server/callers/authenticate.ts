import { timingSafeEqual } from "node:crypto";
import { ACTING, HINTS_HEADER } from "../../api/routes/content-headers.ts";
import { type ErrorCode, ChronicleError } from "../../core/values/errors.ts";
import { type RequestHead, strangerOf } from "../../util/web-guard.ts";
import type { Listener } from "./listener.ts";
import type { Caller } from "./caller.ts";
import { type Rate, RateLimiter } from "../limits/rate-limiter.ts";
import { hashToken, isExpired, type TokenStore } from "./token.ts";
import { optional } from "../../util/optional.ts";

/** Why a request is not served. */
export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Headers that may be sent only once: for whom the call is made, in which role, and which request it is. Two values,
 * joined, would be ambiguous.
 */
const ONCE: ReadonlySet<string> = new Set([...Object.values(ACTING), HINTS_HEADER, "idempotency-key"]);

/** Refuses requests of other web pages, by the one rule of all surfaces (`strangerOf`), as a problem. */
export function refusalOf(head: RequestHead, listener: Listener): Refusal | undefined {
  const stranger = strangerOf(head, listener.kind === "socket" ? "socket" : listener, ONCE);
  if (stranger === undefined) return undefined;
  const { status, detail } = stranger;
  const told = status === 421 ? `${detail}: the server is told its names by --allow-host NAME` : detail;
  return { status, code: status === 400 ? "USAGE" : "FORBIDDEN", detail: told };
}

/** Rate of wrong tokens from one address: a few may be mistakes. */
const WRONG: Rate = { burst: 10, perSecond: 0.2 };

/**
 * Finds the bearer of a token that is not in `book` (OIDC); `undefined` if there is none. Throws `UNAVAILABLE` if it
 * cannot tell.
 */
export type OtherIssuer = (token: string) => Promise<Caller | undefined>;

interface AuthenticatorOptions {
  readonly book: TokenStore;
  /** The operator's own token, which is not in `book`. */
  readonly operatorToken?: string;
  readonly others?: OtherIssuer;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Tells who bears a token. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #operator: Buffer | undefined;
  readonly #wrong = new RateLimiter(WRONG);

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#operator =
      options.operatorToken === undefined ? undefined : Buffer.from(hashToken(options.operatorToken), "hex");
  }

  /**
   * Finds the caller by the `Authorization` header; `address`: the caller's. Too many wrong tokens from one address are
   * told to wait. A right token never is, even one not seen before: behind a proxy all callers share an address, and no
   * token can be guessed.
   */
  async callerOf(authorization: string | undefined, address: string): Promise<Caller | Refusal> {
    const token = tokenIn(authorization);
    if (token === undefined) return refused("a token is needed: Authorization: Bearer TOKEN");
    const now = this.#options.now();
    const hash = hashToken(token);
    const caller = await this.#bearer(token, hash, now);
    if (caller === "unavailable") {
      const detail = "the provider of this token cannot be asked now";
      return { status: 503, code: "UNAVAILABLE", detail, headers: { "retry-after": "5" } };
    }
    if (caller !== undefined) return caller;
    const wait = this.#wrong.take(address, now);
    if (wait === 0) return refused("this token is not known");
    const headers = { "retry-after": String(wait) };
    return { status: 429, code: "RATE_LIMITED", detail: "too many wrong tokens from there", headers };
  }

  /**
   * The current bearer of a token that was admitted before. This is no guess, so it does not count as a wrong token.
   */
  async bearerOf(authorization: string | undefined): Promise<Caller | "unavailable" | undefined> {
    const token = tokenIn(authorization);
    return token === undefined ? undefined : this.#bearer(token, hashToken(token), this.#options.now());
  }

  async #bearer(token: string, hash: string, now: number): Promise<Caller | "unavailable" | undefined> {
    // Checked first: a token that was made for a lesser role must not count as the operator's.
    const record = this.#options.book.find(hash);
    // Compares digests: neither the length nor the time reveals how much was right.
    const isOperators = this.#operator !== undefined && timingSafeEqual(Buffer.from(hash, "hex"), this.#operator);
    if (record === undefined && isOperators) {
      return { id: "operator", name: "operator", role: "operator", isOwner: false };
    }
    if (record === undefined) return unlessAway(this.#options.others?.(token));
    if (isExpired(record, now)) return undefined;
    const { id, name, role, workspaces, replicas } = record;
    const limits = { ...(workspaces === null ? {} : { workspaces }), ...optional({ replicas }) };
    return { id: `token:${id}`, name, role, isOwner: false, ...limits };
  }
}

function tokenIn(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
}

/** While its issuer cannot be reached, a token cannot be judged, so it does not count as wrong. */
async function unlessAway(
  asking: Promise<Caller | undefined> | undefined,
): Promise<Caller | "unavailable" | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "UNAVAILABLE") return "unavailable";
    throw error;
  }
}

function refused(detail: string): Refusal {
  return { status: 401, code: "UNAUTHENTICATED", detail, headers: { "www-authenticate": "Bearer" } };
}
