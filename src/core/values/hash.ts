import { createHash, hash as digest } from "node:crypto";
import { ChronicleError } from "./errors.ts";

/** A SHA-256 as 64 lower-case hex digits. */
export type Hash = string & { readonly __brand: "Hash" };

/** Returns the SHA-256 of bytes. A string is hashed as UTF-8. */
export function sha256(data: Uint8Array | string): Hash {
  return digest("sha256", data, "hex") as Hash;
}

export function sha256Bytes(data: Uint8Array | string): Buffer {
  return digest("sha256", data, "buffer");
}

export function sha256Pieces(pieces: Iterable<Uint8Array>): { readonly hash: Hash; readonly size: number } {
  const hash = createHash("sha256");
  let size = 0;
  for (const piece of pieces) {
    hash.update(piece);
    size += piece.length;
  }
  return { hash: hash.digest("hex") as Hash, size };
}

export function isHash(text: string): text is Hash {
  // This loop runs for every hash in every line of a log. A regular expression would take four times as long.
  if (text.length !== 64) return false;
  for (let i = 0; i < 64; i += 1) {
    const code = text.charCodeAt(i);
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66))) return false;
  }
  return true;
}

/** Parses a `Hash`. Throws `INTEGRITY_VIOLATION` unless the text is 64 lower-case hex digits. */
export function parseHash(text: string): Hash {
  if (isHash(text)) return text;
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a SHA-256 in lower-case hex: ${JSON.stringify(text)}`);
}

export function hashFromBytes(bytes: Uint8Array): Hash {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex") as Hash;
}

export function hashToBytes(hash: Hash): Buffer {
  return Buffer.from(hash, "hex");
}

export const EMPTY_HASH = sha256("");
