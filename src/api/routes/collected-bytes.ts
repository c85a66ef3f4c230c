import { ChronicleError } from "../../core/values/errors.ts";

/** Returns all pieces as one. Throws `LIMIT_EXCEEDED` for more than `most` bytes. */
export async function collectedBytes(pieces: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > most) throw new ChronicleError("LIMIT_EXCEEDED", `at most ${most} bytes are taken`);
    all.push(piece);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of all) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
