import { inSlices } from "../../util/yield-to-event-loop.ts";
import { type ConflictRecord, contentsOfConflict, decodeConflict } from "../../core/records/conflict-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { pathOfOutsideId } from "../../core/records/outside-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { decodeIntent } from "../../core/records/records.ts";
import { contentsOfVersion, decodeVersion } from "../../core/records/write-back.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";
import type { BlobReader } from "../../storage/blob-store.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { answer } from "../../engine/log/answer.ts";
import { erasedAmong } from "../../engine/facts/contents-of-history.ts";
import type { HistoryContext } from "../../engine/log/context.ts";
import { HistoryNeeds } from "../../engine/log/history-needs.ts";
import { isSecretContent, protectedNames } from "../../engine/state/protected.ts";
import { readEvents } from "../../engine/log/read-events.ts";
import type { WorkspaceBlocks } from "./block-server.ts";
import type { WorkspaceContents } from "./content-server.ts";
import type { NamedContents } from "./event-push.ts";
import type { SecretContents } from "./session-contents.ts";

/** The number of contents that are looked up in one turn of the event loop. */
const SLICE = 500;
/** The number of events that are read together. */
const PAGE = 5_000;

/**
 * The contents that a history names or has ever named: contents of files, and contents in other records (bases,
 * filters, plans, both sides of a conflict). Three kinds of contents are excluded:
 * - contents that were freed;
 * - contents that the store holds only for other workspaces;
 * - the contents of files outside of the workspace, because they belong to the machine.
 */
export class HistoryContents implements WorkspaceContents, NamedContents, WorkspaceBlocks, SecretContents {
  readonly #context: HistoryContext;
  /**
   * Maps each content that a record other than a file record names to its paths in such records. Covers the events up
   * to `#seq`.
   */
  readonly #others = new Map<Hash, readonly WorkspacePath[]>();
  #seq = 0;
  #reading: Promise<void> | undefined;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  async open(hash: Hash, isNamed = false): Promise<BlobReader | undefined> {
    const reader = await this.#context.blobs.open(hash);
    return reader !== undefined && (isNamed || (await this.#names([hash])).has(hash)) ? reader : undefined;
  }

  async *openNamed(hashes: readonly Hash[]): AsyncGenerator<readonly [Hash, BlobReader | undefined], void> {
    const erased = await erasedAmong(this.#context, hashes);
    for (const hash of erased) yield [hash, undefined];
    yield* this.#context.blobs.readMany(hashes.filter((hash) => !erased.has(hash)));
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

  async secrets(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return answer(this.#context, async ({ head }) => {
      const names = await protectedNames(this.#context);
      const ofFiles = names.hasAdded ? new Set(hashes) : await this.#protectedContents();
      const found = new Set<Hash>();
      for (const hash of hashes) if (ofFiles.has(hash) && (await this.#isSecretOfFiles(hash))) found.add(hash);
      // The index knows only the contents in file records. A conflict, a version or an open operation can name further
      // contents of files.
      const known = await this.#context.index.withContents(hashes);
      const others = hashes.filter((hash) => !known.has(hash));
      if (others.length > 0) await this.#readOn(head.seq);
      for (const hash of others)
        if (this.#others.get(hash)?.some((path) => names.holds(path)) === true) found.add(hash);
      return found;
    });
  }

  async isSecretPath(path: WorkspacePath): Promise<boolean> {
    return (await protectedNames(this.#context)).holds(path);
  }

  /** Returns all contents that protected paths have or had. The search is fast, because few paths are protected. */
  async #protectedContents(): Promise<ReadonlySet<Hash>> {
    const { index } = this.#context;
    const hashes = new Set<Hash>();
    for (const path of await index.protectedPaths())
      for (const { entry } of await index.iterations(path)) if (entry?.hash !== undefined) hashes.add(entry.hash);
    return hashes;
  }

  async #isSecretOfFiles(hash: Hash): Promise<boolean> {
    const last = await this.#context.index.withContent(hash);
    return last !== undefined && isSecretContent(this.#context, last, hash);
  }

  /** Returns the contents that the history names. Lets other tasks run after each `SLICE` contents. */
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
    // Most contents belong to files, and the index already knows them.
    const known = new Set([...ofOthers(), ...(await index.withContents(hashes))]);
    if (known.size === new Set(hashes).size) return known;
    return answer(this.#context, async ({ head }) => {
      const ofFiles = await index.withContents(hashes);
      await this.#readOn(head.seq);
      return new Set([...ofOthers(), ...ofFiles]);
    });
  }

  /**
   * Reads the events up to `upTo`, except file events, and adds the contents that they name to `#others`. A concurrent
   * caller waits for the running read, and then reads further events if necessary.
   */
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
      for (const hash of contentsOf(event)) if (!this.#others.has(hash)) this.#others.set(hash, []);
      for await (const [hash, path] of pathsOf(this.#context, event))
        this.#others.set(hash, [...(this.#others.get(hash) ?? []), path]);
    }
    this.#seq = rows.length < PAGE ? upTo : (rows.at(-1)?.seq ?? upTo);
  }
}

function isNoFile({ recordId, op }: EventRow): boolean {
  return !/^file(64)?[:@]/.test(recordId) && op !== "delete";
}

function contentsOf(event: LogEvent): Hash[] {
  if (pathOfOutsideId(event.recordId) !== undefined) return [];
  const hashes: Hash[] = [];
  const needs = new HistoryNeeds({}, ({ hash }) => hashes.push(hash));
  needs.event(event, "");
  needs.finish();
  return hashes;
}

/** Yields the contents of files that a conflict, a version or an open operation names, with the paths of the files. */
async function* pathsOf(
  { blobs }: HistoryContext,
  { recordId, record }: LogEvent,
): AsyncGenerator<readonly [Hash, WorkspacePath], void> {
  if (recordId.startsWith("conflict:")) yield* ofConflict(decodeConflict(record));
  if (recordId.startsWith("version:")) {
    const version = decodeVersion(record);
    for (const one of contentsOfVersion(version)) yield [one, version.path];
  }
  if (!recordId.startsWith("intent:") || record["state"] !== "open") return;
  const { plan, changes = [], conflicts = [] } = decodeIntent(record);
  const planned = plan === undefined ? undefined : await blobs.get(plan);
  for (const { path, after } of [...changes, ...(planned === undefined ? [] : decodePlan(planned))])
    if (after?.hash !== undefined) yield [after.hash, path];
  for (const one of conflicts) yield* ofConflict(one.record);
}

function* ofConflict(conflict: ConflictRecord): Generator<readonly [Hash, WorkspacePath], void> {
  for (const hash of contentsOfConflict(conflict)) yield [hash, conflict.path];
}
