import { fileURLToPath } from "node:url";
import { ChronicleError } from "../core/values/errors.ts";
import { MEMORY_STORE } from "./store-api.ts";

/** The schemes of a store's address. An address without a scheme is the path of the store's folder. */
const SCHEMES = ["file", "memory"] as const;

type StoreScheme = (typeof SCHEMES)[number];

/**
 * Returns the scheme of a store's address; `undefined` for a path. Throws `USAGE` for an unknown scheme, and for a
 * `memory:` address with anything after the colon.
 */
export function storeScheme(address: string): StoreScheme | undefined {
  const written = writtenScheme(address);
  if (written === undefined) return undefined;
  const scheme = SCHEMES.find((one) => one === written);
  if (scheme === undefined || (scheme === "memory" && address !== MEMORY_STORE)) throw noStorage(address);
  return scheme;
}

/** Returns the scheme of an address in lower case, known or unknown; `undefined` if there is none. */
function writtenScheme(address: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase();
}

/** The schemes of stores that end with the process that opened them. */
const ENDS_WITH_PROCESS: ReadonlySet<string> = new Set<StoreScheme>(["memory"]);

/** Returns true if a store at this address outlives the process that opened it. Looks only at the scheme. */
export function outlivesProcess(address: string): boolean {
  return !ENDS_WITH_PROCESS.has(writtenScheme(address) ?? "");
}

/** Returns the folder in a `file:` address. Throws `USAGE` if the address has no absolute path on this machine. */
export function folderOfAddress(address: string): string {
  // Refuse `#` and `?`. The path of a URL ends at these characters, so the address would name another folder than the
  // user meant.
  if (!/^file:\/\/(?:localhost)?\/[^?#]*$/i.test(address)) throw noStorage(address);
  try {
    return fileURLToPath(address);
  } catch {
    throw noStorage(address);
  }
}

function noStorage(address: string): ChronicleError {
  const schemes = SCHEMES.map((one) => `${one}:`).join(" and ");
  return new ChronicleError("USAGE", `there is no storage for ${JSON.stringify(address)}`, {
    hint:
      `the schemes are ${schemes}, as in file:///path/of/a/folder and ${MEMORY_STORE} (a store that ends with its process); ` +
      "a path of a folder begins with / or ./",
  });
}
