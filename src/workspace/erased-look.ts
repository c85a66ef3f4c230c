import type { Omission } from "../core/coverage.ts";
import type { Erasures } from "../core/erasures.ts";
import type { Hash } from "../core/hash.ts";
import { erasedContents } from "./contents-of-history.ts";
import type { Context, IngestResult } from "./context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";

/** Sorts out of a look at the disk the files whose content was erased: they are neither stored nor recorded, and are named. */
export class ErasedLook {
  /** The erasures as they were when the look began. */
  readonly erasures: Erasures;
  readonly contents: ReadonlySet<Hash>;

  private constructor(erasures: Erasures, contents: ReadonlySet<Hash>) {
    this.erasures = erasures;
    this.contents = contents;
  }

  static async of(context: Context): Promise<ErasedLook> {
    const contents = await erasedContents(context);
    return new ErasedLook(await erasuresInForce(context), contents);
  }

  /** Why a path that was read is left out; `undefined`: it is not. */
  omissionOf(result: IngestResult): Omission | undefined {
    const hash = "entry" in result ? result.entry.hash : undefined;
    if (hash === undefined || !this.contents.has(hash)) return undefined;
    const by = this.erasures.of(hash)?.seq ?? 0;
    return { path: result.path, reason: "erased", detail: `its content was erased by event ${by}` };
  }

  /** Is the same erased now? To be asked with the lock held. */
  async isCurrent(context: Context): Promise<boolean> {
    return (await erasuresInForce(context)) === this.erasures;
  }
}
