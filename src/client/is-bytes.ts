type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** True if the content is bytes in memory, also those of another realm, such as a frame's or a test environment's. */
export function isBytes(content: Content | undefined): content is Uint8Array {
  return ArrayBuffer.isView(content);
}
