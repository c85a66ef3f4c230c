import { type Change, sameEntry } from "../../core/values/entry.ts";
import { type Omission, reasonsWith } from "../../core/records/coverage.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { Keeper } from "../facts/own-work.ts";
import type { Context } from "../log/context.ts";
import { pathArgument } from "../log/shape.ts";
import { STALE } from "../facts/recorded-coverage.ts";
import { type Asked, type SkippedPath, unseenPath } from "./seen-absent.ts";

const KEEPS_EARLIER = reasonsWith("keepsEarlier");

/**
 * Returns the paths that should be restored to their states after event `seq`, but whose present contents a scan could
 * not capture. These paths are left alone, because a restore would destroy a state that is not recorded. A path without
 * a recorded state at `seq` is returned only if the caller named it.
 */
export async function unreadableNow(
  context: Context,
  { omitted, seq }: { readonly omitted: readonly Omission[]; readonly seq: number },
  { named, isMeant }: Asked,
): Promise<SkippedPath[]> {
  const found: SkippedPath[] = [];
  for (const { path: top, reason, detail } of omitted) {
    if (!KEEPS_EARLIER.has(reason)) continue;
    const beneath = STALE.has(reason) ? named.filter((path) => path !== top && isWithin(path, top)) : [];
    for (const path of isMeant(top) ? [top] : beneath) {
      const { entry } = (await context.index.iterationAt(path, seq)) ?? {};
      if (entry === undefined && !named.includes(path)) continue;
      found.push(unseenPath(path, `it could not be recorded as it is now (${whyOf({ reason, detail })}), so it stays`));
    }
  }
  return found;
}

function whyOf({ reason, detail }: { readonly reason: string; readonly detail?: string | undefined }): string {
  return [reason.replaceAll("-", " "), ...(detail === undefined ? [] : [detail])].join(", ");
}

interface OnDisk {
  readonly unrecorded: readonly Change[];
  readonly omitted: readonly Omission[];
}

/**
 * Returns the paths that have a recorded state, and that these works changed to a state that could not be recorded.
 * Leaves out paths that are again as they were before the work. An undo leaves the returned paths alone, because their
 * present states have no copy, or may be the result of other work.
 */
export async function unrecordedBy(
  context: Context,
  works: readonly Pick<Keeper, "omittedChanges" | "fromSeq">[],
  { unrecorded, omitted }: OnDisk,
): Promise<SkippedPath[]> {
  const found = new Map<WorkspacePath, SkippedPath>();
  const pending = new Map(unrecorded.map((change) => [change.path, change]));
  const { seq } = await context.index.head();
  for (const { omittedChanges, fromSeq } of works) {
    for (const { path, reason, detail, recorded } of omittedChanges) {
      if (recorded !== true || found.has(path)) continue;
      const isLeft = omitted.some((one) => isWithin(path, one.path));
      const [before] = await context.index.iterationsAt([path], fromSeq);
      const [last] = await context.index.iterationsAt([path], seq);
      const change = pending.get(path);
      if (!isLeft && sameEntry(before?.entry, change === undefined ? last?.entry : change.after)) continue;
      const way = `\`chronicle restore seq:${fromSeq} ${pathArgument(path)}\` brings the earlier state back`;
      const detailed = `its new state could not be recorded (${whyOf({ reason, detail })}), so it stays`;
      found.set(path, unseenPath(path, `${detailed}: ${isLeft ? "once the present file is moved away, " : ""}${way}`));
    }
  }
  return [...found.values()];
}
