import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerLimits } from "./limits.ts";

/** Thrown when a client is too slow. */
class TooSlow extends Error {}

/** The shortest interval between two checks that an uploading client is still admitted, in milliseconds. */
const ASK_MS = 1_000;

/** Thrown when a body is larger than the server accepts. */
export class TooMuch extends Error {}

/**
 * Yields the bytes of a request as they arrive. Throws when its client goes away, sends fewer than `slowBytes` in
 * `slowMs`, or more than `uploadBytes`, so that nothing is stored. `mustHold` throws for a client that is no longer
 * admitted; it is called from time to time, and again once everything has arrived.
 */
export async function* uploaded(
  request: IncomingMessage,
  limits: ServerLimits,
  mustHold: () => Promise<void>,
): AsyncIterable<Uint8Array> {
  const tooMuch = (): TooMuch => new TooMuch(`at most ${limits.uploadBytes} bytes are taken`);
  if (Number(request.headers["content-length"] ?? 0) > limits.uploadBytes) throw tooMuch();
  let size = 0;
  let before = 0;
  let askedAt = performance.now();
  // Time in which the store is busy does not count as the client's.
  let busySince: number | undefined;
  let busyMs = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    const waitedFor = busyMs + (busySince === undefined ? 0 : now - busySince);
    const isSlow = waitedFor < limits.slowMs / 2 && size - before < limits.slowBytes && !request.complete;
    if (isSlow) request.destroy(new TooSlow("the upload is too slow"));
    before = size;
    busyMs = 0;
    if (busySince !== undefined) busySince = now;
  }, limits.slowMs);
  try {
    // Keeps the request open, so that a client that is refused midway can be told.
    for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > limits.uploadBytes) throw tooMuch();
      if (performance.now() - askedAt >= ASK_MS) {
        askedAt = performance.now();
        await mustHold();
      }
      busySince = performance.now();
      yield piece;
      busyMs += performance.now() - busySince;
      busySince = undefined;
    }
    // The last check, since the change is made when this generator ends.
    await mustHold();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Writes, and waits until more may be written. Returns false if the reader is gone, or was cut off because it took
 * nothing.
 */
export async function writeTo(response: ServerResponse, bytes: Uint8Array | string, waitMs: number): Promise<boolean> {
  if (response.destroyed || response.writableEnded) return false;
  if (response.write(bytes)) return true;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => response.destroy(), waitMs);
  const onDrain = (): void => resolve(true);
  const onClose = (): void => resolve(false);
  response.once("drain", onDrain).once("close", onClose);
  const goesOn = await promise;
  clearTimeout(timer);
  response.off("drain", onDrain).off("close", onClose);
  return goesOn;
}

/** The most bytes of an unwanted body that are read and dropped, so that the client can read the answer. */
const MOST_DISCARDED = 16 * 1024 ** 2;
const DISCARD_MS = 5_000;

/** Discards the rest of a request that was answered before its end; a long one is cut off. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  let size = 0;
  const timer = setTimeout(() => request.destroy(), DISCARD_MS);
  request.on("data", (piece: Buffer) => {
    size += piece.length;
    if (size > MOST_DISCARDED) request.destroy();
  });
  request.once("close", () => clearTimeout(timer));
  request.on("error", () => undefined);
  request.resume();
}
