import type { Change } from "../../core/values/change.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { type ConflictReason, type EntrySides, mergeEntry, type Preferred } from "../../core/tree/merge-entry.ts";
import { MAX_MERGE_BYTES, mergeText } from "../../core/tree/merge-text.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { BlobBatch } from "../../storage/blob-store.ts";
import type { Context } from "../log/context.ts";
import { contentOf } from "../read/diff.ts";
import { fitFolders, type Target, type Unmerged } from "../capture/fit-folders.ts";
import { offRecordAmong } from "../capture/off-record.ts";
import { makeable, neverSet } from "../capture/operate.ts";
import type { Group, PathGroups } from "../facts/own-work.ts";
import { PathsGone } from "../capture/paths-gone.ts";
import { backTo, SeenAbsent, type SkippedPath, unseenPath } from "../capture/seen-absent.ts";
import { optional } from "../../util/optional.ts";

/** The changes that take some work back. */
export interface InversePlan {
  /** The changes from the present to the wanted state. */
  readonly changes: readonly Change[];
  readonly unmerged: readonly Unmerged[];
  /** Folders that stay because they hold what others made, and paths that need a content that was pruned. */
  readonly skipped: readonly SkippedPath[];
  /** Merged contents, which no event names yet. */
  readonly contents: readonly Hash[];
}

/** The circumstances of a plan. */
export interface Planning {
  /** Changes on disk that are not recorded: a dry run only reads. */
  readonly unrecorded: readonly Change[];
  /** Takes the merged contents; a dry run has none. */
  readonly batch?: BlobBatch;
  /** The event whose state the work as a whole goes back to. */
  readonly back?: number | undefined;
}

/**
 * The inverse of some work and of nothing else. Each path is taken from the newest own group to the oldest: where it
 * still is what the group left, it becomes what it was before; else the two are merged three ways. It is done twice,
 * once keeping what is there and once preferring the undo: where the two end differently, that is a conflict.
 */
export async function invertWork(
  context: Context,
  paths: readonly PathGroups[],
  planning: Planning,
): Promise<InversePlan> {
  const pending = new Map(planning.unrecorded.map((change) => [change.path, change]));
  const targets = new Map<WorkspacePath, Target>();
  const unmerged = new Map<WorkspacePath, Unmerged>();
  const contents: Hash[] = [];
  const gone = new PathsGone(context, { targets, unmerged });
  const absent = new SeenAbsent(context);
  const held = await offRecordAmong(
    context,
    paths.map(({ path }) => path),
  );
  const unseen: SkippedPath[] = [];
  for (const { path, groups, last, first } of paths) {
    const seen = pending.get(path);
    const present = seen === undefined ? last?.entry : seen.after;
    targets.set(path, { present, target: present });
    const way = await gone.unlessGivenUp(path, () => wayBack(new Merger(context), groups, present));
    if (way === undefined) continue;
    const { kept, wanted, made } = way;
    const isGoing = kept.entry === undefined || wanted === undefined;
    const asked = { path, before: present, after: isGoing ? undefined : kept.entry };
    const doubt = held.get(path) ?? (await absent.doubtOf(asked, backTo(first, planning.back)));
    if (doubt !== undefined) {
      unseen.push(unseenPath(path, doubt));
      continue;
    }
    targets.set(path, { present, target: kept.entry });
    for (const content of made) contents.push((await planning.batch?.put(content)) ?? sha256(content));
    if (kept.reason === undefined || wanted === kept.entry) continue;
    unmerged.set(path, { path, reason: kept.reason, base: kept.base, current: kept.entry, wanted });
  }
  await gone.leaveMissing(new Set(contents));
  const stayed = await fitFolders(context, { targets, unmerged, pending });
  const changes = [...targets].map(([path, { present, target }]) => ({ path, before: present, after: target }));
  changes.sort((a, b) => comparePaths(a.path, b.path));
  return {
    changes: makeable(changes.filter((change) => !sameEntry(change.before, change.after))),
    unmerged: [...unmerged.values()].sort((a, b) => comparePaths(a.path, b.path)),
    skipped: [...gone.paths, ...unseen, ...neverSet(changes), ...stayed],
    contents,
  };
}

