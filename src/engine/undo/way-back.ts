import { type Entry, sameEntry } from "../../core/values/entry.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import {
  type ConflictReason,
  type EntrySides,
  MAX_MERGE_BYTES,
  mergeEntry,
  mergeText,
  type Preferred,
} from "../../core/tree/merge-text.ts";
import type { BlobBatch } from "../../storage/blob-store.ts";
import { optional } from "../../util/optional.ts";
import type { Group, PathGroups } from "../facts/own-work.ts";
import type { Context } from "../log/context.ts";
import { contentOf } from "../read/patches.ts";

/** The result of undoing some changes of a path. */
export interface WayBack {
  /** The end state if the merges prefer the present state. */
  readonly kept: Folded;
  /** The end state if the merges prefer the undo. If it equals `kept.entry`, both are the same object. */
  readonly wanted: Entry | undefined;
  /** The contents that merges made for the two end states. */
  readonly made: readonly Buffer[];
}

/**
 * Inverts a work's changes of one path, in groups (`groups`). If the result has a conflict, tries the finer groups that
 * the events of the work alone form (`apart`), and uses that result if it has no conflict. The two results can differ,
 * because a state that others restored can lie between the events of one group of `groups`.
 */
export async function wayBack(
  merger: Merger,
  { groups: joined, apart }: PathGroups,
  present: Entry | undefined,
): Promise<WayBack> {
  const first = await merger.fold(joined, present, "ours");
  const other = first.reason === undefined || apart === undefined ? first : await merger.fold(apart, present, "ours");
  const isApart = other !== first && other.reason === undefined;
  const [kept, groups] = isApart ? [other, apart ?? joined] : [first, joined];
  const undone = kept.reason === undefined ? kept : await merger.fold(groups, present, "theirs");
  const wanted = sameEntry(undone.entry, kept.entry) ? kept.entry : undone.entry;
  const made = [...new Set([kept.entry, wanted])].flatMap((entry) => merger.made(entry) ?? []);
  return { kept, wanted, made };
}

/** Returns the present state of a path without some of its changes. Adds contents that merges made to the batch. */
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

/** Like `mergeGroups`, but stores nothing: returns the content that a merge made, if there is one. */
export async function withoutGroups(
  context: Context,
  { groups, made = [] }: Pick<PathGroups, "groups" | "made">,
  present: Entry | undefined,
): Promise<Folded & { readonly made?: Buffer }> {
  const merger = new Merger(context, made);
  const folded = await merger.fold(groups, present, "ours");
  return { ...folded, ...optional({ made: merger.made(folded.entry) }) };
}

/** The end state of a path, with the reason and the base of the first merge that had a conflict. */
export interface Folded {
  readonly entry: Entry | undefined;
  readonly reason?: ConflictReason;
  readonly base?: Entry | undefined;
}

/** Merges the states of one path. Contents that the merges make are kept in memory. */
export class Merger {
  readonly #context: Context;
  readonly #made = new Map<Hash, Buffer>();

  /** `made` has contents that are needed for the merges, but are not in the store. */
  constructor(context: Context, made: readonly Buffer[] = []) {
    this.#context = context;
    for (const content of made) this.#made.set(sha256(content), content);
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

  made(entry: Entry | undefined): Buffer | undefined {
    return entry?.hash === undefined ? undefined : this.#made.get(entry.hash);
  }
}
