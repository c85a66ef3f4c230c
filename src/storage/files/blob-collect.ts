import type { Hash } from "../../core/values/hash.ts";
import type { CollectReport } from "../blob-store.ts";
import type { PackRow, PlacedBlob } from "../blob-index.ts";
import { catchUpLarge, catchUpPacks, largeFiles } from "./blob-recovery.ts";
import { withTrouble } from "../io-trouble.ts";
import { PACK_HEADER_BYTES } from "../block.ts";
import type { BlobFiles, PackLeases } from "./pack-leases.ts";
import { openPack } from "./pack-reader.ts";
import { PackRewriter } from "./pack-rewriter.ts";
import { scanPack, type PackPart } from "./pack-scan.ts";

/**
 * The minimum share of a pack's bytes that kept contents must take up. Below this share, the kept contents are copied
 * to another pack, and the old pack is removed.
 */
const LEAST_LIVE_SHARE = 0.7;

export interface CollectWish {
  readonly keep: (hash: Hash) => boolean;
  /** True to rewrite each pack that has anything but kept contents. */
  readonly thorough: boolean;
}

/**
 * Frees the space of all contents that are not kept. The caller holds the collector's lock exclusively, so that no
 * batch is open. Other processes may still hold lanes, but do not write to them meanwhile. (A lane is the place of one
 * pack to which one writer at a time appends: see `PackLeases`.) The collection does not change the packs in these
 * lanes. The contents in these packs that are not kept are only removed from the index.
 *
 * Order for each pack: First, the kept contents are copied to another pack and synced. Second, their new places are
 * made durable in the index. Third, the old pack is removed. Without the second step, the index could name places in a
 * removed pack after a power cut. Packs without kept contents are collected before all others, because their removal
 * needs no space.
 */
export async function collectBlobs(files: BlobFiles, lanes: PackLeases, wish: CollectWish): Promise<CollectReport> {
  removeTemporary(files);
  removeQuarantine(files);
  await catchUpPacks(files, lanes);
  catchUpLarge(files);
  const large = collectLarge(files, wish.keep);
  const work = new PackCollector(files, lanes, wish);
  const packs = await work.run();
  return {
    freedBlobs: large.freedBlobs + packs.freedBlobs,
    freedBytes: Math.max(0, large.freedBytes + packs.freedBytes),
    pendingBlobs: packs.pendingBlobs,
    pendingBytes: Math.round(packs.pendingBytes),
  };
}

function removeTemporary({ disk, layout }: BlobFiles): void {
  withTrouble(`cleaning ${layout.largeTmp}`, () => {
    for (const { name } of disk.list(layout.largeTmp)) disk.unlink(`${layout.largeTmp}/${name.toString("latin1")}`);
  });
}

/** Removes the files in quarantine. `setDamagedAside` has stored all their readable contents anew. */
function removeQuarantine({ disk, layout }: BlobFiles): void {
  if (disk.lstat(layout.quarantine) === undefined) return;
  withTrouble(`cleaning ${layout.quarantine}`, () => {
    for (const { name } of disk.list(layout.quarantine)) disk.unlink(`${layout.quarantine}/${name.toString("latin1")}`);
  });
}

function collectLarge(
  files: BlobFiles,
  keep: (hash: Hash) => boolean,
): Pick<CollectReport, "freedBlobs" | "freedBytes"> {
  const { disk, layout, index } = files;
  const dead = index.large().filter(({ hash }) => !keep(hash));
  if (dead.length > 0) index.apply({ forget: dead.map(({ hash }) => hash), durable: true });
  let freedBytes = 0;
  withTrouble(`cleaning ${layout.large}`, () => {
    for (const { hash, packed, path } of largeFiles(files)) {
      const place = index.find(hash);
      // Remove a file that the index does not name: its content is not kept, or is stored in another form or in a pack.
      // Leave a damaged file if it may be all that is left of a kept content.
      if (place?.kind === "large" && place.packed === packed) continue;
      if (place === undefined && keep(hash)) continue;
      freedBytes += disk.lstat(path)?.size ?? 0;
      disk.unlink(path);
    }
  });
  return { freedBlobs: dead.length, freedBytes };
}

interface Candidate {
  readonly pack: PackRow;
  readonly size: number;
  /** True if anything in the pack is kept. */
  readonly lives: boolean;
  readonly liveShare: number;
  readonly rewrite: boolean;
}

class PackCollector {
  readonly #files: BlobFiles;
  readonly #rewriter: PackRewriter;
  readonly #wish: CollectWish;
  #freedBlobs = 0;
  #freedBytes = 0;
  #pendingBlobs = 0;
  #pendingBytes = 0;

  constructor(files: BlobFiles, lanes: PackLeases, wish: CollectWish) {
    this.#files = files;
    this.#rewriter = new PackRewriter(files, lanes);
    this.#wish = wish;
  }