/**
 * The end state of a path if the present state is preferred, that if the undo is preferred, and the contents made for
 * them.
 */
interface WayBack {
  readonly kept: Folded;
  /** The very entry of `kept` where the two do not differ. */
  readonly wanted: Entry | undefined;
  readonly made: readonly Buffer[];
}

async function wayBack(merger: Merger, groups: readonly Group[], present: Entry | undefined): Promise<WayBack> {
  const kept = await merger.fold(groups, present, "ours");
  const other = kept.reason === undefined ? kept : await merger.fold(groups, present, "theirs");
  const wanted = sameEntry(other.entry, kept.entry) ? kept.entry : other.entry;
  const made = [...new Set([kept.entry, wanted])].flatMap((entry) => merger.made(entry) ?? []);
  return { kept, wanted, made };
}

/** Takes back some changes of one path, merged with its present state. Puts a new content into the batch. */
export async function mergeGroups(
  context: Context,
  groups: readonly Group[],
  { present, batch }: { readonly present: Entry | undefined; readonly batch: BlobBatch },
): Promise<{
  readonly entry: Entry | undefined;
  readonly reason?: ConflictReason;
  readonly contents: readonly Hash[];
}> {
  const merger = new Merger(context);
  const { entry, reason } = await merger.fold(groups, present, "ours");
  const made = merger.made(entry);
  const contents = made === undefined ? [] : [await batch.put(made)];
  return { entry, ...optional({ reason }), contents };
}

/** The end state of a path, and the first change on the way that did not merge. */
interface Folded {
  readonly entry: Entry | undefined;
  readonly reason?: ConflictReason;
  readonly base?: Entry | undefined;
}

/** Merges the states of one path; holds the contents that it made. */
class Merger {
  readonly #context: Context;
  readonly #made = new Map<Hash, Buffer>();

  constructor(context: Context) {
    this.#context = context;
  }

  async fold(
    groups: readonly Group[],
    present: Entry | undefined,
    prefer: Preferred,
  ): Promise<Folded & { readonly base: Entry | undefined }> {
    let entry = present;
    let met: { readonly reason: ConflictReason; readonly base: Entry | undefined } | undefined;
    for (const { before, after } of groups.toReversed()) {
      if (sameEntry(before, after)) continue;
      const merged = await this.#merge({ base: after, ours: entry, theirs: before }, prefer);
      entry = merged.entry;
      if (merged.reason !== undefined) met ??= { reason: merged.reason, base: after };
    }
    return { entry, base: undefined, ...met };
  }

  async #merge(sides: EntrySides, prefer: Preferred): Promise<Folded> {
    const merge = mergeEntry(sides, prefer);
    if ("entry" in merge) return { entry: merge.entry, ...optional({ reason: merge.conflict }) };
    const { base, ours, theirs } = merge.contents;
    const { mode } = merge;
    const preferred = { ...(prefer === "ours" ? ours : theirs), mode };
    if ([base, ours, theirs].some((one) => one.size > MAX_MERGE_BYTES)) return { entry: preferred, reason: "binary" };
    const texts = { base: await this.#read(base), ours: await this.#read(ours), theirs: await this.#read(theirs) };
    const merged = mergeText(texts, prefer);
    if (merged === undefined) return { entry: preferred, reason: "binary" };
    const { content, conflicts } = merged;
    const hash = sha256(content);
    this.#made.set(hash, content);
    const entry: Entry = { ...ours, mode, hash, size: content.length };
    const reason = conflicts > 0 ? "content" : merge.conflict;
    return { entry, ...optional({ reason }) };
  }

  async #read(entry: Entry): Promise<Buffer> {
    const made = entry.hash === undefined ? undefined : this.#made.get(entry.hash);
    return made ?? (await contentOf(this.#context, entry)) ?? Buffer.alloc(0);
  }

  /** The content of an entry, if it was made by a merge. */
  made(entry: Entry | undefined): Buffer | undefined {
    return entry?.hash === undefined ? undefined : this.#made.get(entry.hash);
  }
}
