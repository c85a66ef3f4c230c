/**
 * Buffers below this size are not freed, because freeing them gains little. Also, Node cuts the smallest buffers (a few
 * KiB) from a shared pool, which must never be freed.
 */
const LEAST_BYTES = 128 * 1024;

/**
 * Frees the memory of a large buffer now, not at a later garbage collection. The collector gives buffers too little
 * weight, so a loop that makes many buffers in turn would use tens of megabytes. The bytes must not be used afterwards.
 * Does nothing if the buffer is small or shared between threads.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= LEAST_BYTES && !buffer.detached) buffer.transfer(0);
}
