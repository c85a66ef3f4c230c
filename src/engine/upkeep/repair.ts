import type { HealedContentShape, HurtContentShape, RepairShape, VerifyShape } from "../../api/shapes.ts";
import type { RepairPlace, VerifyOptions } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";
import type { RepairSource } from "../log/repair-source.ts";
import { StoreAnew } from "./store-anew.ts";
import { examine, type Examined } from "./verify.ts";

/** Options of a repair, and the places to search. */
export type RepairOptions = VerifyOptions & { readonly repairFrom: readonly RepairPlace[] };

/**
 * Verifies, and searches other places for the good bytes of every missing or damaged content. Bytes that are found are
 * stored anew, durably, in place of the damaged ones; damaged files are put aside once nothing depends on them.
 * Verifies again after each round, since a healed base names contents that were not searched for before.
 *
 * The history is not changed. If it is interrupted anywhere, the store stays as it was or healed in part.
 */
export async function repair(context: Context, options: RepairOptions): Promise<VerifyShape> {
  if (options.quick === true) throw quickRepair();
  // A second copy may lie in this very store.
  const own = { store: context.store.home };
  const sources = [own, ...options.repairFrom].map((place) => context.store.repairSource(place));
  return new Repair(context, options, sources).run();
}

function quickRepair(): ChronicleError {
  return new ChronicleError("USAGE", "a repair reads every content, and --quick reads none", {
    hint: "leave out one of them",
  });
}

class Repair {
  readonly #context: Context;
  readonly #options: VerifyOptions;
  readonly #sources: readonly RepairSource[];
  /** The place where good bytes were found, by content. */
  readonly #healed = new Map<Hash, string>();
  /** Contents that no place has. */
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
    // Each round heals something, or puts something aside, or is the last.
    while (await this.#mend(found)) found = await again();
    // The examination finds what needs a content only for the contents that it is given.
    if ([...found.hurt].some((hash) => !told.has(hash))) found = await again();
    const { shape } = found;
    const seconds = Math.round(performance.now() - began) / 1_000;
    return { ...shape, notes: [...shape.notes, ...this.#notes], seconds, repair: this.#result(found) };
  }

  #examine(placesOf: ReadonlySet<Hash>): Promise<Examined> {
    return examine(this.#context, { ...this.#options, placesOf });
  }

  /** Heals and puts aside what it can; returns whether anything was changed. */
  async #mend({ hurt, files, needed }: Examined): Promise<boolean> {
    const wanted = new Map<Hash, number | undefined>();
    for (const hash of hurt) if (!this.#sought.has(hash)) wanted.set(hash, needed.get(hash)?.size);
    const sought = new Set(wanted.keys());
    // Contents that this process has read before may have rotted since.
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

  /** Returns the next offer. A place that fails is reported, and asked no more. */
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
        "damaged files of the store stayed in their place, since others are writing: run it again later",
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
