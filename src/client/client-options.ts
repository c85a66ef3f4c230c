import { ChronicleError } from "../core/values/errors.ts";
import type { ActingAs } from "../api/workspace-api.ts";
import type { Fetch } from "./fetch-transport.ts";
import type { RetryRule } from "./retry.ts";

/** How a client finds its server. */
export interface ClientOptions {
  /** `http://127.0.0.1:7171`, `https://…`; in Node also `unix:/path/of/the/socket`. */
  readonly url: string;
  /** A token of the server's. On a Unix socket its owner needs none. */
  readonly token?: string;
  /** Used instead of the global one. */
  readonly fetch?: Fetch;
  /** On whose behalf, where the server lets its caller say so. */
  readonly acting?: ActingAs;
  /** Hints of errors may name commands of `chronicle`: for those who have it at hand (default: they are left out). */
  readonly commandHints?: boolean;
  /** How often it is tried again (default: 5 times in all, 0.1 to 5 s apart). Only what may be said twice is. */
  readonly retry?: RetryRule;
}

/** A server's address, to which targets are added. Throws `USAGE`; a token is never part of an address. */
export function parseServerUrl(text: string): string {
  mustHaveUrl(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new ChronicleError("USAGE", `${JSON.stringify(text)} is no address of a server`, {
      hint: "give http://… or https://…, in Node also unix:/…",
    });
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new ChronicleError("USAGE", "a server's address has no user, query or fragment", {
      hint: "give the token by itself",
    });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Programs in plain JavaScript are not told by a compiler. Throws `USAGE`. */
export function mustHaveUrl(url: unknown): void {
  if (typeof url === "string") return;
  throw new ChronicleError("USAGE", "url is missing", {
    hint: 'createClient({ url: "http://127.0.0.1:7420", token })',
  });
}
