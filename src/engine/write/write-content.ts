import { createHash } from "node:crypto";
import { ChronicleError } from "../../core/values/errors.ts";
import { parseHash, sha256, type Hash } from "../../core/values/hash.ts";
import { intentOfRequest } from "../../core/records/request-intent.ts";
import type { HeldLock } from "../../storage/lock.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { doneRequest } from "../facts/done-request.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { withBatch } from "../../storage/blob-store.ts";

/** Contents up to this many bytes wait in memory for the next commit; longer ones go into the store before it. */
const BUFFERED_BYTES = 1024 * 1024;

/** A content that somebody hands in. */
export interface ReceivedContent {
  readonly hash: Hash;
  readonly size: number;
  /** The content itself, where it is not in the store yet. */
  readonly bytes?: Uint8Array;
  /** Keeps the collector out until the content is named by an event. */
  readonly lease?: HeldLock;
  /** It was not kept: the request was done before, and is only to be compared with what that asked for. */
  readonly onlyCompared?: true;
}

export interface ReceiveOptions {
  /** In bytes; 0: no limit. */
  readonly maxFileSize: number;
  /** As the caller names the request. */
  readonly requestId?: string | undefined;
}

/**
 * Takes a content in, of any size, in bounded memory. It is durable when this resolves, or it comes with its bytes: at
 * once where it is small and whole. Throws `LIMIT_EXCEEDED` as soon as it is too long, and whatever its source throws.
 */
export function receiveContent(
  context: Context,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { maxFileSize, requestId }: ReceiveOptions,
): ReceivedContent | Promise<ReceivedContent> {
  if (!(content instanceof Uint8Array)) return receiveStream(context, limited(content, maxFileSize), requestId);
  refuseTooLong(content.length, maxFileSize);
  // Its owner may go on writing to it.
  return content.length <= BUFFERED_BYTES ? buffered(Buffer.from(content)) : stored(context, [content], requestId);
}

async function receiveStream(
  context: Context,
  content: AsyncIterable<Uint8Array>,
  requestId: string | undefined,
): Promise<ReceivedContent> {
  const pieces = content[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await pieces.next();
    if (next.done === true) return buffered(Buffer.concat(first, size));
    first.push(Buffer.from(next.value));
    size += next.value.length;
    if (size > BUFFERED_BYTES) return stored(context, joined(first, pieces), requestId);
  }
}

function buffered(bytes: Buffer): ReceivedContent {
  return { hash: sha256(bytes), size: bytes.length, bytes };
}

async function stored(
  context: Context,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  requestId: string | undefined,
): Promise<ReceivedContent> {
  if (requestId !== undefined && (await wasDone(context, requestId))) return compared(pieces);
  const lease = await context.blobs.lease();
  try {
    const put = await withBatch(context.blobs, (batch) => batch.putStream(withinQuota(context, pieces)));
    return { ...put, lease };
  } catch (error) {
    lease.release();
    throw error;
  }
}

function wasDone(context: Context, requestId: string): Promise<boolean> {
  return answer(context, async () => (await doneRequest(context, intentOfRequest(requestId))) !== undefined);
}

/** Such a content is in the store, or was: it takes no more room, so the quota is not checked. */
async function compared(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<ReceivedContent> {
  const digest = createHash("sha256");
  let size = 0;
  for await (const piece of pieces) {
    digest.update(piece);
    size += piece.length;
  }
  return { hash: parseHash(digest.digest("hex")), size, onlyCompared: true };
}

async function* joined(first: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* first;
    for (;;) {
      const next = await rest.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

async function* withinQuota(
  context: Context,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    refuseOverQuota(context, piece.length);
    yield piece;
  }
}

async function* limited(pieces: AsyncIterable<Uint8Array>, maxFileSize: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) {
      throw new ChronicleError("USAGE", "a content comes in pieces of bytes", { hint: "give Uint8Arrays" });
    }
    size += piece.length;
    refuseTooLong(size, maxFileSize);
    yield piece;
  }
}

function refuseTooLong(size: number, maxFileSize: number): void {
  if (maxFileSize === 0 || size <= maxFileSize) return;
  throw new ChronicleError("LIMIT_EXCEEDED", `the content is longer than ${maxFileSize} bytes (maxFileSize)`, {
    hint: "the workspace's maxFileSize limits its files; `chronicle config maxFileSize` changes it",
    data: { limit: maxFileSize },
  });
}
