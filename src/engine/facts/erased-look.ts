import type { Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { Erasures } from "../../core/records/erasures.ts";
import type { Hash } from "../../core/values/hash.ts";
import { erasedAmong, erasedContents } from "./contents-of-history.ts";
import type { Context, IngestResult } from "../log/context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { missingContent } from "./pruning.ts";
import { shownPath } from "../log/shape.ts";

/**
 * Filters files with erased content out of a scan. Such files are neither stored nor recorded, but reported as omitted.
 */
export class ErasedLook {
  readonly erasures: Erasures;
  readonly contents: ReadonlySet<Hash>;

  private constructor(erasures: Erasures, contents: ReadonlySet<Hash>) {
    this.erasures = erasures;
    this.contents = contents;
  }

  static async of(context: Context): Promise<ErasedLook> {
    // `erasures` is read before `contents`. An erasure that is recorded between these two reads therefore makes
    // `isCurrent` return false.
    const erasures = await erasuresInForce(context);
    return new ErasedLook(erasures, await erasedContents(context));
  }

  omissionOf(result: IngestResult): Omission | undefined {
    const hash = "entry" in result ? result.entry.hash : undefined;
    if (hash === undefined || !this.contents.has(hash)) return undefined;
    const by = this.erasures.of(hash)?.seq ?? 0;
    return { path: result.path, reason: "erased", detail: `its content was erased by event ${by}` };
  }

  /** True if the erasures have not changed since the scan began. The caller must hold the lock. */
  async isCurrent(context: Context): Promise<boolean> {
    return (await erasuresInForce(context)) === this.erasures;
  }
}

/** Throws `ERASED` if the content of one of these files was erased, and was not stored again after the erasure. */
export async function refuseErased(context: Context, entries: readonly Entry[]): Promise<void> {
  const erased = await erasedAmong(context, new Set(entries.flatMap(({ hash }) => hash ?? [])));
  if (erased.size === 0) return;
  // A write of the same batch may have stored the content again, although no event names the content yet.
  const given = await context.blobs.has([...erased]);
  for (const { path, hash } of entries) {
    if (hash === undefined || !erased.has(hash) || given.has(hash)) continue;
    throw await missingContent(context, { path, hash, what: `the content of ${shownPath(path)}` });
  }
}
