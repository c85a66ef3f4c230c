import type { Entry } from "../../core/values/entry.ts";
import type { Omission } from "../../core/records/coverage.ts";
import type { Erasures } from "../../core/records/erasures.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { erasedAmong, erasedContents } from "./contents-of-history.ts";
import type { Context, IngestResult } from "../log/context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import type { OmittedPaths } from "./omitted-changes.ts";
import { missingContent } from "./pruning.ts";
import { shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

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

/**
 * The files that have got an erased content since they were last looked at. What is recorded of such a path is an earlier state, and no
 * operation overwrites what it holds now.
 */
export async function erasedSince(
  { index }: Pick<Context, "index">,
  known: OmittedPaths,
  omitted: readonly Omission[],
): Promise<OmittedChange[]> {
  const fresh = omitted.filter(({ path, reason }) => reason === "erased" && !known.has(path));
  if (fresh.length === 0) return [];
  const { seq } = await index.head();
  const rows = await index.iterationsAt(
    fresh.map(({ path }) => path),
    seq,
  );
  return fresh.map(({ path, reason, detail }, i) => {
    const type = rows[i]?.entry === undefined ? "created" : "modified";
    return { path, type, reason, ...optional({ detail }), kept: false, lost: false };
  });
}

/** Throws `ERASED` where the content of one of these files was erased. */
export async function refuseErased(context: Context, entries: readonly Entry[]): Promise<void> {
  const erased = await erasedAmong(context, new Set(entries.flatMap(({ hash }) => hash ?? [])));
  if (erased.size === 0) return;
  // A write of the same batch may have given the content anew, and is not recorded yet.
  const given = await context.blobs.has([...erased]);
  for (const { path, hash } of entries) {
    if (hash === undefined || !erased.has(hash) || given.has(hash)) continue;
    throw await missingContent(context, { path, hash, what: `the content of ${shownPath(path)}` });
  }
}
