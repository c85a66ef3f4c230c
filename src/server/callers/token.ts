import { randomBytes } from "node:crypto";
import { sha256 } from "../../core/values/hash.ts";
import type { Role } from "../../api/routes/route.ts";

/** Makes tokens recognisable wherever they turn up. */
const PREFIX = "chr_";
const SECRET_BYTES = 32;

/** The record kept of a token: all but the token itself. */
export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Ids and names of workspaces; `null`: all. */
  readonly workspaces: readonly string[] | null;
  /** Ids of replicas that it may use, even if they were another token's. */
  readonly replicas?: readonly string[];
  /** SHA-256 of the token, in hex. 256 random bits need no slow hash. */
  readonly hash: string;
  /** ISO-8601. */
  readonly created: string;
  readonly expires: string | null;
}

/**
 * Stores tokens. Backends: `MemoryTokenStore`; a file in the configuration folder. `find` must be cheap: the server
 * calls it for each request, so that a revoked token is refused at once.
 */
export interface TokenStore {
  find(hash: string): TokenRecord | undefined;
  list(): readonly TokenRecord[];
  /** Durable when it returns. */
  add(record: TokenRecord): void;
  /** Returns whether there was one. Durable when it returns. */
  remove(id: string): boolean;
}

/** A new token of 256 random bits. */
export function newToken(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
}

/** The hash that is kept and compared instead of a token. */
export function hashToken(token: string): string {
  return sha256(token);
}

/** True if it has expired. `now`: epoch milliseconds. */
export function isExpired({ expires }: TokenRecord, now: number): boolean {
  return expires !== null && Date.parse(expires) <= now;
}

/** Tokens of this process alone. */
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
