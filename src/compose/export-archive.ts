import type { ExportOptions, ExportShape } from "../api/archive-api.ts";
import type { HeadShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Hash } from "../core/values/hash.ts";
import { CONTAINER_END, entryHeader, entryPadding } from "../core/log/archive-container.ts";
import {
  ARCHIVE,
  archiveFolder,
  encodeManifest,
  formerName,
  type WithheldCounts,
} from "../core/records/archive-manifest.ts";
import { workspaceRecord } from "../engine/log/own-record.ts";
import { showHead } from "../engine/commit/head.ts";
import type { Context } from "../engine/log/context.ts";
import { keepToBudget } from "../engine/upkeep/private-budget.ts";
import { openQueue } from "../engine/undo/open-queue.ts";
import { type HistoryToArchive, historyToArchive, linesUpTo } from "../engine/upkeep/archive-contents.ts";
import { HistoryContents } from "../replication/contents/history-contents.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import { readText } from "../store/file-head-keeper.ts";
import { refuseThere, writePiecesDurably } from "../disk/write-pieces.ts";
import { readDiskFile } from "../disk/read-disk-file.ts";
import { placeOfRoot, wholePath } from "../core/tree/root-place.ts";
import { ownFolderAround } from "../disk/refuse-own-folders.ts";
import { inSlices } from "../util/yield-to-event-loop.ts";
import { zstdCompressed } from "../util/zstd-stream.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks } from "./store-tasks.ts";

/**
 * Writes the whole history of a workspace into one file (docs/archive.md). The history ends at the head that is signed
 * for the archive. The bytes depend only on that history, the private contents that are still kept, the key and the
 * options. Throws `REFUSED` if the file exists, or if the history is not signed. Throws `UNSAFE` if the file would lie
 * in a folder of the workspace. Throws `BLOB_MISSING` if a content that the history needs is missing. If the export
 * fails, no file is left.
 */
export async function exportArchive(parts: StoreParts, id: string, options: ExportOptions): Promise<ExportShape> {
  const { disk } = parts.backends;
  const file = wholePath("the archive", options.file);
  refuseThere(disk, file, options.force === true);
  const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id) });
  const queue = openQueue(context, keepToBudget, close);
  try {
    // The queue finishes interrupted operations first, because the folder that they change is not in the archive.
    return await queue.change(() => new Exporter(parts, context, { ...options, file }).export());
  } finally {
    await queue.close();
  }
}

/** An entry of an archive, with its bytes. */
interface Part {
  readonly name: string;
  readonly size: number;
  readonly pieces: () => AsyncIterable<Uint8Array>;
}

/** The contents to export with their sizes, in the order of the archive, and the contents to leave out. */
interface Choice {
  readonly sizes: ReadonlyMap<Hash, number>;
  readonly withheld: readonly Hash[];
  readonly counts: WithheldCounts;
}

class Exporter {
  readonly #parts: StoreParts;
  readonly #context: Context;
  readonly #options: ExportOptions;

  constructor(parts: StoreParts, context: Context, options: ExportOptions) {
    this.#parts = parts;
    this.#context = context;
    this.#options = options;
  }

