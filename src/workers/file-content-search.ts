import { LineSearch } from "../core/text/line-search.ts";
import type { Hash } from "../core/values/hash.ts";
import type { ContentSearch, SearchedContent, SearchRequest, SizedContent } from "../engine/log/context.ts";
import type { OpenedBlobs } from "../storage/storage-backends.ts";
import { yieldToEventLoop } from "../util/yield-to-event-loop.ts";
import { byPlace, type PackPlace, searchInTime, timeLimitOf, toPackedContents } from "./search-job.ts";
import { type Batch, SearchPool } from "./search-pool.ts";

/** The maximum number of contents, and their maximum total size in bytes, for a search without worker threads. */
const HERE_CONTENTS = 500;
const HERE_BYTES = 4 * 1024 * 1024;
/** The time in ms for which the main thread searches one content before worker threads take over. */
const HERE_MS = 50;

/**
 * The number of contents, and their total size in bytes, at which a batch is full. A batch may grow beyond these limits
 * to the end of a block, because a block that is split between two batches would be unpacked twice.
 */
const BATCH_CONTENTS = 256;
const BATCH_BYTES = 2 * 1024 * 1024;

interface ContentSearchOptions {
  readonly home: string;
  /** True if worker threads may be used. They can be used only on a real disk. */
  readonly threads: boolean;
  readonly placesOf: OpenedBlobs["placesOf"];
}

/**
 * Searches a few contents in this thread, and many contents in worker threads, on all cores. If a pattern takes too
 * long for a content, worker threads search this content and the remaining ones. This thread is then not blocked.
 */
export class FileContentSearch implements ContentSearch {
  readonly #options: ContentSearchOptions;

  constructor(options: ContentSearchOptions) {
    this.#options = options;
  }

  async *search(request: SearchRequest): AsyncIterable<SearchedContent> {
    const timer = setTimeout(() => request.budget.stop(), request.mostMs);
    try {
      yield* this.#search(request);
    } finally {
      clearTimeout(timer);
    }
  }

  async *#search(request: SearchRequest): AsyncIterable<SearchedContent> {
    const { threads } = this.#options;
    const { contents } = request;
    const done = new Set<Hash>();
    const isSmall = contents.length <= HERE_CONTENTS && bytesOf(contents) <= HERE_BYTES;
    if (isSmall || !threads) {
      for await (const found of searchHere(request, threads)) {
        if (threads && found.outcome === "slow") break;
        done.add(found.hash);
        yield found;
      }
    }
    const left = contents.filter(({ hash }) => !done.has(hash));
    if (left.length > 0 && !request.budget.isOver) yield* this.#searchInThreads(request, left);
  }

  async *#searchInThreads(request: SearchRequest, contents: readonly SizedContent[]): AsyncIterable<SearchedContent> {
    // The pool is made first, so that its threads start while the places are looked up.
    await using pool = new SearchPool(this.#options.home, request);
    const { batches, unplaced } = await this.#placed(contents);
    const unread: SizedContent[] = [...unplaced];
    for await (const [content, outcome] of pool.search(batches))
      if (outcome === "unread") unread.push(content);
      else if (outcome !== "left") yield { hash: content.hash, outcome };
    // This thread reads the contents that are not in a pack, and those that a garbage collection has moved in the
    // meantime.
    const missing: Hash[] = [];
    const noteMissing = (hash: Hash): number => missing.push(hash);
    for await (const [{ hash }, outcome] of pool.search(readBatches(request, unread, noteMissing)))
      if (outcome !== "left") yield { hash, outcome: outcome === "unread" ? "missing" : outcome };
    for (const hash of missing) yield { hash, outcome: "missing" };
  }

  /**
   * Returns batches of the contents that are in packs, and a list of the other contents. The batches are in the order
   * of the packs. Within a batch, the contents have the order of the request, because the first lines in this order are
   * needed.
   */
  async #placed(contents: readonly SizedContent[]) {
    const { placesOf } = this.#options;
    if (placesOf === undefined) return { batches: [], unplaced: contents };
    const { packs, places } = await placesOf(contents.map(({ hash }) => hash));
    const rows: PlacedContent[] = [];
    const unplaced: SizedContent[] = [];
    contents.forEach((content, i) => {
      const place = places[i];
      if (place?.kind === "pack") rows.push({ content, hash: content.hash, place, rank: i });
      else unplaced.push(content);
    });
    const batches = inBatches(rows).map((unordered): Batch => {
      const some = unordered.toSorted((a, b) => a.rank - b.rank);
      return { contents: some.map(({ content }) => content), make: () => toPackedContents(some, packs) };
    });
    return { batches, unplaced };
  }
}

/** `isTrial`: each content has only a short time, because worker threads can search a slow content again. */
async function* searchHere(
  { blobs, contents, pattern, mostLines, budget }: SearchRequest,
  isTrial: boolean,
): AsyncIterable<SearchedContent> {
  const search = new LineSearch(pattern);
  const limitOf = isTrial ? (): number => HERE_MS : timeLimitOf;
  const hashes = contents.map(({ hash }) => hash);
  for await (const [hash, bytes] of readAll(blobs, hashes)) {
    const [outcome = "unread"] = searchInTime(search, [bytes], { mostLines, limitOf, budget, isTrial });
    if (outcome === "left") return;
    yield { hash, outcome: outcome === "unread" ? "missing" : outcome };
    await yieldToEventLoop();
  }
}

interface PlacedContent {
  readonly content: SizedContent;
  readonly hash: Hash;
  readonly place: PackPlace;
  /** The index of the content in the request. */
  readonly rank: number;
}

function bytesOf(contents: readonly SizedContent[]): number {
  return contents.reduce((bytes, { size }) => bytes + size, 0);
}

function inBatches(rows: PlacedContent[]): PlacedContent[][] {
  rows.sort((a, b) => byPlace(a.place, b.place));
  const batches: PlacedContent[][] = [];
  let bytes = 0;
  for (const [i, row] of rows.entries()) {
    const last = batches.at(-1);
    const before = rows[i - 1]?.place;
    const isFull = last === undefined || last.length >= BATCH_CONTENTS || bytes >= BATCH_BYTES;
    if (last === undefined || (isFull && (before?.pack !== row.place.pack || before.block !== row.place.block))) {
      batches.push([row]);
      bytes = 0;
    } else last.push(row);
    bytes += row.place.length;
  }
  return batches;
}

/** Yields the bytes of each content, in storage order; `undefined` for a missing content. */
async function* readAll(
  blobs: SearchRequest["blobs"],
  hashes: readonly Hash[],
): AsyncIterable<readonly [Hash, Buffer | undefined]> {
  for await (const [hash, reader] of blobs.readMany(hashes)) {
    const pieces: Uint8Array[] = [];
    if (reader !== undefined) for await (const piece of reader.pieces()) pieces.push(piece);
    yield [hash, reader === undefined ? undefined : Buffer.concat(pieces)];
  }
}

/** Yields each content as a batch of its own. Calls `onMissing` for each missing content. */
async function* readBatches(
  { blobs, budget }: SearchRequest,
  contents: readonly SizedContent[],
  onMissing: (hash: Hash) => void,
): AsyncIterable<Batch> {
  const sized = new Map(contents.map((content) => [content.hash, content]));
  for await (const [hash, bytes] of readAll(blobs, [...sized.keys()])) {
    if (budget.isOver) return;
    const content = sized.get(hash);
    if (content === undefined || bytes === undefined) onMissing(hash);
    else yield { contents: [content], make: () => [bytes] };
  }
}
