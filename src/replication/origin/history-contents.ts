import type { LogEvent } from "../../core/event.ts";
import type { Hash } from "../../core/hash.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { inSlices } from "../../util/in-slices.ts";
import { answer } from "../../workspace/answer.ts";
import type { HistoryContext } from "../../workspace/context.ts";
import { HistoryNeeds } from "../../workspace/history-needs.ts";
import { readEvents } from "../../workspace/read-events.ts";
import type { WorkspaceBlocks } from "./block-server.ts";
import type { WorkspaceContents } from "./content-server.ts";
import type { NamedContents } from "./event-push.ts";

/** Contents that are looked up in one turn. */
const SLICE = 500;
/** Events that are looked at together. */
const PAGE = 5_000;

/**
 * The contents that a history names, at whatever time: of files, and of what other records need (bases, filters, plans,
 * both sides of a conflict). What was freed is not found, and neither is what the store holds for other workspaces only.
 */
export class HistoryContents implements WorkspaceContents, NamedContents, WorkspaceBlocks {
  readonly #context: HistoryContext;
  /** What other records than those of files name, up to event `#seq`. */
  readonly #others = new Set<Hash>();
  #seq = 0;
  #reading: Promise<void> | undefined;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  async open(hash: Hash, isNamed = false): Promise<BlobReader | undefined> {
    const reader = await this.#context.blobs.open(hash);
    return reader !== undefined && (isNamed || (await this.#names([hash])).has(hash)) ? reader : undefined;
  }

  openNamed(hashes: readonly Hash[]): AsyncIterable<readonly [Hash, BlobReader | undefined]> {
    return this.#context.blobs.readMany(hashes);
  }

  async *blocks(hashes: readonly Hash[], mostBytes: number): AsyncGenerator<BlobBlock, void> {
    yield* this.#context.blobs.blocks(await this.#named(hashes), mostBytes);
  }

  async has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    const stored = new Set<Hash>();
    for await (const some of inSlices(await this.#named(hashes), SLICE))
      for (const hash of await this.#context.blobs.has(some)) stored.add(hash);
    return stored;
  }

  /** One look-up is quick, ten thousand are not: others have their turns in between. */
  async #named(hashes: readonly Hash[]): Promise<Hash[]> {
    const named: Hash[] = [];
    for await (const some of inSlices(hashes, SLICE)) {
      const known = await this.#names(some);
      for (const hash of some) if (known.has(hash)) named.push(hash);
    }
    return named;
  }

  async #names(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    const { index } = this.#context;
    const ofOthers = () => hashes.filter((hash) => this.#others.has(hash));
    // Mostly they are files' that the index knows already.
    const known = new Set([...ofOthers(), ...(await index.withContents(hashes))]);
    if (known.size === new Set(hashes).size) return known;
    return answer(this.#context, async ({ head }) => {
      const ofFiles = await index.withContents(hashes);
      await this.#readOn(head.seq);
      return new Set([...ofOthers(), ...ofFiles]);
    });
  }

  /** One at a time reads on; whoever comes meanwhile waits for it, and looks whether that was enough. */
  async #readOn(upTo: number): Promise<void> {
    while (this.#seq < upTo) {
      this.#reading ??= this.#readPage(upTo).finally(() => (this.#reading = undefined));
      await this.#reading;
    }
  }

  async #readPage(upTo: number): Promise<void> {
    const { index } = this.#context;
    const rows = await index.events({ from: this.#seq + 1, to: upTo, limit: PAGE });
    for (const event of await readEvents(this.#context, rows.filter(isNoFile))) {
      for (const hash of contentsOf(event)) this.#others.add(hash);
    }
    this.#seq = rows.length < PAGE ? upTo : (rows.at(-1)?.seq ?? upTo);
  }
}

function isNoFile({ recordId, op }: EventRow): boolean {
  return !/^file(64)?[:@]/.test(recordId) && op !== "delete";
}

function contentsOf(event: LogEvent): Hash[] {
  const hashes: Hash[] = [];
  const needs = new HistoryNeeds(undefined, ({ hash }) => hashes.push(hash));
  needs.event(event, "");
  needs.finish();
  return hashes;
}
