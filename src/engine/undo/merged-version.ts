import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { changeOf, fileRecordId } from "../../core/values/file-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import { mergeEntry } from "../../core/tree/merge-entry.ts";
import { MAX_MERGE_BYTES, mergeText } from "../../core/tree/merge-text.ts";
import type { VersionRecord } from "../../core/records/write-back-record.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";

/** The most iterations after a version that are searched for the replica's next state of the path. */
const MOST_ROWS = 100;

/**
 * The iteration into which a replica has merged what it had lost; `undefined`: none is known. It is the first that the replica
 * wrote after that, if all that the version changed is in it: merging the version into it changes nothing.
 */
export async function findMerge(context: Context, version: VersionRecord): Promise<IterationRow | undefined> {
  const { path, entry, seen } = version;
  if (entry === undefined) return undefined;
  const next = await nextOwn(context, version);
  if (next?.entry === undefined) return undefined;
  const base = seen === 0 ? undefined : (await context.index.iterationAt(path, seen))?.entry;
  return (await holds(context, next.entry, { base, theirs: entry })) ? next : undefined;
}

/** Returns the replica's next accepted state of the path. */
async function nextOwn(
  { index, ...context }: Context,
  { path, replica, localSeq, against }: VersionRecord,
): Promise<IterationRow | undefined> {
  const after = against === 0 ? undefined : await index.iterationAt(path, against);
  const rows = await index.iterations(path, { after: after?.iteration ?? 0, limit: MOST_ROWS });
  for (const row of rows) {
    const located = await index.locate(row.seq);
    if (row.seq <= against || located?.recordId !== fileRecordId(path)) continue;
    const by = changeOf(await readEvent({ index, ...context }, located), path)?.replica;
    if (by?.id === replica && by.localSeq > localSeq) return row;
  }
  return undefined;
}

/** Returns whether `ours` holds everything that `theirs` changed of `base`. */
async function holds(
  context: Context,
  ours: Entry,
  { base, theirs }: { readonly base: Entry | undefined; readonly theirs: Entry },
): Promise<boolean> {
  const merged = mergeEntry({ base, ours, theirs }, "ours");
  if (merged.conflict !== undefined) return false;
  if ("entry" in merged) return sameEntry(merged.entry, ours);
  if (merged.mode !== ours.mode) return false;
  const sides = [merged.contents.base, merged.contents.ours, merged.contents.theirs];
  if (sides.some(({ size }) => size > MAX_MERGE_BYTES)) return false;
  const [before, here, there] = await Promise.all(sides.map(({ hash }) => contentOf(context, hash)));
  if (before === undefined || here === undefined || there === undefined) return false;
  const text = mergeText({ base: before, ours: here, theirs: there }, "ours");
  return text?.conflicts === 0 && text.content.equals(here);
}

/** `undefined`: the content was pruned. */
async function contentOf({ blobs }: Context, hash: Hash | undefined): Promise<Buffer | undefined> {
  return hash === undefined ? undefined : blobs.get(hash);
}
