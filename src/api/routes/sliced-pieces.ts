/** Yields the bytes of pieces from `start` to `end` (exclusive). Reads no further than needed. */
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
