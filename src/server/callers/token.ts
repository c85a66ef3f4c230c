import { randomBytes } from "node:crypto";
import { sha256 } from "../../core/values/hash.ts";
import type { Role } from "../../api/routes/route.ts";

/** The prefix by which people and secret scanners recognise tokens. */
const PREFIX = "chr_";
const SECRET_BYTES = 32;

/** The record of a token. It contains the hash of the token, and not the token itself. */
export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** The ids and names of the workspaces for which the token is valid; `null` for all workspaces. */
  readonly workspaces: readonly string[] | null;
  /** The ids of replicas that the token's bearer may connect, even if another caller connected them before. */
  readonly replicas?: readonly string[];
  /** The SHA-256 of the token, in hex. A slow hash is not necessary, because a token has 256 random bits. */
  readonly hash: string;
  /** `created` and `expires` are times in ISO 8601. `expires` is `null` if the token does not expire. */
  readonly created: string;
  readonly expires: string | null;
}

/**
 * Stores the records of tokens. The backends are `MemoryTokenStore` and a file in the configuration folder. `find` must
 * be fast, because the server calls it for each request. Thanks to these calls, a revoked token is refused at once.
 */
export interface TokenStore {
  find(hash: string): TokenRecord | undefined;
  list(): readonly TokenRecord[];
  /** Adds a record durably. */
  add(record: TokenRecord): void;
  /** Removes a record durably. Returns true if there was such a record. */
  remove(id: string): boolean;
}

/** Returns a new token with 256 random bits. */
export function newToken(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
}

/** Returns the hash by which a token is stored and found. */
export function hashToken(token: string): string {
  return sha256(token);
}

/** Returns true if the token has expired at `now` (epoch milliseconds). */
export function isExpired({ expires }: TokenRecord, now: number): boolean {
  return expires !== null && Date.parse(expires) <= now;
}

export class MemoryTokenStore implements TokenStore {
  readonly #byHash = new Map<string, TokenRecord>();

  constructor(records: readonly TokenRecord[] = []) {
    for (const record of records) this.add(record);
  }

  find(hash: string): TokenRecord | undefined {
    return this.#byHash.get(hash);
  }

  list(): readonly TokenRecord[] {
    return [...this.#byHash.values()];
  }

  add(record: TokenRecord): void {
    this.#byHash.set(record.hash, record);
  }

  remove(id: string): boolean {
    const found = this.list().find((one) => one.id === id);
    return found !== undefined && this.#byHash.delete(found.hash);
  }
}