  async export(): Promise<ExportShape> {
    // The lease keeps the contents in the store until they are written.
    using _lease = await this.#context.blobs.lease();
    const head = await showHead(this.#context);
    await this.#refuseWithin();
    const history = await historyToArchive(this.#context, { seq: head.seq, hash: head.hash as Hash });
    const choice = await this.#choose(history);
    const small = this.#smallParts(head, history, choice);
    const sizes = [...small.map(({ size }) => size), ...choice.sizes.values()];
    const manifest = encodeManifest({
      workspace: head.workspace,
      first: history.first,
      seq: head.seq,
      hash: head.hash as Hash,
      bytes: sizes.reduce((sum, size) => sum + size, 0),
      contents: choice.sizes.size,
      withheld: choice.counts,
    });
    const parts = [partOf(ARCHIVE.manifest, Buffer.from(manifest)), ...small];
    const bytes = await this.#write(container(head.workspace, parts, this.#contents(choice.sizes)));
    return shapeOf(head, { ...this.#options, bytes, choice });
  }

  /**
   * Throws `UNSAFE` if the archive would lie in a folder of the workspace. The archive, with the key and the secrets
   * that it may contain, would be recorded there like any other file.
   */
  async #refuseWithin(): Promise<void> {
    const { file } = this.#options;
    const { roots } = await workspaceRecord(this.#context);
    const places = roots.filter(({ folder }) => folder !== "").map(placeOfRoot);
    const place = ownFolderAround(this.#parts.backends.disk, file, places);
    if (place === undefined) return;
    throw new ChronicleError(
      "UNSAFE",
      `the archive may not lie in ${place}: it would be recorded there like any file`,
      {
        hint: `name a place outside, such as ${place}.chronicle.tar`,
        data: { path: file, folder: place },
      },
    );
  }

  #write(pieces: AsyncIterable<Uint8Array>): Promise<number> {
    const { file, force = false } = this.#options;
    const packed = file.endsWith(".zst") ? zstdCompressed(pieces) : pieces;
    return writePiecesDurably(this.#parts.backends.disk, file, packed, { force });
  }

  /**
   * Decides for each content whether to export it or to leave it out. Throws `BLOB_MISSING` if a content that must be
   * exported is not in the store.
   */
  async #choose({ contents, secrets, upstream }: HistoryToArchive): Promise<Choice> {
    const { withProtected = false, withPrivate = false } = this.#options;
    const ofFiles = withProtected ? new Set<Hash>() : await this.#protectedAmong(contents);
    const wanted: Hash[] = [];
    const leftOut = { protected: [] as Hash[], private: [] as Hash[], elsewhere: [] as Hash[] };
    for (const [hash, kind] of contents) {
      if (kind === "private" && !withPrivate) leftOut.private.push(hash);
      else if (kind === "private" ? !withProtected && secrets.has(hash) : ofFiles.has(hash))
        leftOut.protected.push(hash);
      else wanted.push(hash);
    }
    const stored = await this.#sizesOf(new Set(wanted));
    const sizes = new Map<Hash, number>();
    const known = this.#context.store.leftOut();
    for (const hash of wanted) {
      const size = stored.get(hash);
      if (size !== undefined) sizes.set(hash, size);
      else if (upstream.has(hash) || known.has(hash)) leftOut.elsewhere.push(hash);
      else throw missing(hash);
    }
    const { protected: ofProtected, private: ofPrivate, elsewhere } = leftOut;
    const counts = { protected: ofProtected.length, private: ofPrivate.length, elsewhere: elsewhere.length };
    return { sizes, counts, withheld: [...ofProtected, ...ofPrivate, ...elsewhere].sort() };
  }

  async #protectedAmong(contents: HistoryToArchive["contents"]): Promise<ReadonlySet<Hash>> {
    const found = new Set<Hash>();
    const named = new HistoryContents(this.#context);
    const ordinary = [...contents].flatMap(([hash, kind]) => (kind === "ordinary" ? [hash] : []));
    for await (const some of inSlices(ordinary, LOOKED_AT_ONCE))
      for (const hash of await named.secrets(some)) found.add(hash);
    return found;
  }

  async #sizesOf(wanted: ReadonlySet<Hash>): Promise<ReadonlyMap<Hash, number>> {
    const sizes = new Map<Hash, number>();
    for await (const { hash, size } of this.#context.blobs.list()) if (wanted.has(hash)) sizes.set(hash, size);
    return sizes;
  }

  /** Returns all entries between the manifest and the contents. */
  #smallParts(head: HeadShape, history: HistoryToArchive, { withheld }: Choice): readonly Part[] {
    const { disk } = this.#parts.backends;
    const { heads, workspaceId } = this.#context;
    const former = heads.former(workspaceId).map(({ note }) => partOf(formerName(note), Buffer.from(note)));
    const key =
      this.#options.withKey === true ? [partOf(ARCHIVE.key, Buffer.from(readText(disk, heads.keyFile) ?? ""))] : [];
    const { quarantine } = this.#parts.layout.workspace(workspaceId);
    const quarantined = history.quarantined.flatMap((name) => {
      const bytes = readDiskFile(disk, `${quarantine}/${name}`);
      return bytes === undefined ? [] : [partOf(`${ARCHIVE.quarantine}${name}`, bytes)];
    });
    const list = Buffer.from(withheld.map((hash) => `${hash}\n`).join(""));
    return [
      ...key,
      partOf(ARCHIVE.head, Buffer.from(head.note)),
      ...former.toSorted(byName),
      ...quarantined,
      ...(withheld.length === 0 ? [] : [partOf(ARCHIVE.withheld, list)]),
      { name: ARCHIVE.log, size: history.logBytes, pieces: () => this.#lines(history) },
    ];
  }

  async *#lines({ head }: HistoryToArchive): AsyncGenerator<Uint8Array, void> {
    let held: Uint8Array[] = [];
    let size = 0;
    for await (const line of linesUpTo(this.#context, head)) {
      // The line is copied, because its bytes change when the next lines are read.
      held.push(Buffer.from(line), NEWLINE);
      size += line.length + 1;
      if (size < PIECE) continue;
      yield Buffer.concat(held, size);
      [held, size] = [[], 0];
    }
    yield Buffer.concat(held, size);
  }

  async *#contents(sizes: ReadonlyMap<Hash, number>): AsyncGenerator<Part, void> {
    const { blobs } = this.#context;
    for (const group of groupsOf(sizes)) {
      const held = group.length === 1 ? undefined : await readGroup(blobs, group);
      for (const hash of group) {
        const bytes = held?.get(hash);
        const pieces = bytes === undefined ? () => opened(blobs, hash) : () => once(bytes);
        yield { name: `${ARCHIVE.contents}${hash}`, size: sizes.get(hash) ?? 0, pieces };
      }
    }
  }
}

const NEWLINE = Buffer.from("\n");

/** The minimum size, in bytes, of the pieces in which lines are written. Only the last piece can be smaller. */
const PIECE = 256 * 1024;

/** The number of contents that are looked up in the index at once. */
const LOOKED_AT_ONCE = 20_000;

/**
 * The maximum size, in bytes, of a content that is read together with others, in the order in which they are stored.
 */
const SMALL_CONTENT = 256 * 1024;
const MOST_TOGETHER = 1_024;
const MOST_BYTES_TOGETHER = 8 * 1024 * 1024;

/**
 * Divides contents into groups that are read together. A content that is larger than `SMALL_CONTENT` is a group of its
 * own.
 */
function* groupsOf(sizes: ReadonlyMap<Hash, number>): Generator<readonly Hash[], void> {
  let group: Hash[] = [];
  let bytes = 0;
  for (const [hash, size] of sizes) {
    const isFull = group.length === MOST_TOGETHER || bytes + size > MOST_BYTES_TOGETHER || size > SMALL_CONTENT;
    if (isFull && group.length > 0) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(hash);
    bytes += size;
    if (size <= SMALL_CONTENT) continue;
    yield group;
    [group, bytes] = [[], 0];
  }
  if (group.length > 0) yield group;
}

async function readGroup(blobs: BlobStore, group: readonly Hash[]): Promise<ReadonlyMap<Hash, Uint8Array>> {
  const held = new Map<Hash, Uint8Array>();
  for await (const [hash, reader] of blobs.readMany(group)) {
    if (reader === undefined) throw missing(hash);
    held.set(hash, Buffer.concat(await Array.fromAsync(reader.pieces())));
  }
  return held;
}

async function* opened(blobs: BlobStore, hash: Hash): AsyncGenerator<Uint8Array, void> {
  const reader = await blobs.open(hash);
  if (reader === undefined) throw missing(hash);
  yield* reader.pieces();
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

function partOf(name: string, bytes: Uint8Array): Part {
  return { name, size: bytes.length, pieces: () => once(bytes) };
}

function byName(a: Part, b: Part): number {
  return a.name < b.name ? -1 : 1;
}

/** Yields the bytes of the container. Throws `IO` if an entry turns out to have another length than its header says. */
async function* container(
  workspace: string,
  parts: readonly Part[],
  contents: AsyncIterable<Part>,
): AsyncGenerator<Uint8Array, void> {
  const folder = archiveFolder(workspace);
  for (const part of parts) yield* entry(folder, part);
  for await (const part of contents) yield* entry(folder, part);
  yield CONTAINER_END;
}

async function* entry(folder: string, part: Part): AsyncGenerator<Uint8Array, void> {
  yield entryHeader(folder, part);
  let written = 0;
  for await (const piece of part.pieces()) {
    written += piece.length;
    yield piece;
  }
  if (written !== part.size) {
    throw new ChronicleError("IO", `${part.name} changed while it was exported`, {
      hint: "somebody has compacted or dropped a part of the log meanwhile: export again",
    });
  }
  yield entryPadding(part);
}

function missing(hash: Hash): ChronicleError {
  return new ChronicleError("BLOB_MISSING", `the content ${hash}, which the history needs, is not in the store`, {
    hint: "nothing was exported; `chronicle verify` says what is missing, and `chronicle verify --repair-from` can bring it back",
    data: { hash },
  });
}

function shapeOf(
  { workspace, seq, hash, root, key }: HeadShape,
  { file, withKey, bytes, choice }: ExportOptions & { readonly bytes: number; readonly choice: Choice },
): ExportShape {
  const withheld = { ...choice.counts };
  return {
    workspace,
    file,
    bytes,
    seq,
    hash,
    root,
    contents: choice.sizes.size,
    withheld,
    key,
    with_key: withKey === true,
  };
}
