import { pipeline, Readable, type Transform } from "node:stream";
import { createZstdCompress, createZstdDecompress } from "node:zlib";

/** The first bytes of a zstd frame. */
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

export function isZstd(bytes: Uint8Array): boolean {
  return MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/** Yields the pieces as one zstd frame. */
export function zstdCompressed(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(pieces, createZstdCompress());
}

/** Yields the unpacked bytes of zstd frames, in pieces of bounded size. Throws zlib's error for anything else. */
export function zstdUnpacked(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(pieces, createZstdDecompress());
}

function through(pieces: AsyncIterable<Uint8Array>, transform: Transform): AsyncIterable<Uint8Array> {
  // An error of the pieces destroys the transform, and so the iteration over it throws that error.
  return pipeline(
    Readable.from(pieces, { objectMode: false }),
    transform,
    () => undefined,
  ) as AsyncIterable<Uint8Array>;
}
