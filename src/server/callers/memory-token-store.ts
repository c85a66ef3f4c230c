import type { TokenStore, TokenRecord } from "./token.ts";

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
