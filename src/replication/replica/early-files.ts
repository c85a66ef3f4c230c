import type { Entry } from "../../core/values/entry.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";

/**
 * Workers that check blocks beside this thread, and at once write the files made of them to the early stage, from which
 * the next step takes them into the folder. Before that step the files are neither visible nor counted. Backends:
 * `StagedEarlyFiles`.
 */
export interface EarlyFiles {
  /**
   * Announces the entries that the folder is to hold, folders before their contents. Their contents come from now on,
   * in blocks or otherwise.
   */
  expect(entries: readonly Entry[]): void;
  /**
   * Checks blocks as `checkBlock` does: returns a promise for each, which rejects if that would throw. A file is
   * written only after its block was found correct. Returns `undefined` if the caller must check.
   */
  check(blocks: readonly BlobBlock[]): readonly Promise<void>[] | undefined;
  /** Called when nothing more comes for now. Resolves once nothing is being written. */
  rest(): Promise<void>;
}
