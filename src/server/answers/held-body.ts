import { createHash } from "node:crypto";
import { TooMuch } from "../limits/slow-peer.ts";

/** A body of bytes held as a whole, which can be read once more. */
export interface HeldBody {
  readonly content: AsyncIterable<Uint8Array>;
  /** The hash of the body. */
  readonly hash: string;
}

/** Reads a whole body before anything is done with it. Throws `TooMuch` for more than `most` bytes. */
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
