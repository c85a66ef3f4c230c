import { randomBytes, randomUUID } from "node:crypto";
import { hashToken, type TokenRecord } from "../callers/token.ts";
import type { PageTokens } from "../callers/listener.ts";

/** The time for which a code is valid, in milliseconds. A person opens the address within it. */
export const CODE_MS = 5 * 60_000;

const SECRET_BYTES = 32;

/** It begins as every token does, so that the same rules keep it out of URLs. */
const PREFIX = "chr_page_";

/**
 * The codes and tokens of the page. A code is in the address that `chronicle ui` opens. The page exchanges it for a
 * token. Both are only in memory, so they end with the process.
 */
export class PageSessions implements PageTokens {
  /** The hashes of unused codes, with the times at which they end. */
  readonly #codes = new Map<string, number>();
  readonly #tokens = new Map<string, TokenRecord>();
  readonly #now: () => number;

  /** `now` is in epoch milliseconds, and never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns a new code with 256 random bits. It can be exchanged once, within `CODE_MS`. */
  newCode(): string {
    const now = this.#now();
    for (const [hash, ends] of this.#codes) if (ends <= now) this.#codes.delete(hash);
    const code = randomBytes(SECRET_BYTES).toString("base64url");
    this.#codes.set(hashToken(code), now + CODE_MS);
    return code;
  }

  /**
   * Returns a new operator's token for a code, and ends the code. Returns `undefined` for a code that is unknown, was
   * used or has expired. The time that a look-up of a hash takes reveals nothing about the codes.
   */
  exchange(code: string): string | undefined {
    const now = this.#now();
    const hash = hashToken(code);
    const ends = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (ends === undefined || ends <= now) return undefined;
    const token = PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
    this.#add(hashToken(token), now);
    return token;
  }

  #add(hash: string, now: number): void {
    const rights = { role: "operator", workspaces: null } as const;
    const created = new Date(now).toISOString();
    this.#tokens.set(hash, { id: randomUUID(), name: "page", ...rights, hash, created, expires: null });
  }

  find(hash: string): TokenRecord | undefined {
    return this.#tokens.get(hash);
  }
}
