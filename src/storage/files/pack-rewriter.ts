import { sha256, type Hash } from "../../core/values/hash.ts";
import type { PackRow, PlacedBlob } from "../blob-index.ts";
import { decodeBlockHead, unpackBlock } from "../block.ts";
import { withTrouble } from "../io-trouble.ts";
import { BlockFiller } from "./block-filler.ts";
import type { BlobFiles, PackLease, PackLeases } from "./pack-leases.ts";
import { openPack } from "./pack-reader.ts";
import { readAt } from "./pack-scan.ts";
import { PackWriter } from "./pack-writer.ts";

/**
 * Copies contents of packs to a free lane: first to the end of the pack in that lane, if there is one, then into new
 * packs. The caller holds the collector's lock exclusively. A lane is the place of one pack to which one writer at a
 * time appends (see `PackLeases`). Other processes may still hold lanes, but do not write to them meanwhile. The packs
 * in their lanes are not changed.
 */
export class PackRewriter {
  readonly #files: BlobFiles;
  readonly #lanes: PackLeases;
  #target: { readonly writer: PackWriter; readonly lane: PackLease } | undefined;

  constructor(files: BlobFiles, lanes: PackLeases) {
    this.#files = files;
    this.#lanes = lanes;
  }

  /**
   * Seals the given packs that are in free lanes. Returns the ULIDs of all given packs that are sealed afterwards. The
   * caller must seal all packs before it copies the first one. Otherwise, a copy could be appended to a pack that is
   * copied later.
   */
  async sealAll(packs: readonly PackRow[]): Promise<ReadonlySet<string>> {
    const sealed = new Set<string>();
    for (const pack of packs) if (await this.#isSealed(pack)) sealed.add(pack.ulid);
    return sealed;
  }

  /**
   * Copies contents of a sealed pack, durably, and returns their new places, for the index. Leaves out a damaged
   * content for which `mayDrop` returns true. Returns `undefined`, and keeps no copy, if the pack is missing, or if
   * `mayDrop` returns false for a damaged content.
   */
  async copy(
    pack: PackRow,
    placed: readonly PlacedBlob[],
    { mayDrop }: { readonly mayDrop: (hash: Hash) => boolean },
  ): Promise<ReturnType<BlockFiller["result"]> | undefined> {
    const { disk, layout } = this.#files;
    const writer = await this.#openTarget();
    const filler = new BlockFiller(writer);
    const fd = withTrouble(`opening pack ${pack.ulid}`, () => openPack(disk, layout, { ...pack, lane: undefined }));
    if (fd === undefined) return undefined;
    try {
      for (const [hash, content] of contentsOf(this.#files, fd, placed)) {
        if (content !== undefined) {
          filler.add(hash, content);
        } else if (!mayDrop(hash)) {
          filler.abandon();
          return undefined;
        }
      }
      filler.flush();
      writer.sync();
      return filler.result();
    } catch (error) {
      filler.abandon();
      throw error;
    } finally {
      disk.close(fd);
    }
  }

  close(): void {
    this.#target?.writer.close();
    this.#target?.lane.release();
    this.#target = undefined;
  }

  /** Returns true if the pack is sealed afterwards; false if its lane is held, or the pack is gone. */
  async #isSealed(pack: PackRow): Promise<boolean> {
    if (pack.lane === undefined) return true;
    const lane = await this.#lanes.tryTake(pack.lane);
    if (lane === undefined) return false;
    try {
      const { index } = this.#files;
      // The lane may not have this pack any more. In that case, taking the lane has sealed the damaged pack unchanged,
      // or has removed the pack because it had no sound content.
      if (lane.grant.pack?.ulid !== pack.ulid) return isSealedRow(index.packOf(pack.ulid));
      const writer = new PackWriter(this.#files, lane.grant);
      withTrouble(`sealing pack ${pack.ulid}`, () => writer.seal());
      index.apply({ packs: [writer.stateOf(pack.ulid)] });
      return true;
    } finally {
      lane.release();
    }
  }

  async #openTarget(): Promise<PackWriter> {
    if (this.#target === undefined) {
      const lane = await this.#lanes.take();
      this.#target = { lane, writer: new PackWriter(this.#files, lane.grant) };
    }
    return this.#target.writer;
  }
}

function isSealedRow(row: PackRow | undefined): boolean {
  return row !== undefined && row.lane === undefined;
}

/** Yields the contents in their order in the pack; `undefined` for a damaged content. */
function* contentsOf(
  { disk }: BlobFiles,
  fd: number,
  live: readonly PlacedBlob[],
): Generator<[Hash, Buffer | undefined]> {
  let at = -1;
  let raw: Buffer | undefined;
  for (const { hash, place } of live) {
    if (place.kind !== "pack") continue;
    if (place.block !== at) {
      at = place.block;
      raw = unpacked(readAt(disk, fd, place.block, place.blockBytes));
    }
    const content = raw?.subarray(place.at, place.at + place.length);
    yield [hash, content !== undefined && sha256(content) === hash ? content : undefined];
  }
}

function unpacked(bytes: Buffer): Buffer | undefined {
  const head = decodeBlockHead(bytes);
  return head === undefined ? undefined : unpackBlock(head, bytes.subarray(head.headBytes));
}
