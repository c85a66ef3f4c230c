import { createHash } from "node:crypto";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { Channel } from "../channel.ts";
import { MAX_CHUNK_BYTES, MAX_CHUNKS, MAX_PIECE_BYTES } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";

export interface WorkspaceContents {
  /**
   * Opens a content that some event of this workspace names. Returns `undefined` for any other content, even if the
   * store holds it for another workspace. Otherwise, a hash alone would give access to another workspace's content. If
   * the caller took the hash from an event of this workspace, `isNamed` is true, and the search for an event is
   * skipped.
   */
  open(hash: Hash, isNamed?: boolean): Promise<BlobReader | undefined>;
}

type Request = MessageOf<"ContentFetchRequest">;
type Response = MessageOf<"ContentFetchResponse">;

interface ServingOptions {
  /**
   * Called after each piece of a content that is sent in pieces. `done` is the offset at which the piece ends, and
   * `total` is the size of the content. Must not throw.
   */
  readonly onBytes?: (done: number, total: number) => void;
  /**
   * True if a damaged content is answered with `ContentNotFound`, so that the peer can continue without this content.
   * Default: a damaged content ends the session.
   */
  readonly deniesDamaged?: boolean;
}

/** The maximum number of waiting requests from one peer. */
const MAX_WAITING = 1_000;

/**
 * Answers a peer's requests for contents, one at a time. Holds only one piece in memory while a slow peer receives it.
 */
export class ContentServer {
  readonly #channel: Channel;
  readonly #contents: WorkspaceContents;
  readonly #waiting: Request[] = [];
  readonly #options: ServingOptions;
  #isServing = false;

  constructor(channel: Channel, contents: WorkspaceContents, options: ServingOptions = {}) {
    this.#channel = channel;
    this.#options = options;
    this.#contents = contents;
  }

  /**
   * Queues a request. Ignores a request that is already in the queue, because a peer repeats a request that is not
   * answered soon. Does not block the reader of the channel. Throws `LIMIT_EXCEEDED` if too many requests wait.
   */
  ask(request: Request): void {
    if (this.#waiting.some((one) => isSame(one, request))) return;
    if (this.#waiting.length >= MAX_WAITING) {
      throw new ChronicleError("LIMIT_EXCEEDED", `more than ${MAX_WAITING} contents are asked for at once`);
    }
    this.#waiting.push(request);
    if (!this.#isServing) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    try {
      // A request stays in the queue until it is answered, so that `ask` recognises a repeated request.
      for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
        const said = await this.#answer(next);
        await this.#channel.send(said);
        if (said.type === "ContentFetchResponse" && said.size > MAX_PIECE_BYTES)
          this.#options.onBytes?.(said.offset + said.content.length, said.size);
        this.#waiting.shift();
      }
    } catch (error) {
      this.#waiting.length = 0;
      this.#channel.close(
        error instanceof ChronicleError
          ? error
          : new ChronicleError("IO", "a content could not be read", { cause: error }),
      );
    } finally {
      this.#isServing = false;
    }
  }

  async #answer(request: Request): Promise<Response | MessageOf<"ContentNotFound">> {
    try {
      return await answer(this.#contents, request);
    } catch (error) {
      const isDamaged = error instanceof ChronicleError && error.code === "BLOB_CORRUPT";
      if (!isDamaged || this.#options.deniesDamaged !== true) throw error;
      return { type: "ContentNotFound", content_hash: request.content_hash };
    }
  }
}

function isSame(a: Request, b: Request): boolean {
  return a.content_hash === b.content_hash && a.offset === b.offset && a.length === b.length;
}

async function answer(
  contents: WorkspaceContents,
  { content_hash, offset, length }: Request,
): Promise<Response | MessageOf<"ContentNotFound">> {
  const reader = await contents.open(content_hash);
  const isThere = reader !== undefined && (offset === undefined || offset < reader.size);
  if (!isThere) return { type: "ContentNotFound", content_hash };
  const { size } = reader;
  const base = { type: "ContentFetchResponse", content_hash, size } as const;
  if (offset === undefined && size > MAX_PIECE_BYTES) {
    return { ...base, offset: 0, content: Buffer.alloc(0), chunk_manifest: await manifestOf(reader) };
  }
  const start = offset ?? 0;
  const end = Math.min(size, start + (length ?? MAX_PIECE_BYTES));
  return { ...base, offset: start, content: await collect(reader, start, end) };
}

async function collect(reader: BlobReader, start: number, end: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of reader.pieces({ start, end })) pieces.push(piece);
  return Buffer.concat(pieces);
}

/**
 * Returns the chunk manifest of a content. A chunk has the length of one piece (`MAX_PIECE_BYTES`). If there would be
 * more than `MAX_CHUNKS` chunks, each chunk has the length of several pieces. Throws `LIMIT_EXCEEDED` if a chunk would
 * be too large.
 */
async function manifestOf(reader: BlobReader): Promise<NonNullable<Response["chunk_manifest"]>> {
  const total_size = reader.size;
  const chunk_size = MAX_PIECE_BYTES * Math.ceil(total_size / MAX_PIECE_BYTES / MAX_CHUNKS);
  if (chunk_size > MAX_CHUNK_BYTES) {
    throw new ChronicleError("LIMIT_EXCEEDED", `a content of ${total_size} bytes is too large to be replicated`);
  }
  const chunks: { hash: Hash; offset: number; size: number }[] = [];
  let hash = createHash("sha256");
  let [offset, size] = [0, 0];
  const cut = (): void => {
    chunks.push({ hash: hash.digest("hex") as Hash, offset, size });
    offset += size;
    size = 0;
    hash = createHash("sha256");
  };
  for await (const piece of reader.pieces()) {
    for (let at = 0; at < piece.length;) {
      const part = piece.subarray(at, at + chunk_size - size);
      hash.update(part);
      size += part.length;
      at += part.length;
      if (size === chunk_size) cut();
    }
  }
  if (size > 0) cut();
  return { total_size, chunk_size, chunks };
}
