import { sha256, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { BlobBlock } from "../blob-block.ts";
import { BlockFiller } from "./block-filler.ts";
import type { ContentSink, LaneGrant, SinkResult } from "../blob-intake.ts";
import { withTrouble } from "../io-trouble.ts";
import { LARGE_BYTES } from "../block.ts";
import { cloneLarge, landLarge, LargeWriter, writeContainer, type LargeTemp, type SyncGuard } from "./large-writer.ts";
import type { BlobLayout } from "../layout.ts";
import { PackWriter } from "./pack-writer.ts";

export interface PackSinkOptions {
  readonly grant: LaneGrant;
  readonly newPackId: () => string;
  /**
   * Returns true for a content that is already stored. The sink only hashes such a content. This function is called
   * only while the opener of the sink holds a lease.
   */
  readonly known?: (hash: Hash) => boolean;
  /** The length in bytes above which a content is stored in a file of its own. At most 8 MiB, which is the default. */
  readonly largeBytes?: number;
}

/**
 * Writes contents synchronously to the packs of one lane, to which only this sink's writer appends (see `PackLeases`).
 * The contents are visible once the result of `finish` is published.
 */
export interface PackSink extends ContentSink {
  has(hash: Hash): boolean;
  /** Makes all contents durable. The sink takes nothing after that. */
  finish(): SinkResult;
  /** Drops all contents. Idempotent; does nothing after `finish`. */
  abandon(): void;
}

export function openPackSink(disk: Disk, layout: BlobLayout, options: PackSinkOptions): PackSink {
  const { newPackId, known, largeBytes = LARGE_BYTES } = options;
  const writer = new PackWriter({ disk, layout, newPackId }, options.grant);
  return new OpenSink({ disk, layout, writer, newPackId, known, largeBytes, ownsWriter: true });
}

export interface SinkParts {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  readonly writer: PackWriter;
  readonly newPackId: () => string;
  readonly known: ((hash: Hash) => boolean) | undefined;
  readonly largeBytes: number;
  /** True if the sink closes the writer when it ends. */
  readonly ownsWriter: boolean;
}

/** A sink whose writer may be shared with other sinks. */
export class OpenSink implements PackSink {
  readonly #parts: SinkParts;
  readonly #filler: BlockFiller;
  readonly #here = new Set<Hash>();
  readonly #large: LargeTemp[] = [];
  readonly #guard: SyncGuard;
  #landed = 0;
  #open = true;

  constructor(parts: SinkParts) {
    this.#parts = parts;
    this.#filler = new BlockFiller(parts.writer);
    this.#guard = (sync, name) => parts.writer.guard(sync, name);
  }

  has(hash: Hash): boolean {
    return this.#here.has(hash) || this.#parts.known?.(hash) === true;
  }

  put(content: Uint8Array, hash: Hash = sha256(content)): Hash {
    this.#mustBeOpen();
    if (this.has(hash)) return hash;
    if (content.length > this.#parts.largeBytes) return this.putLarge([content]).hash;
    this.#filler.add(hash, content);
    this.#here.add(hash);
    return hash;
  }

  /** Takes a block unchanged. The caller has checked its contents. */
  putBlock(block: BlobBlock): void {
    this.#mustBeOpen();
    const { bytes, head, entries } = block;
    if (head === undefined) return this.#putContainer(block);
    this.#filler.addBlock(bytes, head);
    for (const { hash } of entries) this.#here.add(hash);
  }

  putLarge(pieces: Iterable<Uint8Array>, cloneFrom?: string): { readonly hash: Hash; readonly size: number } {
    this.#mustBeOpen();
    const clone = cloneFrom === undefined ? undefined : this.#clone(cloneFrom);
    if (clone !== undefined) return clone;
    const intake = this.intake();
    try {
      for (const piece of pieces) intake.add(piece);
      return intake.end();
    } catch (error) {
      intake.abandon();
      throw error;
    }
  }

  /**
   * Returns an intake for a content of unknown length, piece by piece. `isShared`: true if other work of this thread
   * runs between the pieces. The file of a large content is then synced as it grows, because one long sync at the end
   * would block the other work. Default: false.
   */
  intake(isShared = false): ContentIntake {
    const syncNow = isShared ? this.#guard : undefined;
    const { disk, layout, newPackId, largeBytes } = this.#parts;
    return new ContentIntake(
      largeBytes,
      () =>
        withTrouble(
          `writing ${layout.largeTmp}`,
          () => new LargeWriter(disk, `${layout.largeTmp}/${newPackId()}`, syncNow),
        ),
      { small: (content) => this.put(content), large: (writer) => this.#takeLarge(writer.finish(this.#guard)) },
    );
  }

  finish(): SinkResult {
    this.flush();
    this.#parts.writer.sync();
    const result = this.settle();
    this.#end();
    return result;
  }

  /** Passes all contents to the writer, and moves large contents to their places. The caller then syncs the writer. */
  flush(): void {
    this.#mustBeOpen();
    this.#filler.flush();
    const { disk, layout } = this.#parts;
    withTrouble(`writing ${layout.large}`, () => {
      for (; this.#landed < this.#large.length; this.#landed++) {
        const temp = this.#large[this.#landed];
        if (temp !== undefined) landLarge(disk, layout, temp, this.#guard);
      }
    });
  }

  /** Ends the sink, and returns its result for `publish`. Must be called after the sync of the writer. */
  settle(): SinkResult {
    this.#open = false;
    return { ...this.#filler.result(), large: this.#large.map(({ row }) => row) };
  }

  abandon(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#filler.abandon();
    for (const { path } of this.#large.slice(this.#landed)) this.#discard(path);
    this.#end();
  }

  #clone(from: string): { readonly hash: Hash; readonly size: number } | undefined {
    const { disk, layout, newPackId } = this.#parts;
    const temp = withTrouble(`cloning into ${layout.largeTmp}`, () =>
      cloneLarge(disk, from, `${layout.largeTmp}/${newPackId()}`, this.#guard),
    );
    return temp === undefined ? undefined : { hash: this.#takeLarge(temp), size: temp.row.length };
  }

  #putContainer({ bytes, entries, rawLength: length }: BlobBlock): void {
    const { disk, layout, newPackId } = this.#parts;
    const path = `${layout.largeTmp}/${newPackId()}`;
    for (const { hash } of entries) {
      const row = { hash, packed: true, length, stored: bytes.length };
      withTrouble(`writing ${layout.largeTmp}`, () => writeContainer(disk, path, bytes, this.#guard));
      this.#takeLarge({ path, row });
    }
  }

  #takeLarge(temp: LargeTemp): Hash {
    const { hash } = temp.row;
    if (this.has(hash)) {
      this.#discard(temp.path);
    } else {
      this.#here.add(hash);
      this.#large.push(temp);
    }
    return hash;
  }

  #discard(path: string): void {
    try {
      this.#parts.disk.unlink(path);
    } catch {
      // The file stays in the folder for temporary files, from which the collector removes it later.
    }
  }

  #end(): void {
    this.#open = false;
    if (this.#parts.ownsWriter) this.#parts.writer.close();
  }

  #mustBeOpen(): void {
    if (!this.#open) throw new Error("this batch has been finished or abandoned");
  }
}

interface IntakeEnds {
  readonly small: (content: Buffer) => Hash;
  readonly large: (writer: LargeWriter) => Hash;
}

/** Takes a content of unknown length, piece by piece: into memory, or, above `largeBytes`, into a `LargeWriter`. */
export class ContentIntake {
  readonly #largeBytes: number;
  readonly #openLarge: () => LargeWriter;
  readonly #ends: IntakeEnds;
  #held: Buffer[] = [];
  #size = 0;
  #writer: LargeWriter | undefined;

  constructor(largeBytes: number, openLarge: () => LargeWriter, ends: IntakeEnds) {
    this.#largeBytes = largeBytes;
    this.#openLarge = openLarge;
    this.#ends = ends;
  }

  add(piece: Uint8Array): void {
    this.#size += piece.length;
    if (this.#writer === undefined && this.#size <= this.#largeBytes) {
      this.#held.push(Buffer.from(piece));
      return;
    }
    if (this.#writer === undefined) {
      this.#writer = this.#openLarge();
      for (const held of this.#held) this.#write(this.#writer, held);
      this.#held = [];
    }
    this.#write(this.#writer, piece);
  }

  end(): { readonly hash: Hash; readonly size: number } {
    const writer = this.#writer;
    if (writer === undefined)
      return { hash: this.#ends.small(Buffer.concat(this.#held, this.#size)), size: this.#size };
    const hash = withTrouble("writing a large content", () => this.#ends.large(writer));
    this.#writer = undefined;
    return { hash, size: this.#size };
  }

  abandon(): void {
    this.#held = [];
    const writer = this.#writer;
    this.#writer = undefined;
    writer?.abandon();
  }

  #write(writer: LargeWriter, piece: Uint8Array): void {
    withTrouble("writing a large content", () => writer.add(piece));
  }
}
