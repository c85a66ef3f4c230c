import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { BlobIndex, BlobPlace } from "../blob-index.ts";
import { decodeBlockHead, isStoredWhole, unpackBlock } from "../block.ts";
import { readLarge } from "./large-reader.ts";
import type { BlobLayout } from "../layout.ts";
import { openPack } from "./pack-reader.ts";
import { damagedIn, isPlaceIn, readAt } from "./pack-scan.ts";

/**
 * The maximum number of blocks and large contents that are remembered as sound. A sound block or large content that is
 * not remembered is read again on each use.
 */
const SLOTS = 1 << 16;
const EMPTY = 0n;
/** The number of pieces of a large content (1 MiB each) that are read in one step. */
const STEP_PIECES = 8;

/** The hashes of the damaged contents of a block or of a large file; `all` if every content of it is damaged. */
type Damaged = ReadonlySet<Hash> | "all";

/** The state of a content's stored bytes. `none`: the content is not stored. */
export type StoredState = "sound" | "damaged" | "none";

/**
 * The blocks and large contents that were found sound. All threads share the memory of this object, so that only one
 * thread has to read each block.
 */
export class CheckedBlocks {
  readonly buffer: SharedArrayBuffer;
  readonly #keys: BigInt64Array;

  /** `buffer`: the memory of another thread's object. Default: new memory. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(SLOTS * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#keys = new BigInt64Array(buffer);
  }

  has(key: bigint): boolean {
    for (let at = slotOf(key), tries = 0; tries < MOST_TRIES; at = (at + 1) % SLOTS, tries++) {
      const found = Atomics.load(this.#keys, at);
      if (found === key) return true;
      if (found === EMPTY) return false;
    }
    return false;
  }

  add(key: bigint): void {
    for (let at = slotOf(key), tries = 0; tries < MOST_TRIES; at = (at + 1) % SLOTS, tries++) {
      const found = Atomics.compareExchange(this.#keys, at, EMPTY, key);
      if (found === EMPTY || found === key) return;
    }
  }

  clear(): void {
    for (let at = 0; at < SLOTS; at++) Atomics.store(this.#keys, at, EMPTY);
  }
}

/** The maximum number of slots in which a key is searched, beginning with the slot that `slotOf` gives for the key. */
const MOST_TRIES = 32;

function slotOf(key: bigint): number {
  return Number(BigInt.asUintN(64, key * 0x9e3779b97f4a7c15n) >> 48n);
}

type Places = Pick<BlobIndex, "find" | "packs">;

/**
 * Finds out, when a content is put again, whether its stored bytes are sound. A block or large content is read on its
 * first use. If it is sound, all threads of this process remember that. If it is damaged, only this object does. The
 * caller treats a damaged content as not stored, and replaces the stored bytes by the bytes of the put.
 */
export class SoundContents {
  readonly #disk: Disk;
  readonly #layout: BlobLayout;
  readonly #index: Places;
  readonly #checked: CheckedBlocks;
  /** Maps the key (`keyOf`) of each block or large file that is not sound to its damaged contents. */
  readonly #damaged = new Map<bigint, Damaged>();

  constructor(disk: Disk, layout: BlobLayout, given: { readonly index: Places; readonly checked: CheckedBlocks }) {
    this.#disk = disk;
    this.#layout = layout;
    this.#index = given.index;
    this.#checked = given.checked;
  }

  stateOf(hash: Hash): StoredState {
    return stepsToEnd(this.#look(hash));
  }

  /** Like `stateOf`, but yields to the event loop between the steps. */
  async stateBeside(hash: Hash): Promise<StoredState> {
    const looking = this.#look(hash);
    for (let step = looking.next(); ; step = looking.next()) {
      if (step.done === true) return step.value;
      await yieldToEventLoop();
    }
  }

  *#look(hash: Hash): Generator<void, StoredState, void> {
    const place = this.#index.find(hash);
    if (place === undefined) return "none";
    const key = keyOf(hash, place);
    if (this.#checked.has(key)) return "sound";
    const damaged = this.#damaged.get(key) ?? (yield* this.#read(hash, place));
    if (damaged === "astray") return "damaged";
    if (damaged === "all" || damaged.size > 0) this.#damaged.set(key, damaged);
    else this.#checked.add(key);
    return damaged === "all" || damaged.has(hash) ? "damaged" : "sound";
  }

  /** Notes that the file of a large content was replaced. */
  replaced(hash: Hash): void {
    this.#damaged.delete(keyOfLarge(hash));
  }

  clear(): void {
    this.#damaged.clear();
    this.#checked.clear();
  }

  /**
   * Reads the block or large file at a place, and returns its damaged contents. Returns `astray` if the block does not
   * have this content at this place. In that case, the other contents of the block are not checked.
   */
  *#read(hash: Hash, place: BlobPlace): Generator<void, Damaged | "astray", void> {
    return place.kind === "large" ? yield* this.#readLarge(hash, place.packed) : this.#readBlock(hash, place);
  }

  *#readLarge(hash: Hash, packed: boolean): Generator<void, Damaged, void> {
    const path = packed ? this.#layout.largePacked(hash) : this.#layout.largeRaw(hash);
    if (this.#disk.lstat(path) === undefined) return "all";
    try {
      let pieces = 0;
      for (const _piece of readLarge(this.#disk, { path, packed, hash }, { isStrict: true })) {
        if ((pieces += 1) % STEP_PIECES === 0) yield;
      }
      return new Set();
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "BLOB_CORRUPT") return "all";
      throw error;
    }
  }

  #readBlock(hash: Hash, place: Extract<BlobPlace, { kind: "pack" }>): Damaged | "astray" {
    const bytes = this.#bytesOf(place);
    const head = bytes === undefined ? undefined : decodeBlockHead(bytes);
    // Without a valid head, no content of the block can be read.
    if (bytes === undefined || head === undefined) return "all";
    if (!isPlaceIn(head, hash, place)) return "astray";
    const stored = bytes.subarray(head.headBytes);
    const damaged = damagedIn(head, unpackBlock(head, stored));
    if (damaged.length > 0) return new Set(damaged.map((one) => one.hash));
    // All contents are sound here. If the checksum is wrong nevertheless, bytes have changed without an effect on the
    // contents. The whole block then counts as damaged.
    return isStoredWhole(head, stored) ? new Set() : "all";
  }

  #bytesOf({ pack: id, block, blockBytes }: Extract<BlobPlace, { kind: "pack" }>): Buffer | undefined {
    const pack = this.#index.packs().find((row) => row.id === id);
    const fd = pack === undefined ? undefined : openPack(this.#disk, this.#layout, pack);
    if (fd === undefined) return undefined;
    try {
      return readAt(this.#disk, fd, block, blockBytes);
    } finally {
      this.#disk.close(fd);
    }
  }
}

function stepsToEnd<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Returns the key of a block or a large content. A key is never 0. The key of a block is even, and requires that the
 * block lies at an offset below 2^40. The key of a large content is odd, and has the first bits of its hash.
 */
function keyOf(hash: Hash, place: BlobPlace): bigint {
  if (place.kind === "large") return keyOfLarge(hash);
  return BigInt.asIntN(64, (BigInt(place.pack + 1) << 41n) | (BigInt(place.block) << 1n));
}

function keyOfLarge(hash: Hash): bigint {
  return BigInt.asIntN(64, BigInt(`0x${hash.slice(0, 16)}`) | 1n);
}