  async run(): Promise<CollectReport> {
    const { layout, disk } = this.#files;
    const candidates = this.#files.index.packs().flatMap((pack) => this.#judge(pack) ?? []);
    candidates.sort((a, b) => a.liveShare - b.liveShare);
    try {
      await this.#collectAll(candidates.filter(({ lives }) => !lives));
      await this.#collectAll(candidates.filter(({ lives }) => lives));
      if (candidates.length > 0) withTrouble(`syncing ${layout.packs}`, () => disk.syncFolder(layout.packs));
    } finally {
      this.#rewriter.close();
    }
    return {
      freedBlobs: this.#freedBlobs,
      freedBytes: this.#freedBytes,
      pendingBlobs: this.#pendingBlobs,
      pendingBytes: this.#pendingBytes,
    };
  }

  #judge(pack: PackRow): Candidate | undefined {
    const { disk, layout, index } = this.#files;
    const path = pack.lane === undefined ? layout.sealedPack(pack.ulid) : layout.activePack(pack.lane);
    const size = disk.lstat(path)?.size ?? pack.bytes;
    const placed = index.inPack(pack.id);
    const live = placed.filter(({ hash }) => this.#wish.keep(hash));
    const liveBytes = live.reduce((sum, { place }) => sum + place.stored, 0);
    const liveShare = live.length === 0 ? 0 : liveBytes / Math.max(1, size - PACK_HEADER_BYTES);
    if (placed.length === 0 && size <= PACK_HEADER_BYTES) return undefined;
    const rewrite = liveShare < LEAST_LIVE_SHARE || (this.#wish.thorough && this.#holdsOther(pack, live));
    return rewrite || live.length < placed.length
      ? { pack, size, lives: live.length > 0, liveShare, rewrite }
      : undefined;
  }

  /** True if the pack holds more than the contents `live`, each at its place in the index. */
  #holdsOther(pack: PackRow, live: readonly PlacedBlob[]): boolean {
    const { disk, layout } = this.#files;
    const known = new Set(live.map(({ hash, place }) => (place.kind === "pack" ? `${place.block} ${hash}` : "")));
    return withTrouble(`reading pack ${pack.ulid}`, () => {
      const fd = openPack(disk, layout, pack);
      if (fd === undefined) return false;
      try {
        const isOther = (part: PackPart): boolean =>
          part.kind === "garbage" || part.head.entries.some(({ hash }) => !known.has(`${part.offset} ${hash}`));
        return scanPack(disk, fd, PACK_HEADER_BYTES, disk.fstat(fd).size).some(isOther);
      } finally {
        disk.close(fd);
      }
    });
  }

  async #collectAll(candidates: readonly Candidate[]): Promise<void> {
    const sealed = await this.#rewriter.sealAll(candidates.flatMap(({ pack, rewrite }) => (rewrite ? [pack] : [])));
    for (const candidate of candidates) await this.#collect(candidate, sealed.has(candidate.pack.ulid));
  }

  async #collect({ pack, size, rewrite }: Candidate, isSealed: boolean): Promise<void> {
    const placed = this.#files.index.inPack(pack.id);
    const live = placed.filter(({ hash }) => this.#wish.keep(hash));
    const dead = placed.filter(({ hash }) => !this.#wish.keep(hash));
    if (rewrite && isSealed && (await this.#rewrite(pack, live))) {
      this.#freedBlobs += dead.length;
      this.#freedBytes += size;
    } else if (dead.length > 0 || (rewrite && this.#wish.thorough)) {
      this.#files.index.apply({ forget: dead.map(({ hash }) => hash) });
      // Count at least one, because the pack may still hold contents that earlier collections have removed from the
      // index.
      this.#pendingBlobs += Math.max(1, dead.length);
      this.#pendingBytes += dead.reduce((sum, { place }) => sum + place.stored, 0);
    }
  }

  /**
   * Replaces a pack by a copy of its contents `live`, or removes it if `live` is empty. Returns false, and changes
   * nothing, if the pack is missing or a content in `live` is damaged.
   */
  async #rewrite(pack: PackRow, live: readonly PlacedBlob[]): Promise<boolean> {
    const { disk, layout, index } = this.#files;
    if (live.length === 0) {
      index.apply({ forgetPacks: [pack.id], durable: true });
    } else {
      // A pack stays in place if a kept content in it is damaged, so that the content can be repaired.
      const copied = await this.#rewriter.copy(pack, live, { mayDrop: () => false });
      if (copied === undefined) return false;
      index.apply({ forgetPacks: [pack.id], ...copied, replace: true, durable: true });
      for (let i = 0; i < copied.rows.count; i++) this.#freedBytes -= copied.rows.fields[i * 6 + 5] ?? 0;
    }
    withTrouble(`removing pack ${pack.ulid}`, () => disk.unlink(layout.sealedPack(pack.ulid)));
    return true;
  }
}
