import type { Entry } from "../core/values/entry.ts";
import type { Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import type { IndexStore, IterationRow } from "../storage/index-store.ts";
import type { RecordedFiles, RecordedTally } from "../worktree/memory/recorded-files.ts";

/**
 * The recorded files as of the head, read from the index. The files are counted once; later changes update the tally.
 */
export class IndexedFiles implements RecordedFiles {
  readonly #index: IndexStore;
  readonly #blobs: BlobStore;
  #counted: (RecordedTally & { readonly seq: number }) | undefined;

  constructor(index: IndexStore, blobs: BlobStore) {
    this.#index = index;
    this.#blobs = blobs;
  }

  async entries(paths: readonly WorkspacePath[]): Promise<readonly (Entry | undefined)[]> {
    const rows = await this.#index.iterationsAt(paths, (await this.#index.head()).seq);
    return rows.map((row) => row?.entry);
  }

  async children(folder: WorkspacePath): Promise<readonly WorkspacePath[]> {
    const rows = await this.#index.childrenAt(folder, (await this.#index.head()).seq);
    return rows.map((row) => row.path);
  }

  async tally(): Promise<RecordedTally> {
    const { seq } = await this.#index.head();
    const known = this.#counted;
    // An index that was rebuilt since the last count may not have reached the seq of that count yet.
    const counted = known === undefined || known.seq > seq ? await this.#count(seq) : await this.#follow(known, seq);
    this.#counted = { ...counted, seq };
    return counted;
  }

  stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return this.#blobs.sound(hashes);
  }

  content(hash: Hash): Promise<Buffer | undefined> {
    return this.#blobs.get(hash);
  }

  async #count(seq: number): Promise<RecordedTally> {
    let [entries, bytes] = [0, 0];
    for await (const rows of this.#index.entriesAt(seq)) {
      entries += rows.length;
      bytes += bytesOf(rows);
    }
    return { entries, bytes };
  }

  async #follow(known: RecordedTally & { readonly seq: number }, seq: number): Promise<RecordedTally> {
    if (known.seq === seq) return known;
    const touched = await this.#index.touched(known.seq, seq);
    const before = present(await this.#index.iterationsAt(touched, known.seq));
    const after = present(await this.#index.iterationsAt(touched, seq));
    return {
      entries: known.entries + after.length - before.length,
      bytes: known.bytes + bytesOf(after) - bytesOf(before),
    };
  }
}

function present(rows: readonly (IterationRow | undefined)[]): IterationRow[] {
  return rows.filter((row) => row?.entry !== undefined) as IterationRow[];
}

function bytesOf(rows: readonly IterationRow[]): number {
  return rows.reduce((sum, { entry }) => sum + (entry?.size ?? 0), 0);
}
