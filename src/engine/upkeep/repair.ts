import { createHash } from "node:crypto";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";
import type { OfferedContent, RepairSource } from "../log/repair-source.ts";
import type { HealedContentShape, HurtContentShape, RepairShape, VerifyShape } from "../../api/shapes.ts";
import type { RepairPlace, VerifyOptions } from "../../api/workspace-api.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";
import { examine, type Examined } from "./verify.ts";

type RepairOptions = VerifyOptions & { readonly repairFrom: readonly RepairPlace[] };

/**
 * Verifies the history, and searches other places for the good bytes of every missing or damaged content. Good bytes
 * are stored anew, durably, and replace the damaged bytes. Damaged files of the store are put aside once no content
 * depends on them. Verifies again after each round, because a healed base can name further contents to search for.
 *
 * The history is not changed. An interrupted repair leaves the store as it was, or healed in part.
 */
export async function repair(context: Context, options: RepairOptions): Promise<VerifyShape> {
  if (options.quick === true) throw quickRepair();
  // The store of this history is searched, too, because it can have a second copy of a content.
  const own = { store: context.store.home };
  const sources = [own, ...options.repairFrom].map((place) => context.store.repairSource(place));
  return new Repair(context, options, sources).run();
}

function quickRepair(): ChronicleError {
  return new ChronicleError("USAGE", "a repair reads every content, and --quick reads none", {
    hint: "leave out --quick or --repair-from",
  });
}

class Repair {
  readonly #context: Context;
  readonly #options: VerifyOptions;
  readonly #sources: readonly RepairSource[];
  readonly #healed = new Map<Hash, string>();
  readonly #sought = new Set<Hash>();
  readonly #aside: string[] = [];
  readonly #failed = new Map<string, string>();
  readonly #notes: string[] = [];

  constructor(context: Context, options: VerifyOptions, sources: readonly RepairSource[]) {
    this.#context = context;
    this.#options = options;
    this.#sources = sources;
  }

