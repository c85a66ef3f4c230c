import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { BlobIndex, BlobPlace } from "../blob-index.ts";
import { decodeBlockHead, isStoredWhole, unpackBlock } from "../block.ts";
import { readLarge } from "./large-reader.ts";
import type { BlobLayout } from "../layout.ts";
import { openPack } from "./pack-reader.ts";
import { damagedIn, readAt } from "./pack-scan.ts";

/** Most blocks that are remembered. Others are read again. */
const SLOTS = 1 << 16;
const EMPTY = 0n;
/** Pieces of a large content (1 MiB each) read in one step. */
const STEP_PIECES = 8;

/** The damaged contents of a block. */
type Hurt = ReadonlySet<Hash> | "all";

/** The state of a stored content. */
export type StoredState = "sound" | "damaged" | "none";

/**
 * The blocks that some thread of this process has found sound. The memory is shared, so that no other thread reads them
 * again.
 */
export class CheckedBlocks {
  readonly buffer: SharedArrayBuffer;
  readonly #keys: BigInt64Array;

  /** `buffer`: that of another thread. */
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

  /** Forgets all blocks, so that each is read again on its next use. */
  clear(): void {
    for (let at = 0; at < SLOTS; at++) Atomics.store(this.#keys, at, EMPTY);
  }
}

const MOST_TRIES = 32;

function slotOf(key: bigint): number {
  return Number(BigInt.asUintN(64, key * 0x9e3779b97f4a7c15n) >> 48n);
}

/** The part of an index that finds a content. */
type Places = Pick<BlobIndex, "find" | "packs">;

/**
 * Tells whether the stored bytes of a content that is put again are sound. A block is read on its first use, and not
 * again by any thread of this process. A damaged content counts as not stored, so that the good bytes replace it.
 */
export class SoundContents {
  readonly #disk: Disk;
  readonly #layout: BlobLayout;
  readonly #index: Places;
  readonly #checked: CheckedBlocks;
  /** Blocks that were read and are not sound. */
  readonly #hurt = new Map<bigint, Hurt>();

  constructor(disk: Disk, layout: BlobLayout, given: { readonly index: Places; readonly checked: CheckedBlocks }) {
    this.#disk = disk;
    this.#layout = layout;
    this.#index = given.index;
    this.#checked = given.checked;
  }

  /** The state of a stored content. */
  stateOf(hash: Hash): StoredState {
    return stepsToEnd(this.#look(hash));
  }

  /** The same, in steps between which other work runs. */
  async stateBeside(hash: Hash): Promise<StoredState> {
    const looking = this.#look(hash);
    for (let step = looking.next(); ; step = looking.next()) {
      if (step.done === true) return step.value;
      await yieldToEventLoop();
    }
  }

  /** Yields between parts of a content that takes long to read. */
  *#look(hash: Hash): Generator<void, StoredState, void> {
    const place = this.#index.find(hash);
    if (place === undefined) return "none";
    const key = keyOf(hash, place);
    if (this.#checked.has(key)) return "sound";
    const hurt = this.#hurt.get(key) ?? (yield* this.#read(hash, place));
    if (hurt === "astray") return "damaged";
    if (hurt === "all" || hurt.size > 0) this.#hurt.set(key, hurt);
    else this.#checked.add(key);
    return hurt === "all" || hurt.has(hash) ? "damaged" : "sound";
  }

  /** Notes that a content in a file of its own was stored anew in the same place. */
  replaced(hash: Hash): void {
    this.#hurt.delete(keyOfLarge(hash));
  }

  /** Forgets all findings. */
  clear(): void {
    this.#hurt.clear();
    this.#checked.clear();
  }

  /**
   * Returns the damaged contents among those stored together with this one. `astray`: this content is not there, and
   * nothing is known of the others.
   */
  *#read(hash: Hash, place: BlobPlace): Generator<void, Hurt | "astray", void> {
    return place.kind === "large" ? yield* this.#readLarge(hash, place.packed) : this.#readBlock(hash, place);
  }

  *#readLarge(hash: Hash, packed: boolean): Generator<void, Hurt, void> {
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

  #readBlock(hash: Hash, place: Extract<BlobPlace, { kind: "pack" }>): Hurt | "astray" {
    const bytes = this.#bytesOf(place);
    const head = bytes === undefined ? undefined : decodeBlockHead(bytes);
    // No head can be read there, so nothing after it can be read.
    if (bytes === undefined || head === undefined) return "all";
    const isThere = head.entries.some((one) => one.hash === hash && one.at === place.at && one.length === place.length);
    if (!isThere || head.blockBytes !== place.blockBytes) return "astray";
    const stored = bytes.subarray(head.headBytes);
    const damaged = damagedIn(head, unpackBlock(head, stored));
    if (damaged.length > 0) return new Set(damaged.map((one) => one.hash));
    // Bytes that do not affect any content may be changed.
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
 * The key of a block or large content; never 0. Blocks are below offset 2^40 of their packs; a large content is
 * identified by the first bytes of its hash.
 */
function keyOf(hash: Hash, place: BlobPlace): bigint {
  if (place.kind === "large") return keyOfLarge(hash);
  return BigInt.asIntN(64, (BigInt(place.pack + 1) << 41n) | (BigInt(place.block) << 1n));
}

function keyOfLarge(hash: Hash): bigint {
  return BigInt.asIntN(64, BigInt(`0x${hash.slice(0, 16)}`) | 1n);
}
