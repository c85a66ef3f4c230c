import { errnoOf } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { BlobBlock } from "../blob-block.ts";
import type { BlobIndex, BlobPlace, PackState } from "../blob-index.ts";
import { corrupt } from "./blob-trouble.ts";
import { decodeBlockHead, isStoredWhole, unpackBlock } from "../block.ts";
import { freeBytes } from "../../util/free-bytes.ts";
import type { BlobLayout } from "../layout.ts";
import { readAt, readPackUlid } from "./pack-scan.ts";

const CACHE_BYTES = 8 * 1024 * 1024;
/**
 * The maximum length, in bytes, of a cached block with a single content. Blocks with several contents are always
 * cached. Blocks with one small content are cached because a server is asked for the same small file repeatedly.
 */
const SMALL_BYTES = 64 * 1024;
const OPEN_PACKS = 16;

type PackPlace = Extract<BlobPlace, { kind: "pack" }>;

/**
 * Reads contents from packs. Keeps the most recently used packs open, and the most recently read blocks unpacked in
 * memory.
 */
export class PackReader {
  readonly #disk: Disk;
  readonly #layout: BlobLayout;
  readonly #index: Pick<BlobIndex, "packs">;
  readonly #open = new Map<number, number>();
  readonly #blocks = new Map<string, Buffer>();
  #cached = 0;

  constructor(disk: Disk, layout: BlobLayout, index: Pick<BlobIndex, "packs">) {
    this.#disk = disk;
    this.#layout = layout;
    this.#index = index;
  }

  /**
   * Returns the content at a place. The bytes belong to the caller. Throws `BLOB_CORRUPT` if the content is damaged.
   * Returns `undefined` if the pack does not exist, because a collector has replaced the pack or because the pack is
   * lost. In this case, the caller must look up the place in the index once more.
   */
  read(hash: Hash, place: PackPlace): Buffer | undefined {
    const content = this.look(hash, place);
    return content !== undefined && this.#blocks.has(keyOf(place)) ? Buffer.from(content) : content;
  }

  /**
   * Like `read`, but the result may be a view of a cached block. The caller must not change the result. The result is
   * valid only until the next call.
   */
  look(hash: Hash, place: PackPlace): Buffer | undefined {
    const key = keyOf(place);
    const known = this.#blocks.get(key);
    const raw = known ?? this.#readBlock(hash, place);
    if (raw === undefined) return undefined;
    const content = raw.subarray(place.at, place.at + place.length);
    if (sha256(content) !== hash) throw corrupt(hash, this.#nameOf(place), "its bytes have another hash");
    if (known === undefined && raw.length === content.length && raw.length > SMALL_BYTES) return content;
    this.#keep(key, raw);
    return content;
  }

  /**
   * Returns a block as it is stored; `undefined` if the pack is missing, or if the head or a checksum of the block is
   * wrong.
   */
  readBlock(place: Pick<PackPlace, "pack" | "block" | "blockBytes">): BlobBlock | undefined {
    const fd = this.#packFile(place.pack);
    if (fd === undefined) return undefined;
    const bytes = readAt(this.#disk, fd, place.block, place.blockBytes);
    const head = decodeBlockHead(bytes);
    if (head === undefined || !isStoredWhole(head, bytes.subarray(head.headBytes))) return undefined;
    return { bytes, entries: head.entries, rawLength: head.rawLength, head };
  }

  close(): void {
    for (const fd of this.#open.values()) this.#disk.close(fd);
    this.#open.clear();
    this.#blocks.clear();
    this.#cached = 0;
  }

  #readBlock(hash: Hash, place: PackPlace): Buffer | undefined {
    const fd = this.#packFile(place.pack);
    if (fd === undefined) return undefined;
    const bytes = readAt(this.#disk, fd, place.block, place.blockBytes);
    const head = decodeBlockHead(bytes);
    if (head?.blockBytes !== place.blockBytes)
      throw corrupt(hash, this.#nameOf(place), "the head of its block is damaged");
    const raw = unpackBlock(head, bytes.subarray(head.headBytes));
    if (raw === undefined) throw corrupt(hash, this.#nameOf(place), "its block cannot be unpacked");
    if (head.codec === "zstd") freeBytes(bytes);
    return raw;
  }

  #packFile(id: number): number | undefined {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const pack = this.#index.packs().find((row) => row.id === id);
    const fd = pack === undefined ? undefined : openPack(this.#disk, this.#layout, pack);
    if (fd === undefined) return undefined;
    const [oldest] = this.#open;
    if (oldest !== undefined && this.#open.size >= OPEN_PACKS) {
      this.#disk.close(oldest[1]);
      this.#open.delete(oldest[0]);
    }
    this.#open.set(id, fd);
    return fd;
  }

  #keep(key: string, raw: Buffer): void {
    if (this.#blocks.delete(key)) this.#cached -= raw.length;
    this.#blocks.set(key, raw);
    this.#cached += raw.length;
    for (const [oldKey, old] of this.#blocks) {
      if (this.#cached <= CACHE_BYTES || oldKey === key) break;
      this.#blocks.delete(oldKey);
      this.#cached -= old.length;
      freeBytes(old);
    }
  }

  #nameOf(place: PackPlace): string {
    const pack = this.#index.packs().find(({ id }) => id === place.pack);
    return `pack ${pack?.ulid ?? place.pack} at byte ${place.block}`;
  }
}

function keyOf({ pack, block }: PackPlace): string {
  return `${pack}:${block}`;
}

/**
 * Opens a pack for reading. A pack that is still in a lane is read from the lane's file, and a sealed pack from the
 * file with its ULID (`BlobLayout`). A pack that is in a lane according to `pack` may have been sealed meanwhile.
 * Returns `undefined` if the pack has no file.
 */
export function openPack(disk: Disk, layout: BlobLayout, pack: PackState): number | undefined {
  const active = pack.lane === undefined ? undefined : openIfThere(disk, layout.activePack(pack.lane));
  if (active === undefined) return openIfThere(disk, layout.sealedPack(pack.ulid));
  try {
    const ulid = readPackUlid(disk, active);
    if (ulid === pack.ulid) return active;
    const sealed = openIfThere(disk, layout.sealedPack(pack.ulid));
    // A pack with a damaged header can still be read, because every content is checked by its hash.
    if (sealed === undefined && ulid === undefined) return active;
    disk.close(active);
    return sealed;
  } catch (error) {
    disk.close(active);
    throw error;
  }
}

function openIfThere(disk: Disk, path: string): number | undefined {
  try {
    return disk.open(path, "read");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
