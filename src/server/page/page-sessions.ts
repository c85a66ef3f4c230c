import { randomBytes, randomUUID } from "node:crypto";
import { hashToken, type TokenRecord } from "../callers/token.ts";
import type { PageTokens } from "../callers/listener.ts";

/** The time for which a code is valid, in milliseconds. A person opens the address within it. */
export const CODE_MS = 5 * 60_000;

/** The time after which a token ends if no request comes with it, in milliseconds. An open page asks all the time. */
export const IDLE_MS = 12 * 60 * 60_000;

/** The number of tokens that are valid at the same time. A further one ends the one that was not used for longest. */
export const MOST_TOKENS = 256;

const SECRET_BYTES = 32;

/** It begins as every token does, so that the same rules keep it out of URLs. */
const PREFIX = "chr_page_";

interface Code {
  /** The time at which the code ends. */
  readonly ends: number;
  /** The address and port that alone accept the code, as in `127.0.0.1:7421`. If absent, all page listeners do. */
  readonly place: string | undefined;
}

/**
 * The codes and tokens of the page. A code is in the address that `chronicle ui` opens. The page exchanges it for a
 * token. Both are only in memory, so they end with the process. A token also ends when it is idle.
 */
export class PageSessions implements PageTokens {
  /** The unused codes, by their hashes. */
  readonly #codes = new Map<string, Code>();
  /** The tokens by their hashes, the one that was used last at the end. */
  readonly #tokens = new Map<string, { readonly record: TokenRecord; readonly used: number }>();
  readonly #now: () => number;

  /** `now` is in epoch milliseconds, and never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns a new code with 256 random bits. It can be exchanged once, within `CODE_MS`. `place` is the address and port
   * that alone accept the code.
   */
  newCode(place?: string): string {
    const now = this.#now();
    for (const [hash, { ends }] of this.#codes) if (ends <= now) this.#codes.delete(hash);
    const code = randomBytes(SECRET_BYTES).toString("base64url");
    this.#codes.set(hashToken(code), { ends: now + CODE_MS, place });
    return code;
  }

  /** Returns the place for which an unused code was made. Returns `undefined` for any other code, too. */
  placeOf(code: string): string | undefined {
    return this.#codes.get(hashToken(code))?.place;
  }

  /**
   * Returns a new operator's token for a code, and ends the code. Returns `undefined` for a code that is unknown, was
   * used or has expired. The time that a look-up of a hash takes reveals nothing about the codes.
   */
  exchange(code: string): string | undefined {
    const now = this.#now();
    const hash = hashToken(code);
    const known = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (known === undefined || known.ends <= now) return undefined;
    const token = PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
    this.#add(hashToken(token), now);
    return token;
  }

  #add(hash: string, now: number): void {
    const rights = { role: "operator", workspaces: null } as const;
    const created = new Date(now).toISOString();
    for (const [other, { used }] of this.#tokens) {
      if (used + IDLE_MS > now && this.#tokens.size < MOST_TOKENS) break;
      this.#tokens.delete(other);
    }
    this.#tokens.set(hash, {
      record: { id: randomUUID(), name: "page", ...rights, hash, created, expires: null },
      used: now,
    });
  }

  /** Returns the record of a token, and notes that the token was used. */
  find(hash: string): TokenRecord | undefined {
    const known = this.#tokens.get(hash);
    if (known === undefined) return undefined;
    this.#tokens.delete(hash);
    const now = this.#now();
    if (known.used + IDLE_MS <= now) return undefined;
    this.#tokens.set(hash, { ...known, used: now });
    return known.record;
  }
}
