import { randomBytes, randomUUID } from "node:crypto";
import { hashToken, type TokenRecord } from "../callers/token.ts";
import type { PageTokens } from "../callers/listener.ts";

/** The time for which a code is valid, in milliseconds. A person must open the address within this time. */
export const CODE_MS = 5 * 60_000;

/** The time, in milliseconds, after which an unused token ends. The token of an open page is in use all the time. */
export const IDLE_MS = 12 * 60 * 60_000;

/**
 * The maximum number of tokens that are valid at the same time. A new token beyond this number ends the least recently
 * used token.
 */
export const MOST_TOKENS = 256;

const SECRET_BYTES = 32;

/**
 * The prefix of a page's token. It begins like every token, so that the rules that keep tokens out of URLs apply to it.
 */
const PREFIX = "chr_page_";

interface Code {
  /** The time, in epoch milliseconds, at which the code ends. */
  readonly ends: number;
  /**
   * The only address and port that accept the code, such as `127.0.0.1:7421`. If absent, all page listeners accept it.
   */
  readonly place: string | undefined;
}

/**
 * The codes and tokens of the page. A code is in the address that `chronicle ui` opens. The page exchanges this code
 * for a token. Codes and tokens are only in memory, so they end with the process. A token also ends when it is idle.
 */
export class PageSessions implements PageTokens {
  /** Maps the hash of an unused code to the code's end and place. */
  readonly #codes = new Map<string, Code>();
  /** Maps the hash of a token to its record. The most recently used token is at the end. */
  readonly #tokens = new Map<string, { readonly record: TokenRecord; readonly used: number }>();
  readonly #now: () => number;

  /** `now` is in epoch milliseconds, and never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Returns a new code with 256 random bits. It can be exchanged once, within `CODE_MS`. `place` is the only address
   * and port that accept the code.
   */
  newCode(place?: string): string {
    const now = this.#now();
    for (const [hash, { ends }] of this.#codes) if (ends <= now) this.#codes.delete(hash);
    const code = randomBytes(SECRET_BYTES).toString("base64url");
    this.#codes.set(hashToken(code), { ends: now + CODE_MS, place });
    return code;
  }

  /** Returns the place of an unused code; `undefined` if the code has no place, is unknown, or was used. */
  placeOf(code: string): string | undefined {
    return this.#codes.get(hashToken(code))?.place;
  }

  /**
   * Returns a new operator's token for a code, and ends the code. Returns `undefined` for a code that is unknown, was
   * used or has expired. Codes are looked up by their hashes, so the time of a look-up reveals nothing about the codes.
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

  /**
   * Returns the record of a token, and notes that the token was used. Returns `undefined` if the token is unknown or
   * has ended.
   */
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
