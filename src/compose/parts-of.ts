import type { StoreApi } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { StoreParts } from "./open-context.ts";

const PARTS = new WeakMap<StoreApi, StoreParts>();

/** Remembers the parts of a store, for what is composed on it later. */
export function notePartsOf(store: StoreApi, parts: StoreParts): void {
  PARTS.set(store, parts);
}

/** Returns the parts of a store of this machine. Throws `PLATFORM_UNSUPPORTED` for one that is elsewhere. */
export function partsOf(store: StoreApi): StoreParts {
  const parts = PARTS.get(store);
  if (parts !== undefined) return parts;
  throw new ChronicleError(
    "PLATFORM_UNSUPPORTED",
    "replication is run where the store is, not by a client of its server",
  );
}
