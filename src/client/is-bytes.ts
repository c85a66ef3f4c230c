type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** Is it bytes at hand? Also those of another realm: a frame's, or a test environment's. */
export function isBytes(content: Content | undefined): content is Uint8Array {
  return ArrayBuffer.isView(content);
}
