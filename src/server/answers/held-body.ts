import { createHash } from "node:crypto";
import { TooMuch } from "../limits/slow-peer.ts";

/** A body of bytes that is there as a whole, to be read once more. */
export interface HeldBody {
  readonly content: AsyncIterable<Uint8Array>;
  /** What it is. */
  readonly hash: string;
}

/** Reads a body to its end before anything is done with it. Throws `TooMuch` for more than `most` bytes. */
export async function heldBody(body: AsyncIterable<Uint8Array>, most: number): Promise<HeldBody> {
  const pieces: Uint8Array[] = [];
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > most) throw new TooMuch(`at most ${most} bytes are taken`);
    hash.update(piece);
    pieces.push(piece);
  }
  return { content: again(pieces), hash: hash.digest("base64url") };
}

async function* again(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces;
}
