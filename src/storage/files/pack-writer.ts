import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { PackState } from "../blob-index.ts";
import type { LaneGrant } from "../blob-intake.ts";
import { poisoned } from "./blob-trouble.ts";
import { ioTrouble, withTrouble } from "../io-trouble.ts";
import { encodePackHeader, PACK_HEADER_BYTES, type EncodedBlock } from "../block.ts";
import type { BlobLayout } from "../layout.ts";
import type { UnsureNames } from "./sure-names.ts";

/** Length in bytes from which the next append seals a pack. */
const SEAL_BYTES = 64 * 1024 * 1024;
/** Below this, head and contents are joined for one write; above, copying costs more than a second write. */
const JOIN_BYTES = 512 * 1024;

/** The parts of a pack writer. */
export interface PackParts {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  /** Returns a new ULID. */
  readonly newPackId: () => string;
  /** Collects the files whose names a failed sync did not make durable. Default: not collected. */
  readonly unsure?: UnsureNames;
}

/** The place of a written block. */
export interface PlacedBlock {
  readonly ulid: string;
  readonly offset: number;
}

/**
 * Appends blocks to the packs of one lane, synchronously. The owner of a writer holds the lock of the lane.
 *
 * - A failed write is cut off again, and the writer continues. A failed sync poisons it.
 * - A pack that has grown to 64 MiB is synced, renamed to its ULID, and a new one begun.
 */
export class PackWriter {
  readonly lane: number;
  readonly #disk: Disk;
  readonly #layout: BlobLayout;
  readonly #newPackId: () => string;
  readonly #unsure: UnsureNames;
  readonly #sealed = new Map<string, PackState>();
  #fd: number | undefined;
  #ulid: string | undefined;
  /** Bytes of whole blocks; anything after them is the remnant of a failed write. */
  #end: number;
  #syncedEnd: number;
  /** The offset up to which a sync is running beside other work. */
  #syncingEnd: number | undefined;
  #nameIsNew = false;
  #restBehindEnd = false;
  #poisoned = false;

  constructor({ disk, layout, newPackId, unsure }: PackParts, grant: LaneGrant) {
    this.#disk = disk;
    this.#layout = layout;
    this.#newPackId = newPackId;
    this.#unsure = unsure ?? new Set();
    this.lane = grant.lane;
    this.#ulid = grant.pack?.ulid;
    this.#end = grant.pack?.bytes ?? 0;
    this.#syncedEnd = this.#end;
  }

  /** True if a sync has failed. */
  get poisoned(): boolean {
    return this.#poisoned;
  }

  /** The lane as it is now, for the next writer. Only synced bytes count. */
  get grant(): LaneGrant {
    const pack = this.#ulid === undefined ? undefined : { ulid: this.#ulid, bytes: this.#syncedEnd };
    return { lane: this.lane, pack };
  }

  /** Returns the durable extent of a pack of this writer. */
  stateOf(ulid: string): PackState {
    return this.#sealed.get(ulid) ?? { ulid, lane: this.lane, bytes: this.#syncedEnd };
  }

