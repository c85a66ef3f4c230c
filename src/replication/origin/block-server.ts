import { ChronicleError } from "../../core/errors.ts";
import { hashFromBytes, type Hash } from "../../core/hash.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import { freeBytes } from "../../util/free-bytes.ts";
import { asFatal } from "../as-fatal.ts";
import type { Channel } from "../channel.ts";
import { MAX_ASKED, MAX_BLOCKS_BYTES, MAX_NOT_IN_BLOCKS } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";

/** The contents of one workspace, many at once. What the store holds for other workspaces only is not there. */
export interface WorkspaceBlocks {
  /** Of the contents that some event of this workspace names: as `BlobStore.blocks`. */
  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock>;
  /** Those that some event of this workspace names, and that are stored. */
  has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
}

type Response = MessageOf<"BlocksResponse">;

/** Contents that one replica may have asked for without having got them. */
const MAX_WAITING = 4 * MAX_ASKED;
/** The blocks of a message are no longer than this, or one: the replica looks at one while the next is on its way. */
const FULL_BYTES = 1024 * 1024;
const HASH_BYTES = 32;

/**
 * Answers requests for many contents: they go as they are stored, in the order in which they lie there. A replica that takes
 * them slowly costs one message. What is asked for again before it was sent is sent once.
 */
export class BlockServer {
  readonly #channel: Channel;
  readonly #contents: WorkspaceBlocks;
  readonly #waiting = new Set<Hash>();
  #isServing = false;

  constructor(channel: Channel, contents: WorkspaceBlocks) {
    this.#channel = channel;
    this.#contents = contents;
  }

  /** Notes what is asked for; whoever reads the channel does not wait. Throws `LIMIT_EXCEEDED`. */
  ask({ hashes }: MessageOf<"BlocksRequest">): void {
    for (let at = 0; at < hashes.length; at += HASH_BYTES) {
      this.#waiting.add(hashFromBytes(hashes.subarray(at, at + HASH_BYTES)));
    }
    if (this.#waiting.size > MAX_WAITING) {
      throw new ChronicleError("LIMIT_EXCEEDED", `more than ${MAX_WAITING} contents are asked for at once`);
    }
    if (!this.#isServing) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    try {
      while (this.#waiting.size > 0) {
        for await (const response of this.#answers([...this.#waiting.values().take(MAX_ASKED)])) {
          await this.#channel.send(response);
          // They stand in the frame, which has left.
          freeBytes(response.blocks);
        }
      }
    } catch (error) {
      this.#channel.close(asFatal(error));
    } finally {
      this.#waiting.clear();
      this.#isServing = false;
    }
  }

  async *#answers(asked: readonly Hash[]): AsyncGenerator<Response, void> {
    const left = new Set(asked);
    const answerOf = (blocks: readonly BlobBlock[]): Response => {
      for (const { entries } of blocks) for (const { hash } of entries) this.#answered(hash, left);
      return { type: "BlocksResponse", blocks: Buffer.concat(blocks.map(({ bytes }) => bytes)), absent: [], apart: [] };
    };
    let held: BlobBlock[] = [];
    let bytes = 0;
    for await (const block of this.#contents.blocks(asked, MAX_BLOCKS_BYTES)) {
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
