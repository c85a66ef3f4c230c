import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { FoundContent } from "../backends.ts";
import { PACK_HEADER_BYTES, unpackBlock } from "../block.ts";
import { largeLength, readLarge } from "./large-reader.ts";
import type { BlobLayout } from "../layout.ts";
import { readStored, scanPack, type PackPart } from "./pack-scan.ts";

/** Most blocks of a pack examined in one turn of the event loop. */
const SLICE = 500;

/**
 * Finds contents by reading only the files of a store: no index, no lock, no writes. Skips whatever is damaged or
 * unreadable. Yields all copies of a content, until the caller removes it from `wanted`.
 */
export async function* findContents(
  disk: Disk,
  layout: BlobLayout,
  wanted: ReadonlyMap<Hash, unknown>,
): AsyncGenerator<FoundContent, void> {
  for (const path of packsIn(disk, layout)) {
    if (wanted.size === 0) return;
    yield* inPack(disk, path, wanted);
  }
  for (const hash of [...wanted.keys()]) {
    for (const packed of [false, true]) {
      const found = wanted.has(hash) ? largeOf(disk, layout, { hash, packed }) : undefined;
      if (found !== undefined) yield found;
    }
  }
}

function packsIn(disk: Disk, layout: BlobLayout): string[] {
  return [layout.packs, layout.active].flatMap((folder) =>
    (despiteDamage(() => disk.list(folder)) ?? [])
      .filter(({ name, kind }) => kind === "file" && name.toString("latin1").endsWith(".pack"))
      .map(({ name }) => `${folder}/${name.toString("latin1")}`),
  );
}

async function* inPack(
  disk: Disk,
  path: string,
  wanted: ReadonlyMap<Hash, unknown>,
): AsyncGenerator<FoundContent, void> {
  const fd = despiteDamage(() => disk.open(path, "read"));
  if (fd === undefined) return;
  try {
    const parts = scanPack(disk, fd, PACK_HEADER_BYTES, disk.fstat(fd).size);
    for (let count = 1; ; count += 1) {
      const part = despiteDamage(() => parts.next());
      if (part === undefined || part.done === true) return;
      for (const one of despiteDamage(() => inBlock(disk, fd, part.value, wanted)) ?? []) {
        const { hash, bytes } = one;
        yield { hash, size: bytes.length, where: path, pieces: () => [bytes] };
      }
      if (count % SLICE === 0) await yieldToEventLoop();
    }
  } finally {
    disk.close(fd);
  }
}

/** Returns the wanted contents of a block that are sound. */
function inBlock(
  disk: Disk,
  fd: number,
  part: PackPart,
  wanted: ReadonlyMap<Hash, unknown>,
): { readonly hash: Hash; readonly bytes: Buffer }[] {
  const entries = part.kind === "garbage" ? [] : part.head.entries.filter(({ hash }) => wanted.has(hash));
  if (part.kind === "garbage" || entries.length === 0) return [];
  const raw = unpackBlock(part.head, readStored(disk, fd, part.offset, part.head));
  if (raw === undefined) return [];
  return entries.flatMap(({ hash, at, length }) => {
    const bytes = raw.subarray(at, at + length);
    return sha256(bytes) === hash ? [{ hash, bytes }] : [];
  });
}

function largeOf(
  disk: Disk,
  layout: BlobLayout,
  { hash, packed }: { readonly hash: Hash; readonly packed: boolean },
): FoundContent | undefined {
  const where = packed ? layout.largePacked(hash) : layout.largeRaw(hash);
  const source = { path: where, packed, hash };
  const size = despiteDamage(() => largeLength(disk, source));
  if (size === undefined) return undefined;
  return { hash, size, where, pieces: () => readLarge(disk, source) };
}

/** Returns `undefined` if the files are damaged or cannot be read. */
function despiteDamage<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ChronicleError || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
