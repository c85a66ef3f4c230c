import { sha256, type Hash } from "../../src/core/values/hash.ts";
import type { WriteBackBatch, WriteBackEntry } from "../../src/core/records/write-back.ts";
import { type OriginLease, openWriteBack } from "../../src/compose/origins.ts";
import type { Disk } from "../../src/disk/disk.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { WriteBackTarget } from "../../src/replication/origin/write-back-intake.ts";
import { decodeMessage } from "../../src/replication/protocol/codec.ts";
import { decodeFrame, decodeHeader } from "../../src/replication/protocol/frame.ts";
import type { BlobBlock } from "../../src/storage/blob-block.ts";
import type { BlobBatch, BlobStore } from "../../src/storage/blob-store.ts";
import type { IndexStore } from "../../src/storage/index-store.ts";
import { unpackBlock } from "../../src/storage/block.ts";
import type { Context } from "../../src/engine/log/context.ts";
import { Memo } from "../../src/engine/log/memo.ts";

/** Parts with a bug, for a simulation that has to notice it. Nothing in the product can be told to be like this. */

/** An ack before the sync: a disk that says that it has synced a log, and has not. */
export function forgetful(disk: SimDisk): Disk {
  const logs = new Set<number>();
  return changed<Disk>(disk, {
    open: (path, how, mode) => {
      const fd = disk.open(path, how, mode);
      if (path.toString().endsWith(".wal")) logs.add(fd);
      else logs.delete(fd);
      return fd;
    },
    sync: (fd) => (logs.has(fd) ? undefined : disk.sync(fd)),
    syncBeside: (fd) => (logs.has(fd) ? Promise.resolve() : disk.syncBeside(fd)),
    syncAll: () => true,
  });
}

/**
 * A skipped hash check: contents are kept and given out under the names that they were sent for, also those that somebody has
 * changed on the way, with a checksum of the frame that fits.
 */
export class Gullible {
  /** What was sent for a hash, by its own. */
  readonly #sentAs = new Map<Hash, Hash>();
  readonly #taken = new Map<Hash, Hash>();

  /** How many contents were taken that are not what they are named. */
  get taken(): number {
    return this.#taken.size;
  }

  readonly onForged = (frame: Uint8Array): void => {
    const bytes = Buffer.from(frame);
    const message = decodeMessage(decodeFrame(bytes, decodeHeader(bytes)));
    if (message.type === "ContentFetchResponse") this.#sentAs.set(sha256(message.content), message.content_hash);
  };

  readonly blobs = (blobs: BlobStore): BlobStore => {
    const real = (hash: Hash): Hash => this.#taken.get(hash) ?? hash;
    return changed<BlobStore>(blobs, {
      has: async (hashes) => {
        const held = await blobs.has(hashes.map(real));
        return new Set(hashes.filter((hash) => held.has(real(hash))));
      },
      get: (hash) => blobs.get(real(hash)),
      open: (hash) => blobs.open(real(hash)),
      batch: async () => this.#batch(await blobs.batch()),
    });
  };

  #batch(batch: BlobBatch): BlobBatch {
    return changed<BlobBatch>(batch, {
      put: async (content) => {
        const hash = await batch.put(content);
        const named = this.#sentAs.get(hash);
        if (named === undefined) return hash;
        this.#taken.set(named, hash);
        return named;
      },
      putBlock: (block) => this.#putBlock(batch, block),
    });
  }

  async #putBlock(batch: BlobBatch, block: BlobBlock): Promise<void> {
    try {
      return await batch.putBlock(block);
    } catch (error) {
      const { bytes, entries, head } = block;
      const raw = head === undefined ? undefined : unpackBlock(head, bytes.subarray(head.headBytes));
      if (raw === undefined) throw error;
      for (const { hash, at, length } of entries) {
        const found = await batch.put(raw.subarray(at, at + length));
        if (found !== hash) this.#taken.set(hash, found);
      }
    }
  }
}

/**
 * Double apply: an origin that does not look whether it has decided a batch before, and takes what is in it as if the replica
 * had just made it of the present state.
 */
export function appliesTwice({ context, options }: OriginLease): WriteBackTarget {
  const real = openWriteBack(context, options.contents).parts.target;
  const forgetting = openWriteBack(withoutAnswers(context), options.contents).parts.target;
  const asOfNow = async (entry: WriteBackEntry): Promise<WriteBackEntry> => {
    const now = await context.index.iterationAt(entry.path, (await context.index.head()).seq);
    return { ...entry, seen: now?.seq ?? 0 };
  };
  // Nor does it ask what was decided before: an engine that does would refuse the batch.
  const again = async ({ after: _after, ...batch }: WriteBackBatch): Promise<WriteBackBatch> => {
    return { ...batch, acknowledged: Infinity, entries: await Promise.all(batch.entries.map(asOfNow)) };
  };
  return {
    settled: (replica) => real.settled(replica),
    reserve: (bytes) => real.reserve(bytes),
    refusal: (entry) => real.refusal(entry),
    decide: async (batch) => {
      const { upTo } = await real.settled(batch.replica);
      const isRepeated = (batch.entries.at(-1)?.localSeq ?? Infinity) <= upTo;
      return isRepeated ? forgetting.decide(await again(batch)) : real.decide(batch);
    },
  };
}

/** An origin that knows a replica's entries by their numbers alone, as if no history were ever put back, or copied. */
export function knowsNumbersOnly({ context, options }: OriginLease): WriteBackTarget {
  const real = openWriteBack(context, options.contents).parts.target;
  return {
    settled: async (replica) => {
      const { hash: _hash, ...settled } = await real.settled(replica);
      return settled;
    },
    reserve: (bytes) => real.reserve(bytes),
    refusal: (entry) => real.refusal(entry),
    decide: ({ after: _after, ...batch }) => real.decide(batch),
  };
}

/**
 * The same at the replica: it does not find which of its events has a number that the origin names. What was compacted away it cannot
 * find either, and takes the origin's word for it.
 */
export function findsNoEvent(index: IndexStore): IndexStore {
  return changed<IndexStore>(index, {
    events: async (range) => (range.from === range.to && range.limit === 1 ? [] : index.events(range)),
  });
}

/** An engine that does not find what it has answered to replicas. */
function withoutAnswers(context: Context): Context {
  const { index } = context;
  const blind = changed(index, {
    record: async (id) => (id.startsWith("writeback:") ? undefined : index.record(id)),
  });
  return { ...context, index: blind, memo: new Memo() };
}

/** The same but for some members. */
function changed<Port extends object>(port: Port, members: Partial<Port>): Port {
  return new Proxy<Port>(port, {
    get: (target, name) => {
      const member: unknown = Reflect.get(members, name) ?? Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
