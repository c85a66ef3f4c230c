/** Nothing smaller is worth it; and the pool from which small buffers are cut must never be given up. */
const LEAST_BYTES = 128 * 1024;

/**
 * Gives the memory of a large buffer back now, not at some later garbage collection: buffers count little for the
 * collector, so that a loop that makes one after another holds tens of megabytes. Nobody may use the bytes afterwards.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= LEAST_BYTES && !buffer.detached) buffer.transfer(0);
}
