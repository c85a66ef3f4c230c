import type { Entry } from "../../core/values/entry.ts";
import type { BlobBlock } from "../../storage/blob-block.ts";

/**
 * Whoever looks at blocks beside this thread, and at once writes the files that are made of them: where it is the step to come
 * that puts them into the folder. Nothing of it is seen there, and nothing of it counts, before that step.
 *
 * Backends: `StagedEarlyFiles`.
 */
export interface EarlyFiles {
  /** What the folder is to hold, folders before what lies in them. The contents come from now on, in blocks or otherwise. */
  expect(entries: readonly Entry[]): void;
  /**
   * Looks at blocks as `checkBlock` does: a promise for each, which rejects where that would throw. A file is written only
   * after its block was found to be right. `undefined`: who asks does it.
   */
  check(blocks: readonly BlobBlock[]): readonly Promise<void>[] | undefined;
  /** Nothing more comes for now. Resolves when nothing is being written any more. */
  rest(): Promise<void>;
}