  /** Appends a block. It is durable after the next `sync`. */
  append(block: EncodedBlock): PlacedBlock {
    this.#mustBeSound();
    return withTrouble(`writing ${this.#layout.activePack(this.lane)}`, () => {
      if (this.#ulid !== undefined && this.#end >= SEAL_BYTES && this.#syncingEnd === undefined) this.seal();
      const fd = this.#open();
      const offset = this.#end;
      this.#write(fd, block);
      return { ulid: this.#ulid ?? "", offset };
    });
  }

  /** Makes everything appended durable, and the name of a new pack. */
  sync(): void {
    this.#mustBeSound();
    const fd = this.#fd;
    if (fd === undefined || (this.#syncedEnd === this.#end && !this.#nameIsNew)) return;
    this.#orPoison(() => {
      this.#disk.sync(fd);
      this.#syncNewName();
    });
    this.#nameIsNew = false;
    this.#syncedEnd = this.#end;
  }

  /**
   * The same beside this thread's other work. Blocks may be appended meanwhile: they are durable after the next sync.
   * Until it has ended there must be no other sync, the pack is not sealed, and the writer must not be closed. A full
   * pack is sealed first: if one such sync follows another, no append might ever find a moment for that.
   */
  async syncBeside(): Promise<void> {
    this.#mustBeSound();
    if (this.#ulid !== undefined && this.#end >= SEAL_BYTES) this.seal();
    const [fd, end] = [this.#fd, this.#end];
    if (fd === undefined || (this.#syncedEnd === end && !this.#nameIsNew)) return;
    this.#syncingEnd = end;
    try {
      await this.#disk.syncBeside(fd);
      this.#mustBeSound();
      this.#syncNewName();
    } catch (error) {
      throw this.#poison(error);
    } finally {
      this.#syncingEnd = undefined;
    }
    this.#nameIsNew = false;
    this.#syncedEnd = end;
  }

  /** Renames the pack of the lane to its ULID, durably. The next block begins a new one. */
  seal(): void {
    this.#mustBeSound();
    withTrouble(`sealing ${this.#layout.activePack(this.lane)}`, () => this.#seal());
  }

  /**
   * Takes back blocks, last first, as long as each is the last of the lane and neither synced nor being synced, because
   * another batch may have published what is synced.
   */
  takeBack(blocks: readonly { readonly ulid: string; readonly offset: number; readonly bytes: number }[]): void {
    for (const block of blocks.toReversed()) {
      const isLast = block.ulid === this.#ulid && block.offset + block.bytes === this.#end;
      if (!isLast || block.offset < (this.#syncingEnd ?? this.#syncedEnd) || this.#poisoned) return;
      this.#end = block.offset;
      this.#restBehindEnd = true;
      // At once: whole blocks after the end must not be mistaken for a written tail that is to be kept.
      if (this.#fd !== undefined) this.#cutRest(this.#fd);
    }
  }

  /**
   * Runs a sync of another file of the store, or of the folder that contains `name`. Its failure poisons this writer
   * too.
   */
  guard(sync: () => void, name?: string): void {
    this.#mustBeSound();
    this.#orPoison(name === undefined ? sync : () => this.#orUnsure(name, sync));
  }

  /** Closes the file. The writer may be used again: it reopens the file. */
  close(): void {
    if (this.#fd === undefined) return;
    if (this.#restBehindEnd) this.#cutRest(this.#fd);
    this.#disk.close(this.#fd);
    this.#fd = undefined;
  }

  #seal(): void {
    const ulid = this.#ulid;
    if (ulid === undefined) return;
    const fd = this.#open();
    if (this.#restBehindEnd) this.#disk.truncate(fd, this.#end);
    this.#restBehindEnd = false;
    // Covers what anyone cut off since the last sync: no tail is expected in a sealed pack.
    this.#orPoison(() => this.#disk.sync(fd));
    this.sync();
    this.#disk.rename(this.#layout.activePack(this.lane), this.#layout.sealedPack(ulid));
    this.#sealed.set(ulid, { ulid, lane: undefined, bytes: this.#end });
    this.close();
    this.#ulid = undefined;
    this.#end = 0;
    this.#syncedEnd = 0;
    const syncNames = (): void => {
      // The new name first, so that a file system that orders the two by itself does not lose both.
      this.#disk.syncFolder(this.#layout.packs);
      this.#disk.syncFolder(this.#layout.active);
    };
    this.#orPoison(() => this.#orUnsure(this.#layout.sealedPack(ulid), syncNames));
  }

  #write(fd: number, { head, stored }: EncodedBlock): void {
    if (this.#restBehindEnd) this.#disk.truncate(fd, this.#end);
    this.#restBehindEnd = false;
    const bytes = head.length + stored.length;
    try {
      const whole =
        inOnePiece(head, stored) ?? (bytes <= JOIN_BYTES ? Buffer.concat([head, stored], bytes) : undefined);
      if (whole !== undefined) {
        writeFully(this.#disk, fd, whole, this.#end);
      } else {
        writeFully(this.#disk, fd, head, this.#end);
        writeFully(this.#disk, fd, stored, this.#end + head.length);
      }
      this.#end += bytes;
    } catch (error) {
      this.#restBehindEnd = true;
      this.#cutRest(fd);
      throw error;
    }
  }

  #cutRest(fd: number): void {
    try {
      this.#disk.truncate(fd, this.#end);
      this.#restBehindEnd = false;
    } catch {
      // The next write tries again before it writes. Until then the remnant is an unpublished tail, which nobody reads.
    }
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd;
    const fd = this.#disk.open(this.#layout.activePack(this.lane), "update", 0o600);
    try {
      if (this.#ulid === undefined) this.#begin(fd);
    } catch (error) {
      this.#disk.close(fd);
      throw error;
    }
    this.#fd = fd;
    return fd;
  }

  #begin(fd: number): void {
    const ulid = this.#newPackId();
    // A failed attempt of this writer may have left bytes.
    if (this.#disk.fstat(fd).size > 0) this.#disk.truncate(fd, 0);
    writeFully(this.#disk, fd, encodePackHeader(ulid), 0);
    this.#ulid = ulid;
    this.#end = PACK_HEADER_BYTES;
    this.#syncedEnd = 0;
    this.#nameIsNew = true;
  }

  #syncNewName(): void {
    if (!this.#nameIsNew) return;
    this.#orUnsure(this.#layout.activePack(this.lane), () => this.#disk.syncFolder(this.#layout.active));
  }

  /** Runs a sync that makes a name durable; records the name if it fails. */
  #orUnsure(name: string, sync: () => void): void {
    try {
      sync();
      this.#unsure.delete(name);
    } catch (error) {
      this.#unsure.add(name);
      throw error;
    }
  }

  #orPoison(action: () => void): void {
    try {
      action();
    } catch (error) {
      throw this.#poison(error);
    }
  }

  /** Poisons the writer after a failed sync and returns the error to throw. */
  #poison(error: unknown): unknown {
    this.#poisoned = true;
    // Bytes that the disk could not store must not later be found whole in the page cache.
    this.#end = Math.max(this.#syncedEnd, 0);
    if (this.#fd !== undefined) this.#cutRest(this.#fd);
    return ioTrouble(error, `syncing ${this.#layout.folder}`);
  }

  #mustBeSound(): void {
    if (this.#poisoned) throw poisoned("the blob store", { why: "what was written with it is given up" });
  }
}

/** Returns both parts as one array if they are adjacent in memory, as in a block from another store. */
function inOnePiece(head: Uint8Array, stored: Uint8Array): Uint8Array | undefined {
  if (head.buffer !== stored.buffer || head.byteOffset + head.length !== stored.byteOffset) return undefined;
  return new Uint8Array(head.buffer, head.byteOffset, head.length + stored.length);
}
