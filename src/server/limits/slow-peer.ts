import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerLimits } from "./limits.ts";

class TooSlow extends Error {}

/** The minimum time between two calls of `mustHold` while a body arrives, in milliseconds. */
const ASK_MS = 1_000;

/** The error for a body that is larger than the server accepts. */
export class TooMuch extends Error {}

/**
 * Yields a request's body as it arrives.
 *
 * Throws if the client leaves, or if it sends less than `slowBytes` in a period of `slowMs`. Throws `TooMuch` if the
 * client sends or announces more than `uploadBytes`. After an error, the consumer must store nothing. A period does not
 * count if the consumer was busy with pieces for half of it or more.
 *
 * `mustHold` throws if the client is no longer admitted. While the body arrives, `mustHold` is called at most once in
 * `ASK_MS`. The last call follows when the whole body has arrived.
 */
export async function* uploaded(
  request: IncomingMessage,
  limits: ServerLimits,
  mustHold: () => Promise<void>,
): AsyncIterable<Uint8Array> {
  const tooMuch = (): TooMuch => new TooMuch(`at most ${limits.uploadBytes} bytes are accepted`);
  if (Number(request.headers["content-length"] ?? 0) > limits.uploadBytes) throw tooMuch();
  let size = 0;
  let before = 0;
  let askedAt = performance.now();
  // Measure the time that the consumer spends on pieces, because it must not count against the client.
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
    // Do not close the request, because a client that is refused before the end of its body still gets an answer.
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
    // Check once more at the end. The consumer makes its change only after this generator has ended.
    await mustHold();
  } finally {
    clearInterval(timer);
  }
}

/**
 * Writes the bytes, and waits until more can be written. Returns false if the client is gone, or if the connection was
 * closed because the client did not read within `waitMs`.
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

/** The maximum size of the discarded rest of a request, in bytes. */
const MOST_DISCARDED = 16 * 1024 ** 2;
/** The maximum time until the rest of a request has arrived, in milliseconds. */
const DISCARD_MS = 5_000;

/**
 * Reads and discards the rest of a request that was answered before its end, so that the client can read the answer.
 * Closes the connection if the rest is too long or arrives too slowly.
 */
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
