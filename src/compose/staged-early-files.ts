import type { Entry } from "../core/values/entry.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { Disk } from "../disk/disk.ts";
import type { EarlyFiles } from "../replication/replica/early-files.ts";
import { checkBlock, type BlobBlock } from "../storage/blob-block.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { beneath, type EarlyStage } from "../worktree/apply/early-stage.ts";
import { checkBlocks, toBlockBatch, type BlockBatch, type BlockColumns, type BlockFile } from "../workers/block-job.ts";
import type { KeptStagePool, StagePool } from "../workers/stage-pool.ts";
import { statOfStaged } from "../workers/stage-job.ts";

/** The bits of a mode that Chronicle never sets on disk: setuid, setgid and sticky. */
const NEVER_SET = 0o7000;

export interface StagedEarlyFilesOptions {
  readonly disk: Disk;
  readonly stage: EarlyStage;
  /** The threads that write the files; `undefined` if the calling thread writes them. */
  readonly pools: KeptStagePool | undefined;
  /**
   * The minimum number of files, and the minimum total size in bytes. Files are written early if at least one of the
   * two minimums is reached.
   */
  readonly least: { readonly files: number; readonly bytes: number };
}

interface Expected {
  readonly path: WorkspacePath;
  readonly mode: number;
}

interface FileOfBlock extends BlockFile {
  readonly file: Expected;
  readonly hash: Hash;
}

interface Place {
  readonly base: string;
  readonly folder: WorkspacePath;
  readonly pool: StagePool | undefined;
}

/**
 * Writes the files of a first sync into an `EarlyStage` while their contents arrive ("early"). The thread that verifies
 * a block also writes the files whose contents are in the block. If a write fails, all early files are removed and no
 * more are written. The sync then stages all files when it applies them.
 */
export class StagedEarlyFiles implements EarlyFiles, AsyncDisposable {
  readonly #options: StagedEarlyFilesOptions;
  readonly #expected = new Map<Hash, Expected[]>();
  readonly #folders = new Map<WorkspacePath, number>();
  readonly #going = new Set<Promise<unknown>>();
  #place: Place | undefined;
  #isSpoiled = false;

  constructor(options: StagedEarlyFilesOptions) {
    this.#options = options;
  }

  expect(entries: readonly Entry[]): void {
    if (this.#isSpoiled || (this.#place === undefined && !this.#isWorthIt(entries))) return;
    this.#place ??= this.#begin();
    for (const { path, kind, mode, hash } of entries) {
      const at = beneath(this.#place.folder, path);
      if (kind === "dir") this.#folders.set(at, (mode & ~NEVER_SET) | 0o700);
      if (kind !== "file" || hash === undefined || this.#options.stage.has(path)) continue;
      const others = this.#expected.get(hash);
      const file = { path, mode: mode & ~NEVER_SET };
      if (others === undefined) this.#expected.set(hash, [file]);
      else others.push(file);
    }
  }

  check(blocks: readonly BlobBlock[]): readonly Promise<void>[] | undefined {
    const place = this.#place;
    if (place === undefined || this.#isSpoiled || blocks.length === 0) return undefined;
    const files: FileOfBlock[] = [];
    blocks.forEach(({ entries }, block) => {
      entries.forEach(({ hash }, entry) => {
        for (const file of this.#expected.get(hash) ?? []) {
          files.push({ path: beneath(place.folder, file.path), mode: file.mode, block, entry, file, hash });
        }
        this.#expected.delete(hash);
      });
    });
    const looked = this.#look(place, blocks, files);
    this.#going.add(looked);
    void looked.then(() => this.#going.delete(looked));
    return blocks.map((block, i) => handled(looked.then((wrong) => judge(block, wrong, i))));
  }

  async rest(): Promise<void> {
    await Promise.all(this.#going);
    const place = this.#place;
    if (place === undefined) return;
    this.#place = undefined;
    this.#expected.clear();
    this.#folders.clear();
    if (place.pool !== undefined) await this.#options.pools?.giveBack(place.base, place.pool);
    if (this.#isSpoiled) this.#options.stage.clear();
    else this.#options.stage.end();
  }

  /** Waits for the writes, and removes all early files, because nothing will use them any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.rest();
    this.#options.stage.clear();
  }

  #isWorthIt(entries: readonly Entry[]): boolean {
    const { stage, least } = this.#options;
    const files = entries.filter(({ kind }) => kind === "file");
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    // There must be room for two copies of the files, because the contents are also written to the store at the same
    // time.
    return (files.length >= least.files || bytes >= least.bytes) && stage.freeBytes > 2 * bytes;
  }

  /** Resolves to the fault of each block, or to `undefined` if the blocks could not be checked. Never rejects. */
  async #look(
    place: Place,
    blocks: readonly BlobBlock[],
    files: readonly FileOfBlock[],
  ): Promise<BlockColumns["wrong"] | undefined> {
    const columns = await this.#run(place, toBlockBatch(blocks, files, this.#folders));
    if (columns === undefined) {
      this.#isSpoiled = true;
      return undefined;
    }
    files.forEach(({ file, hash }, row) => {
      const stat = statOfStaged(columns, row);
      if (stat === undefined) this.#isSpoiled = true;
      else this.#options.stage.note(file.path, { entry: { hash, mode: file.mode }, stat });
    });
    return columns.wrong;
  }

  #begin(): Place {
    const { stage, pools } = this.#options;
    const { base, folder } = stage.begin();
    return { base, folder, pool: pools?.take(base) };
  }

  async #run({ base, pool }: Place, batch: BlockBatch): Promise<BlockColumns | undefined> {
    if (pool !== undefined) return pool.check(batch);
    try {
      using fs = new ConfinedFs(this.#options.disk, base);
      return checkBlocks(fs, batch);
    } catch {
      // After `undefined`, the caller checks the blocks itself and finds any fault. A failed thread is treated in the
      // same way.
      return undefined;
    }
  }
}

/** Throws the fault of a block. If the blocks could not be checked (`wrong` is `undefined`), checks the block here. */
function judge(block: BlobBlock, wrong: BlockColumns["wrong"] | undefined, at: number): void {
  if (wrong === undefined) return checkBlock(block);
  const reason = wrong[at];
  if (reason !== undefined) throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}

/** Marks a rejection as handled, because the caller may never await the promise. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}
