import { ChronicleError } from "../../core/values/errors.ts";
import { hashFromBytes, type Hash } from "../../core/values/hash.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import { freeBytes } from "../../util/free-bytes.ts";
import { asFatal, type Channel } from "../channel.ts";
import { MAX_BLOCKS_BYTES, MAX_NOT_IN_BLOCKS, MAX_PENDING } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";

/**
 * Gives access to many contents of one workspace at once. Excludes contents that the store holds only for other
 * workspaces.
 */
export interface WorkspaceBlocks {
  /** Like `BlobStore.blocks`, but yields only contents that some event of this workspace names. */
  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock>;
  /** Returns the contents that are stored and that some event of this workspace names. */
  has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
}

type Response = MessageOf<"BlocksResponse">;

/**
 * The maximum number of bytes in a message of several blocks. The limit is low, so that the replica can check one
 * message while the next one is on its way.
 */
const FULL_BYTES = 1024 * 1024;
const HASH_BYTES = 32;

interface Lookup {
  readonly asked: readonly Hash[];
  readonly blocks: AsyncIterable<BlobBlock>;
}

async function* following<T>(first: Promise<IteratorResult<T>>, rest: AsyncIterator<T>): AsyncGenerator<T, void> {
  try {
    for (let step = await first; step.done !== true; step = await rest.next()) yield step.value;
  } finally {
    await rest.return?.();
  }
}

/**
 * Sends requested contents in blocks, if possible in the blocks that the store has packed. While a slow replica
 * receives a message, only this message and the beginning of the next lookup are in memory. A content that is requested
 * again before it was sent is sent only once.
 */
export class BlockServer {
  readonly #channel: Channel;
  readonly #contents: WorkspaceBlocks;
  /** The contents that were requested and not answered yet. */
  readonly #waiting = new Set<Hash>();
  /** The part of `#waiting` whose lookup has not begun. */
  readonly #later = new Set<Hash>();
  #isServing = false;

  constructor(channel: Channel, contents: WorkspaceBlocks) {
    this.#channel = channel;
    this.#contents = contents;
  }

  /**
   * Takes a request and returns at once, so that the caller can read the next message of the channel. Throws
   * `LIMIT_EXCEEDED` if too many contents wait.
   */
  ask({ hashes }: MessageOf<"BlocksRequest">): void {
    for (let at = 0; at < hashes.length; at += HASH_BYTES) {
      const hash = hashFromBytes(hashes.subarray(at, at + HASH_BYTES));
      if (this.#waiting.has(hash)) continue;
      this.#waiting.add(hash);
      this.#later.add(hash);
    }
    if (this.#waiting.size > MAX_PENDING) {
      throw new ChronicleError("LIMIT_EXCEEDED", `more than ${MAX_PENDING} contents are asked for at once`);
    }
    if (!this.#isServing) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    try {
      for (let current = this.#begin(); current !== undefined;) {
        let next: Lookup | undefined;
        for await (const response of this.#answers(current)) {
          await this.#channel.send(response);
          // The blocks can be freed, because the channel has copied them into the frame that it sent.
          freeBytes(response.blocks);
          // Look up the next contents while the remaining answers are sent.
          next ??= this.#begin();
        }
        current = next ?? this.#begin();
      }
    } catch (error) {
      this.#channel.close(asFatal(error));
    } finally {
      this.#waiting.clear();
      this.#later.clear();
      this.#isServing = false;
    }
  }

  /**
   * Begins one lookup for all contents in `#later`; returns `undefined` if there are none. One large lookup is better
   * than several small ones, because a block must be repacked if a lookup needs only some of its contents.
   */
  #begin(): Lookup | undefined {
    if (this.#later.size === 0) return undefined;
    const asked = [...this.#later];
    this.#later.clear();
    const blocks = this.#contents.blocks(asked, MAX_BLOCKS_BYTES)[Symbol.asyncIterator]();
    const first = blocks.next();
    // Handle the rejection here, because the promise is awaited later or never.
    first.catch(() => undefined);
    return { asked, blocks: following(first, blocks) };
  }

  async *#answers({ asked, blocks }: Lookup): AsyncGenerator<Response, void> {
    const left = new Set(asked);
    const answerOf = (blocks: readonly BlobBlock[]): Response => {
      for (const { entries } of blocks) for (const { hash } of entries) this.#answered(hash, left);
      return { type: "BlocksResponse", blocks: Buffer.concat(blocks.map(({ bytes }) => bytes)), absent: [], apart: [] };
    };
    let held: BlobBlock[] = [];
    let bytes = 0;
    for await (const block of blocks) {
      if (held.length > 0 && bytes + block.bytes.length > FULL_BYTES) {
        yield answerOf(held);
        held = [];
        bytes = 0;
      }
      held.push(block);
      bytes += block.bytes.length;
    }
    if (held.length > 0) yield answerOf(held);
    yield* this.#notInBlocks(left);
  }

  async *#notInBlocks(left: Set<Hash>): AsyncGenerator<Response, void> {
    const rest = [...left];
    const stored = await this.#contents.has(rest);
    for (let at = 0; at < rest.length; at += MAX_NOT_IN_BLOCKS) {
      const some = rest.slice(at, at + MAX_NOT_IN_BLOCKS);
      for (const hash of some) this.#answered(hash, left);
      const absent = some.filter((hash) => !stored.has(hash));
      const apart = some.filter((hash) => stored.has(hash));
      yield { type: "BlocksResponse", blocks: Buffer.alloc(0), absent, apart };
    }
  }

  #answered(hash: Hash, left: Set<Hash>): void {
    left.delete(hash);
    this.#waiting.delete(hash);
  }
}
