import { sha256 } from "../values/hash.ts";

/**
 * Returns the intent's id for a request that its caller has named. The same name always gives the same id, so that a
 * repeated request is found again.
 */
export function intentOfRequest(request: string): string {
  return idOfText(`chronicle request\0${request}`);
}

/** Derives an id from a text, always the same: a UUID of version 8 (RFC 9562) made of its SHA-256. */
export function idOfText(text: string): string {
  const hex = sha256(text);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join("-");
}
