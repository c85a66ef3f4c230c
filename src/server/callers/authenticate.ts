import { timingSafeEqual } from "node:crypto";
import { ACTING, HINTS_HEADER } from "../../api/routes/content-headers.ts";
import { type ErrorCode, ChronicleError } from "../../core/values/errors.ts";
import { type RequestHead, strangerOf } from "../../util/web-guard.ts";
import type { Listener } from "./listener.ts";
import type { Caller } from "./caller.ts";
import { type Rate, RateLimiter } from "../limits/rate-limiter.ts";
import { hashToken, isExpired, type TokenStore } from "./token.ts";
import { optional } from "../../util/optional.ts";

/** The rate at which one address may present wrong tokens. A few may be mistakes. */
const WRONG: Rate = { burst: 10, perSecond: 0.2 };

/**
 * Finds the bearer of a token that is not in the token store (OIDC); `undefined` if there is none. Throws `UNAVAILABLE`
 * if the issuer cannot be reached.
 */
export type OtherIssuer = (token: string) => Promise<Caller | undefined>;

interface AuthenticatorOptions {
  readonly book: TokenStore;
  /** The operator's own token, which is not in `book`. */
  readonly operatorToken?: string;
  /** Finds the bearers of tokens that are not in `book`. Default: there are no such tokens. */
  readonly others?: OtherIssuer;
  /** Returns the time, in epoch milliseconds. */
  readonly now: () => number;
}

/** Finds the caller that bears a token. */
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
   * Returns the caller by the `Authorization` header, or the refusal. `address`: the address of the client. Wrong
   * tokens from one address are limited. A valid token is always accepted: behind a proxy all clients share an address,
   * and tokens are too long to be guessed.
   */
  async callerOf(authorization: string | undefined, address: string): Promise<Caller | Refusal> {
    const token = tokenIn(authorization);
    if (token === undefined) return refused("a token is needed: Authorization: Bearer TOKEN");
    const now = this.#options.now();
    const hash = hashToken(token);
    const caller = await this.#bearer(token, hash, now);
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
   * Returns the present bearer of a token that was valid before; `undefined` if it is not valid any more, which does
   * not count as a wrong token here; "unavailable" if its issuer cannot be reached.
   */
  async bearerOf(authorization: string | undefined): Promise<Caller | "unavailable" | undefined> {
    const token = tokenIn(authorization);
    return token === undefined ? undefined : this.#bearer(token, hashToken(token), this.#options.now());
  }

  async #bearer(token: string, hash: string, now: number): Promise<Caller | "unavailable" | undefined> {
    // The token store comes first: if it has the operator's own token too, the role recorded there counts.
    const record = this.#options.book.find(hash);
    // Hashes are compared, in constant time, so that neither the length nor the time reveals anything of the token.
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

/** Returns "unavailable" if the issuer cannot be reached: the token then does not count as wrong. */
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

/** The reason why a request is not served, as the parts of its answer. */
export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Headers that may be sent only once: they name the actor, the role, the client and the request, or the kind of hints.
 * Node joins the values of a repeated header, which would be ambiguous.
 */
const ONCE: ReadonlySet<string> = new Set([...Object.values(ACTING), HINTS_HEADER, "idempotency-key"]);

/** Returns the refusal of a request that `strangerOf` finds to come from a foreign web page, or to be ambiguous. */
export function refusalOf(head: RequestHead, listener: Listener): Refusal | undefined {
  const stranger = strangerOf(head, listener.kind === "socket" ? "socket" : listener, ONCE);
  if (stranger === undefined) return undefined;
  const { status, detail } = stranger;
  const told = status === 421 ? `${detail}: start the server with --allow-host NAME` : detail;
  return { status, code: status === 400 ? "USAGE" : "FORBIDDEN", detail: told };
}
