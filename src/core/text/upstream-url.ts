import { ChronicleError } from "../values/errors.ts";

/**
 * Normalises an origin's address to its stored form. Throws `USAGE` for an invalid address, and for an address with a
 * user, a password, a query or a fragment.
 */
export function upstreamUrl(text: string): string {
  if (/^unix:\/./.test(text)) return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.username + url.password + url.search + url.hash === "";
  if (isPlain && /^(https?|wss?):$/.test(url.protocol)) {
    return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, "")}`;
  }
  throw new ChronicleError("USAGE", "this is not the address of an origin", {
    hint: "give the address as http(s)://HOST:PORT, ws(s)://HOST:PORT, or unix:/PATH; give a token separately",
  });
}
