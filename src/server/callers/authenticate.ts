import { timingSafeEqual } from "node:crypto";
import { ACTING, HINTS_HEADER } from "../../api/routes/content-headers.ts";
import { type ErrorCode, ChronicleError } from "../../core/values/errors.ts";
import { type RequestHead, strangerOf } from "../../util/web-guard.ts";
import type { Listener, PageTokens } from "./listener.ts";
import type { Caller } from "./caller.ts";
import { type Rate, RateLimiter } from "../limits/rate-limiter.ts";
import { hashToken, isExpired, type TokenStore } from "./token.ts";
import { optional } from "../../util/optional.ts";

/** The rate at which one address may send wrong tokens, and wrong codes of the page. */
export const WRONG: Rate = { burst: 10, perSecond: 0.2 };

/**
 * Resolves to the bearer of a token that is not in the token store but comes from another issuer (OIDC); `undefined` if
 * the token is not valid. Throws `UNAVAILABLE` if the issuer cannot be reached.
 */
export type OtherIssuer = (token: string) => Promise<Caller | undefined>;

interface AuthenticatorOptions {
  readonly book: TokenStore;
  /** The operator's token, which need not be in `book`. */
  readonly operatorToken?: string;
  /** Finds the bearers of tokens that are not in `book`. If absent, there are no such tokens. */
  readonly others?: OtherIssuer;
  /** In epoch milliseconds. */
  readonly now: () => number;
}

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
   * Returns the caller, or a refusal. A missing or wrong token gives 401, too many wrong tokens from the client's
   * `address` give 429, and an issuer that cannot be reached gives 503. A valid token is always accepted, however many
   * wrong tokens came from its address, because all clients behind a proxy share one address. This is safe, because
   * tokens are too long to be guessed. `page`: further tokens, which only this request's listener accepts.
   */
  async callerOf(authorization: string | undefined, address: string, page?: PageTokens): Promise<Caller | Refusal> {
    const token = tokenIn(authorization);
    if (token === undefined) return refused("a token is needed: Authorization: Bearer TOKEN");
    const now = this.#options.now();
    const caller = await this.#bearer(token, now, page);
    if (caller === "unavailable") {
      const detail = "the issuer of this token cannot be reached now";
      return { status: 503, code: "UNAVAILABLE", detail, headers: { "retry-after": "5" } };
    }
    if (caller !== undefined) return caller;
    const wait = this.#wrong.take(address, now);
    if (wait === 0) return refused("this token is not known");
    const headers = { "retry-after": String(wait) };
    return { status: 429, code: "RATE_LIMITED", detail: "too many wrong tokens from this address", headers };
  }

  /**
   * Returns the bearer of a token that was valid before. Returns `undefined` if the token is no longer valid, and
   * "unavailable" if its issuer cannot be reached. An invalid token does not count as a wrong token of this address.
   * `page`: as in `callerOf`.
   */
  async bearerOf(authorization: string | undefined, page?: PageTokens): Promise<Caller | "unavailable" | undefined> {
    const token = tokenIn(authorization);
    return token === undefined ? undefined : this.#bearer(token, this.#options.now(), page);
  }

  async #bearer(token: string, now: number, page?: PageTokens): Promise<Caller | "unavailable" | undefined> {
    const hash = hashToken(token);
    // If the token store also has the operator's token, the role in the token store applies.
    const known = this.#options.book.find(hash);
    const record = known ?? page?.find(hash);
    // Compare hashes in constant time, so that neither length nor time reveals anything about the operator's token.
    const isOperators = this.#operator !== undefined && timingSafeEqual(Buffer.from(hash, "hex"), this.#operator);
    if (record === undefined && isOperators) {
      return { id: "operator", name: "operator", role: "operator", isOwner: false };
    }
    if (record === undefined) return unlessAway(this.#options.others?.(token));
    if (isExpired(record, now)) return undefined;
    const { id, name, role, workspaces, replicas } = record;
    const limits = { ...(workspaces === null ? {} : { workspaces }), ...optional({ replicas }) };
    const ofPage = known === undefined ? ({ isOfPage: true } as const) : {};
    return { id: `token:${id}`, name, role, isOwner: false, ...limits, ...ofPage };
  }
}

function tokenIn(authorization: string | undefined): string | undefined {
  return /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
}

/** Returns "unavailable" if the issuer cannot be reached. The token may then be valid or not. */
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

/** The answer to a request that is not admitted. */
export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Headers that a request may have only once: those for the actor, the role, the client, the idempotency key and the
 * hints. Node joins the values of a repeated header, and the result would be ambiguous.
 */
const ONCE: ReadonlySet<string> = new Set([...Object.values(ACTING), HINTS_HEADER, "idempotency-key"]);

/**
 * Returns a refusal for an ambiguous request (400), for a host that the listener does not serve (421), and for a
 * request from a foreign web page (see `strangerOf`). `fromLinks`: true if a link on such a page may lead to the
 * requested route (default: false).
 */
export function refusalOf(head: RequestHead, listener: Listener, fromLinks = false): Refusal | undefined {
  const served = listener.kind === "socket" ? "socket" : listener;
  const stranger = strangerOf(head, served, { alsoOnce: ONCE, fromLinks });
  if (stranger === undefined) return undefined;
  const { status, detail } = stranger;
  const told = status === 421 ? `${detail}: start the server with --allow-host NAME` : detail;
  return { status, code: status === 400 ? "USAGE" : "FORBIDDEN", detail: told };
}
