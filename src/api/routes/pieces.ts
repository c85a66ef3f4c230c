import { ChronicleError } from "../../core/values/errors.ts";

/** Returns all pieces joined. Throws `LIMIT_EXCEEDED` if they have more than `most` bytes. */
export async function collectedBytes(pieces: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > most) throw new ChronicleError("LIMIT_EXCEEDED", `at most ${most} bytes are accepted`);
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

/** Yields the bytes from `start` to `end` (exclusive) of the joined pieces. Reads no piece beyond `end`. */
export async function* slicedPieces(
  pieces: AsyncIterable<Uint8Array>,
  range?: { readonly start: number; readonly end: number },
): AsyncIterable<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: Number.POSITIVE_INFINITY };
  let at = 0;
  for await (const piece of pieces) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.length);
    if (from < to) yield piece.subarray(from, to);
    at += piece.length;
    if (at >= end) return;
  }
}