  async run(): Promise<VerifyShape> {
    const began = performance.now();
    let told = new Set<Hash>();
    let found = await this.#examine(told);
    const again = (): Promise<Examined> => {
      told = new Set([...this.#healed.keys(), ...found.hurt]);
      return this.#examine(told);
    };
    // Each round heals a content or puts a file aside. A round that does neither is the last.
    while (await this.#mend(found)) found = await again();
    // The answer names the places that need each content in `hurt`. An examination finds these places only for contents
    // in `placesOf` (here `told`). If a content in `hurt` was not in `placesOf`, one more examination is necessary.
    if ([...found.hurt].some((hash) => !told.has(hash))) found = await again();
    const { shape } = found;
    const seconds = Math.round(performance.now() - began) / 1_000;
    return { ...shape, notes: [...shape.notes, ...this.#notes], seconds, repair: this.#result(found) };
  }

  #examine(placesOf: ReadonlySet<Hash>): Promise<Examined> {
    return examine(this.#context, { ...this.#options, placesOf });
  }

  /**
   * Heals contents, and puts damaged files aside, where possible. Returns true if a content was healed or a file was
   * put aside.
   */
  async #mend({ hurt, files, needed }: Examined): Promise<boolean> {
    const wanted = new Map<Hash, number | undefined>();
    for (const hash of hurt) if (!this.#sought.has(hash)) wanted.set(hash, needed.get(hash)?.size);
    const sought = new Set(wanted.keys());
    // The store remembers which contents this process has found sound. These contents may be damaged by now, so `doubt`
    // makes the store check them again.
    this.#context.blobs.doubt();
    for (const source of this.#sources) if (wanted.size > 0) await this.#takeFrom(source, wanted);
    for (const hash of sought) this.#sought.add(hash);
    const aside = files.size === 0 ? [] : await this.#setAside(files);
    return wanted.size < sought.size || aside.length > 0;
  }

  async #takeFrom(source: RepairSource, wanted: Map<Hash, number | undefined>): Promise<void> {
    const store = new StoreAnew(this.#context.blobs, (hash, where) => {
      wanted.delete(hash);
      this.#healed.set(hash, where);
    });
    const offers = source.offers(wanted)[Symbol.asyncIterator]();
    try {
      for (let offer = await this.#next(source, offers); offer !== undefined; offer = await this.#next(source, offers))
        if (wanted.has(offer.hash)) await store.take(offer);
      await store.commit();
    } finally {
      await offers.return?.();
    }
  }

  /**
   * Returns the next offer of a source; `undefined` after the last. If the source fails, notes the failure and returns
   * `undefined`.
   */
  async #next<T>(source: RepairSource, offers: AsyncIterator<T>): Promise<T | undefined> {
    try {
      const step = await offers.next();
      return step.done === true ? undefined : step.value;
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      this.#failed.set(source.name, error.message);
      return undefined;
    }
  }

  async #setAside(files: ReadonlySet<string>): Promise<readonly string[]> {
    try {
      const aside = await this.#context.store.setAside(files);
      addAll(this.#aside, aside);
      return aside;
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "LOCKED") throw error;
      this.#notes.push(
        "damaged files of the store stayed in their place, because other processes write to the store: run the repair again later",
      );
      return [];
    }
  }

  #result({ hurt, needed }: Examined): RepairShape {
    const shapeOf = (hash: Hash): HurtContentShape => ({ hash, needed_by: [...(needed.get(hash)?.places ?? [])] });
    const healed = [...this.#healed].flatMap(([hash, from]): HealedContentShape[] =>
      hurt.has(hash) ? [] : [{ ...shapeOf(hash), from }],
    );
    const failed = [...this.#failed].map(([place, reason]) => ({ place, reason }));
    return { healed, missing: [...hurt].map(shapeOf), set_aside: [...this.#aside], failed };
  }
}

/** The maximum size, in bytes, of a content that stays in memory until it is stored. Larger contents are read twice. */
const HELD_BYTES = 8 * 1024 * 1024;

/**
 * The total size, in bytes, at which the contents in memory are stored and made durable together.
 */
const PORTION_BYTES = 16 * 1024 * 1024;

/** Stores offered contents anew. A content is stored only after its bytes were found to match its hash. */
export class StoreAnew {
  readonly #blobs: BlobStore;
  readonly #stored: (hash: Hash, where: string) => void;
  readonly #held = new Map<Hash, { readonly bytes: Buffer; readonly where: string }>();
  #heldBytes = 0;

  constructor(blobs: BlobStore, stored: (hash: Hash, where: string) => void) {
    this.#blobs = blobs;
    this.#stored = stored;
  }

  /**
   * Takes an offer if its bytes match its hash. Call `commit` after the last offer, because small contents are durable
   * only then.
   */
  async take(offer: OfferedContent): Promise<void> {
    if (this.#held.has(offer.hash)) return;
    if (offer.size > HELD_BYTES) return this.#takeLarge(offer);
    const bytes = await bytesOf(offer);
    if (bytes === undefined || sha256(bytes) !== offer.hash) return;
    this.#held.set(offer.hash, { bytes, where: offer.where });
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= PORTION_BYTES) await this.commit();
  }

  async commit(): Promise<void> {
    const held = [...this.#held];
    this.#held.clear();
    this.#heldBytes = 0;
    if (held.length === 0) return;
    await withBatch(this.#blobs, async (batch) => {
      for (const [, { bytes }] of held) await batch.put(bytes);
    });
    for (const [hash, { where }] of held) this.#stored(hash, where);
  }

  /**
   * Reads a large content twice. The first pass only checks the hash. The second pass writes the bytes, and discards
   * them if their hash is not the expected one.
   */
  async #takeLarge(offer: OfferedContent): Promise<void> {
    const digest = createHash("sha256");
    const isRead = await readBounded(offer, (piece) => digest.update(piece));
    if (!isRead || digest.digest("hex") !== offer.hash) return;
    const batch = await this.#blobs.batch();
    try {
      const source = new SourceOfBatch(offer);
      const stored = await source.into((pieces) => batch.putStream(pieces));
      if (stored?.hash !== offer.hash) return;
      await batch.commit();
      this.#stored(offer.hash, offer.where);
    } finally {
      await batch.abandon();
    }
  }
}

async function bytesOf(offer: OfferedContent): Promise<Buffer | undefined> {
  const held: Buffer[] = [];
  const isRead = await readBounded(offer, (piece) => held.push(Buffer.from(piece)));
  return isRead ? Buffer.concat(held) : undefined;
}

/**
 * Passes the bytes of an offer to `take`. Returns false if the offer could not be read, or is longer than announced.
 */
async function readBounded(offer: OfferedContent, take: (piece: Uint8Array) => void): Promise<boolean> {
  let left = offer.size;
  try {
    for await (const piece of offer.pieces()) {
      left -= piece.length;
      if (left < 0) return false;
      take(piece);
    }
    return true;
  } catch (error) {
    if (isTrouble(error)) return false;
    throw error;
  }
}

/** Passes the pieces of an offer to the store. Distinguishes faults of the offer from faults of the store. */
class SourceOfBatch {
  readonly #offer: OfferedContent;
  /** True while the next piece of the offer is being read. An error is then a fault of the offer, not of the store. */
  #isReading = false;

  constructor(offer: OfferedContent) {
    this.#offer = offer;
  }

  /** Resolves to the result of `put`; to `undefined` if the offer could not be read to its end. */
  async into<T>(put: (pieces: AsyncIterable<Uint8Array>) => Promise<T>): Promise<T | undefined> {
    try {
      return await put(this.#pieces());
    } catch (error) {
      if (this.#isReading && isTrouble(error)) return undefined;
      throw error;
    }
  }

  async *#pieces(): AsyncGenerator<Uint8Array, void> {
    let left = this.#offer.size;
    const pieces = this.#offer.pieces();
    this.#isReading = true;
    for await (const piece of pieces) {
      left -= piece.length;
      if (left < 0) throw new ChronicleError("BLOB_CORRUPT", "an offered content is longer than announced");
      this.#isReading = false;
      yield piece;
      this.#isReading = true;
    }
    this.#isReading = false;
  }
}

function isTrouble(error: unknown): boolean {
  return error instanceof ChronicleError || errnoOf(error) !== undefined;
}
