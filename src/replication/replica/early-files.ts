import type { Entry } from "../../core/values/entry.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";

/**
 * Workers in other threads, which check blocks and write the files whose contents these blocks have. The workers write
 * these files beside the folder's files (see the worktree's `EarlyStage`). The next step of the sync moves the files to
 * their places in the folder. Before that, the files are neither visible nor counted. Backends: `StagedEarlyFiles`.
 */
export interface EarlyFiles {
  /**
   * Called with the entries that the folder will get, each folder before its children. Their contents arrive after this
   * call, in blocks or one by one.
   */
  expect(entries: readonly Entry[]): void;
  /**
   * Returns one promise for each block. The promise rejects if `checkBlock` would throw. Returns `undefined` if the
   * caller must check the blocks itself. A file is written only after its block was checked.
   */
  check(blocks: readonly BlobBlock[]): readonly Promise<void>[] | undefined;
  /** Called when no more contents are expected for now. Resolves once no file is being written. */
  rest(): Promise<void>;
}
