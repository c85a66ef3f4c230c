import { ChronicleError } from "../../core/values/errors.ts";
import { hashToBytes, type Hash } from "../../core/values/hash.ts";
import { splitBlocks, type BlobBlock } from "../../storage/blob-block.ts";
import type { Channel } from "../channel.ts";
import { MAX_ASKED, MAX_PENDING } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { Patience } from "../contents/patience.ts";

type Response = MessageOf<"BlocksResponse">;

/**
 * The contents of one `BlocksResponse` for which this side was still waiting. A block can also have contents that
 * arrived in an earlier answer.
 */
export interface FetchedBlocks {
  readonly blocks: readonly FetchedBlock[];
  /** The contents that the origin does not have. */
  readonly absent: readonly Hash[];
  /** The contents that the caller must request one by one. */
  readonly apart: readonly Hash[];
}

/**
 * A block with at least one content for which this side was still waiting (`fresh`). The hashes of the contents are not
 * checked yet.
 */
export interface FetchedBlock {
  readonly block: BlobBlock;
  readonly fresh: ReadonlySet<Hash>;
}

/** The number of waiting answers at which the channel is not read any more until the caller has taken an answer. */
const MOST_HELD = 2;
/**
 * The maximum number of pending contents at which further contents are requested. Each request names as many contents
 * as allowed, because the origin must repack a block if only some of its contents are requested.
 */
const LOW = MAX_PENDING - MAX_ASKED;

/** The state of one call of `get`, until all its contents are answered. */
interface Asking {
  readonly asked: ReadonlySet<Hash>;
  /** The contents that were requested and not answered yet. */
  readonly pending: Set<Hash>;
  /** The contents that were not requested yet. The last content of this list is requested first. */
  readonly later: Hash[];
  readonly held: Response[];
  /** Called when an answer has arrived, or the connection has ended. */
  wake: () => void;
  /** Called when `held` has room again. */
  room: () => void;
}

/** Fetches many contents at once, as blocks of a pack. */
export class BlockFetch {
  readonly #channel: Channel;
  #asking: Asking | undefined;
  readonly #patience: Patience;
  #end: ChronicleError | undefined;

  /** True once the capability `blocks` is agreed on. The caller must not request blocks before. */
  isKnown = false;

  constructor(channel: Channel) {
    this.#channel = channel;
    this.#patience = new Patience(channel);
  }

  /**
   * Yields the answers for these contents as they arrive. Only one call may run at a time. Ignores blocks that have no
   * pending content. Throws `INTEGRITY_VIOLATION` for a malformed block, and for a block that has both a pending
   * content and a content that was not requested. Throws `UNAVAILABLE` if the connection ends before all contents are
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
        this.#askMore(asking);
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
   * Takes an answer. Resolves when there is room for another answer. Until then, the session must not read the channel,
   * so that the origin waits, too. Ignores an answer if no call of `get` is running: such an answer is a repetition, or
   * belongs to a call that has ended early.
   */
  async took(message: Response): Promise<void> {
    const asking = this.#asking;
    if (asking === undefined) return;
    this.#patience.heard();
    asking.held.push(message);
    asking.wake();
    if (asking.held.length >= MOST_HELD) await new Promise<void>((resolve) => (asking.room = resolve));
  }

  /** Must be called with each heartbeat. Repeats the requests of pending contents if the answers are overdue. */
  beat(): void {
    const asking = this.#asking;
    if (asking === undefined || asking.held.length > 0) return;
    if (!this.#patience.isOver()) return;
    this.#ask([...asking.pending]);
  }

  /** Must be called at the end of the session. Answers that have arrived are still yielded. */
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

  #askMore({ pending, later }: Asking): void {
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
      // Ignore the error. When the channel ends, the session ends, too, and calls `end`.
      this.#channel.send({ type: "BlocksRequest", hashes: some }).catch(() => undefined);
    }
  }
}

/**
 * Removes an answer's contents from the pending contents, and returns the contents that were pending. Returns
 * `undefined` if no content of the answer was pending.
 */
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
