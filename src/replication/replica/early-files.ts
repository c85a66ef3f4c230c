import type { Entry } from "../../core/values/entry.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";

/**
 * Worker threads that check blocks, and write the files with the contents of these blocks. The workers write into a
 * staging folder (see `EarlyStage` of the worktree). The next step of the sync moves the files to their places in the
 * tracked folder. Until then, the files are not visible in the tracked folder. Implemented by `StagedEarlyFiles`.
 */
export interface EarlyFiles {
  /**
   * Called with the entries that the folder will get, each folder before its children. The contents of the files arrive
   * after this call, in blocks or one by one.
   */
  expect(entries: readonly Entry[]): void;
  /**
   * Returns one promise for each block. The promise rejects with the error that `checkBlock` would throw. A file is
   * written only after its block was checked. Returns `undefined` if the caller must check the blocks itself.
   */
  check(blocks: readonly BlobBlock[]): readonly Promise<void>[] | undefined;
  /** Called when no more contents are expected for now. Resolves once no file is being written. */
  rest(): Promise<void>;
}
