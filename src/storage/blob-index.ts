import type { Hash } from "../core/values/hash.ts";
import type { BlobRows } from "./blob-rows.ts";

/**
 * Which content lies where: what `FileBlobStore` has published. Derived from the packs and the large files, which can
 * always be read again.
 *
 * Backends: `MemoryBlobIndex`, `SqliteBlobIndex`.
 *
 * Contract
 * - Synchronous. `apply` is atomic, also for other processes; it is not durable unless asked for: after a crash the
 *   index may be at an earlier state, never at a torn one.
 * - Ids of packs are never used twice in the life of one index.
 */
export interface BlobIndex {
  has(hash: Hash): boolean;
  find(hash: Hash): BlobPlace | undefined;
  /** Lets `work` ask many questions about one state: each by itself costs several times its answer. It must change nothing. */
  together<T>(work: () => T): T;
  packs(): readonly PackRow[];
  packOf(ulid: string): PackRow | undefined;
  /** The contents of one pack in the order in which they lie there. */
  inPack(id: number): readonly PlacedBlob[];
  /** All contents that are files of their own. */
  large(): readonly PlacedBlob[];
  apply(change: IndexChange): void;
  close(): void;
}

/** Opens the index of a store. `fresh`: it was not there or not sound, and begins empty. */
export type BlobIndexOpener = () => {
  readonly index: BlobIndex;
  readonly fresh: boolean;
  /** The disk does not let the index be written: the store can be read, not changed. */
  readonly readOnly: boolean;
};

/** A pack and how far it is settled. */
export interface PackState {
  readonly ulid: string;
  /** The lane in whose place it lies, or `undefined` when it is sealed. */
  readonly lane: number | undefined;
  /** Bytes from the start that are durable and need no second look. */
  readonly bytes: number;
}

/** A pack that the index knows. */
export interface PackRow extends PackState {
  readonly id: number;
}

/** Where a content lies. Lengths and offsets in bytes; `stored` is what it takes up. */
export type BlobPlace =
  | {
      readonly kind: "pack";
      /** The id of the pack in this index. */
      readonly pack: number;
      readonly block: number;
      readonly blockBytes: number;
      readonly at: number;
      readonly length: number;
      readonly stored: number;
    }
  | LargePlace;

/** A content in a file of its own: as it is, or packed in a container. */
interface LargePlace {
  readonly kind: "large";
  readonly packed: boolean;
  readonly length: number;
  readonly stored: number;
}

export interface PlacedBlob {
  readonly hash: Hash;
  readonly place: BlobPlace;
}

/** A content that became a file of its own. */
export interface LargeRow {
  readonly hash: Hash;
  readonly packed: boolean;
  readonly length: number;
  readonly stored: number;
}

/** What `apply` does, in this order. */
export interface IndexChange {
  /** Removes these contents. */
  readonly forget?: readonly Hash[];
  /** Removes packs with all contents that are still said to lie in them. */
  readonly forgetPacks?: readonly number[];
  /** Adds packs, or moves on those that are known by their ULID. */
  readonly packs?: readonly PackState[];
  /** Adds contents; `pack` counts into `packs`. A content that is known stays where it is, unless `replace`. */
  readonly rows?: BlobRows;
  readonly large?: readonly LargeRow[];
  readonly replace?: boolean;
  /** Returns only when the change is on the disk: for changes after which bytes are destroyed. */
  readonly durable?: boolean;
}
