import { ChronicleError } from "../../core/values/errors.ts";
import { hashToBytes, type Hash } from "../../core/values/hash.ts";
import { splitBlocks, type BlobBlock } from "../../storage/blob-block.ts";
import type { Channel } from "../channel.ts";
import { MAX_ASKED, MAX_PENDING } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { Patience } from "../contents/patience.ts";

type Response = MessageOf<"BlocksResponse">;

/**
 * Part of an answer. Everything in it was asked for and is new, except for blocks' contents that are not in `fresh`.
 */
export interface FetchedBlocks {
  readonly blocks: readonly FetchedBlock[];
  /** Contents that the origin does not have. */
  readonly absent: readonly Hash[];
  /** Contents to be asked for one by one. */
  readonly apart: readonly Hash[];
}

/** A block with at least one new content. Only its table has been read. */
export interface FetchedBlock {
  readonly block: BlobBlock;
  /** The contents that had not come before. */
  readonly fresh: ReadonlySet<Hash>;
}

/** Number of messages that may wait for the caller; above it, the channel is not read. */
const MOST_HELD = 2;
/**
 * More contents are asked for once at most this many are pending: asks for as many at once as allowed. If only part of
 * a block is asked for, the origin must pack it anew, so it should know of many at once.
 */
const LOW = MAX_PENDING - MAX_ASKED;

/** One request of a caller, until all of it is answered. */
interface Asking {
  readonly asked: ReadonlySet<Hash>;
  /** Asked for, but not answered yet. */
  readonly pending: Set<Hash>;
  /** Not asked for yet, in order. */
  readonly later: Hash[];
  readonly held: Response[];
  /** Called when something has come, or nothing comes any more. */
  wake: () => void;
  /** Called when there is room again. */
  room: () => void;
}

/** Asks for many contents at once, and passes on the blocks that come. */
export class BlockFetch {
  readonly #channel: Channel;
  #asking: Asking | undefined;
  readonly #patience: Patience;
  #end: ChronicleError | undefined;

  /** True once the origin has said that it supports this. Nothing is asked for before. */
  isKnown = false;

  constructor(channel: Channel) {
    this.#channel = channel;
    this.#patience = new Patience(channel);
  }

  /**
   * Yields the answers for these contents as they come; one call at a time. Throws `INTEGRITY_VIOLATION` for contents
   * that were not asked for and for malformed blocks, and `UNAVAILABLE` if the conversation ends before all is
   * answered.
   */
  async *get(hashes: Iterable<Hash>): AsyncGenerator<FetchedBlocks, void> {
    if (this.#asking !== undefined) throw new ChronicleError("USAGE", "contents are being asked for already");
    const asked = new Set(hashes);
    const nothing = (): void => undefined;
    const asking: Asking = {
      asked,
      pending: new Set(),
      later: [...asked].reverse(),
      held: [],
      wake: nothing,
      room: nothing,
    };
    this.#asking = asking;
    try {
      for (;;) {
        this.#askOn(asking);
        if (asking.pending.size === 0) return;
        const response = await this.#next(asking);
        const answer = settle(asking, response);
        if (answer !== undefined) yield answer;
      }
    } finally {
      this.#asking = undefined;
      asking.room();
    }
  }

  /**
   * Takes an answer. Resolves when there is room for another one: until then the caller does not read the channel, and
   * the origin waits too. Ignores an answer that nobody waits for, since it came twice.
   */
  async took(message: Response): Promise<void> {
    const asking = this.#asking;
    if (asking === undefined) return;
    this.#patience.heard();
    asking.held.push(message);
    asking.wake();
    if (asking.held.length >= MOST_HELD) await new Promise<void>((resolve) => (asking.room = resolve));
  }

  /** Called with each heartbeat: asks again for what is overdue. */
  beat(): void {
    const asking = this.#asking;
    if (asking === undefined || asking.held.length > 0) return;
    if (!this.#patience.isOver()) return;
    this.#ask([...asking.pending]);
  }

  /** Called at the end of the conversation; what has come is still passed on. */
  end(): void {
    this.#end = new ChronicleError("UNAVAILABLE", "the connection ended before all contents had come");
    this.#asking?.wake();
  }

  async #next(asking: Asking): Promise<Response> {
    for (;;) {
      const next = asking.held.shift();
      if (next !== undefined) {
        asking.room();
        return next;
      }
      if (this.#end !== undefined) throw this.#end;
      await new Promise<void>((resolve) => (asking.wake = resolve));
    }
  }

  #askOn({ pending, later }: Asking): void {
    while (later.length > 0 && pending.size <= LOW) {
      const some: Hash[] = [];
      for (let next = later.pop(); next !== undefined; next = later.pop()) {
        some.push(next);
        pending.add(next);
        if (some.length === MAX_ASKED) break;
      }
      this.#ask(some);
    }
  }

  #ask(hashes: readonly Hash[]): void {
    for (let at = 0; at < hashes.length; at += MAX_ASKED) {
      const some = Buffer.concat(hashes.slice(at, at + MAX_ASKED).map(hashToBytes));
      // A channel that has ended ends the session, which calls `end`.
      this.#channel.send({ type: "BlocksRequest", hashes: some }).catch(() => undefined);
    }
  }
}

/** Removes an answer's contents from those pending. Returns `undefined` if the answer has nothing new. */
function settle({ asked, pending }: Asking, { blocks, absent, apart }: Response): FetchedBlocks | undefined {
  const fresh: FetchedBlock[] = [];
  for (const block of splitBlocks(blocks)) {
    const hashes = block.entries.map(({ hash }) => hash);
    const own = new Set(hashes);
    if (own.size < hashes.length) refuse("a block holds a content twice");
    const stillWanted = new Set(hashes.filter((hash) => pending.delete(hash)));
    if (stillWanted.size === 0) continue;
    const stranger = hashes.find((hash) => !asked.has(hash));
    if (stranger !== undefined) refuse(`a block holds the content ${stranger}, which was not asked for`);
    fresh.push({ block, fresh: stillWanted });
  }
  const answer = {
    blocks: fresh,
    absent: absent.filter((hash) => pending.delete(hash)),
    apart: apart.filter((hash) => pending.delete(hash)),
  };
  return fresh.length + answer.absent.length + answer.apart.length === 0 ? undefined : answer;
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}
