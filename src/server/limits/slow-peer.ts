import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerLimits } from "./limits.ts";

/** What nobody waits for any longer. */
class TooSlow extends Error {}

/** So often it is asked whether who uploads still may, at most, in milliseconds. */
const ASK_MS = 1_000;

/** More than the server takes. */
export class TooMuch extends Error {}

/**
 * The bytes of a request as they come. Ends with an error when its client goes away, brings fewer than `slowBytes` in
 * `slowMs`, or more than `uploadBytes`: whoever stores them then stores nothing. `mustHold` throws for a client who may not go
 * on; it is asked from time to time, and again once everything is there.
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
  // While the store is busy it is not the client who is slow.
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
    // Whoever is refused in the middle can still be told so.
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
    // The change is made when this ends.
    await mustHold();
  } finally {
    clearInterval(timer);
  }
}

/** Writes, and waits until more may be written. False: the reader is gone, or was cut off for taking nothing. */
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

/** How much of what was not wanted is read over, so that the client can read the answer to it. */
const MOST_DISCARDED = 16 * 1024 ** 2;
const DISCARD_MS = 5_000;

/** Reads over the rest of a request that was answered before its end; a long one is cut off. */
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
