import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * Returns a new ULID (github.com/ulid/spec): 48 bits of milliseconds and 80 random bits, as 26 characters that sort by
 * time.
 */
export function newUlid(nowMs: number = Date.now()): string {
  let time = "";
  for (let rest = nowMs, i = 0; i < 10; i += 1) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  let random = "";
  for (const byte of randomBytes(16)) random += ALPHABET.charAt(byte % 32);
  return time + random;
}
