import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { MAX_CONTAINER_CONTENT_BYTES, splitBlocks, type BlobBlock } from "../blob-block.ts";
import type { BlobPlace } from "../blob-index.ts";
import { SHARED_BLOCK_BYTES } from "../block.ts";
import { withTrouble } from "../io-trouble.ts";
import { inSlices } from "../../util/in-slices.ts";
import { packBlocks } from "../pack-blocks.ts";
import type { BlobFiles } from "./pack-leases.ts";
import type { PackReader } from "./pack-reader.ts";
import { readAt } from "./pack-scan.ts";

/** Most contents looked up in one turn of the event loop. */
const SLICE = 500;
/** … and most that are read out of a block. */
const READ = 200;

type PackPlace = Extract<BlobPlace, { kind: "pack" }>;
type LargePlace = Extract<BlobPlace, { kind: "large" }>;

/** The sources from which blocks are read. */
export interface BlockSources {
  readonly files: BlobFiles;
  readonly packs: PackReader;
  /** Reads and checks a content from its present place. */
  readonly get: (hash: Hash) => Promise<Buffer | undefined>;
}

/** Wanted contents of one block. */
interface Group {
  readonly place: PackPlace;
  readonly hashes: Hash[];
}

/** The wanted contents, and their places according to the index. */
interface Wanted {
  /** By block, in the order of packs and blocks. */
  readonly groups: readonly Group[];
  readonly large: ReadonlyMap<Hash, LargePlace>;
  /** All that are stored. */
  readonly known: ReadonlySet<Hash>;
}

/** Yields contents as blocks, in storage order: see `BlobStore.blocks`. */
export async function* readBlocks(
  sources: BlockSources,
  hashes: readonly Hash[],
  mostBytes: number,
): AsyncGenerator<BlobBlock> {
  const { groups, large, known } = await find(sources.files, hashes);
  for (const group of groups) {
    const whole = wholeBlock(sources.packs, group, { known, mostBytes });
    if (whole !== undefined) yield whole;
    else yield* packBlocks(await readable(sources, group)).filter(({ bytes }) => bytes.length <= mostBytes);
  }
  for (const [hash, place] of large) {
    const container = place.stored > mostBytes ? undefined : readContainer(sources.files, hash, place);
    if (container !== undefined) yield container;
  }
}

async function find({ index }: BlobFiles, hashes: readonly Hash[]): Promise<Wanted> {
  const groups = new Map<string, Group>();
  const large = new Map<Hash, LargePlace>();
  const known = new Set<Hash>();
  for await (const some of inSlices([...new Set(hashes)], SLICE)) {
    for (const hash of some) {
      const place = index.find(hash);
      if (place === undefined) continue;
      known.add(hash);
      if (place.kind === "large") {
        large.set(hash, place);
        continue;
      }
      const key = `${place.pack}:${place.block}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { place, hashes: [hash] });
      else group.hashes.push(hash);
    }
  }
  const inOrder = [...groups.values()].sort((a, b) => a.place.pack - b.place.pack || a.place.block - b.place.block);
  return { groups: inOrder, large, known };
}

/**
 * Returns the block in its stored form if it fits and everything in it is wanted and known. It may still hold contents
 * that the collector has freed.
 */
function wholeBlock(
  packs: PackReader,
  { place }: Group,
  { known, mostBytes }: { readonly known: ReadonlySet<Hash>; readonly mostBytes: number },
): BlobBlock | undefined {
  if (place.blockBytes > mostBytes) return undefined;
  const block = withTrouble("reading a block", () => packs.readBlock(place));
  return block?.entries.every(({ hash }) => known.has(hash)) === true ? block : undefined;
}

/** Reads the contents one by one, skipping damaged and missing ones. A content with a block of its own does not fit. */
async function readable({ get }: BlockSources, { place, hashes }: Group): Promise<Buffer[]> {
  if (place.length > SHARED_BLOCK_BYTES) return [];
  const contents: Buffer[] = [];
  for await (const some of inSlices(hashes, READ)) {
    for (const hash of some) {
      try {
        const content = await get(hash);
        if (content !== undefined) contents.push(content);
      } catch (error) {
        if (!(error instanceof ChronicleError) || error.code !== "BLOB_CORRUPT") throw error;
      }
    }
  }
  return contents;
}

/**
 * Returns the container of a large content; `undefined` if it has none that is passed on unchanged, or if it cannot be
 * read. Reading the content then finds the fault, or its present place.
 */
function readContainer({ disk, layout }: BlobFiles, hash: Hash, place: LargePlace): BlobBlock | undefined {
  if (!place.packed || place.length > MAX_CONTAINER_CONTENT_BYTES) return undefined;
  try {
    return withTrouble(`reading content ${hash}`, () => {
      const fd = disk.open(layout.largePacked(hash), "read");
      try {
        const [first, ...rest] = splitBlocks(readAt(disk, fd, 0, place.stored));
        return first?.head === undefined && first?.entries[0]?.hash === hash && rest.length === 0 ? first : undefined;
      } finally {
        disk.close(fd);
      }
    });
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}
