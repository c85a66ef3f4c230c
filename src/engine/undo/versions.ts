import type { VersionsOptions } from "../../api/action-api.ts";
import type { VersionRestoreShape, VersionShape } from "../../api/action-shapes.ts";
import { type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { changeOf, fileRecordId } from "../../core/values/file-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import { mergeEntry, MAX_MERGE_BYTES, mergeText } from "../../core/tree/merge-text.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { contentsOfVersion, type VersionRecord } from "../../core/records/write-back.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { changeFiles } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { onePathShape, planOnePath } from "./one-path.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { readEvent } from "../log/read-events.ts";
import { type KeptVersion, mustHaveVersion, readVersions } from "../facts/open-conflicts.ts";
import { settable } from "../capture/never-set.ts";
import { exactPath, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns the versions, oldest first: states that replicas wrote back and that did not become their paths' states.
 * Throws `PATH_INVALID` for an invalid path.
 */
export async function listVersions(context: Context, { path }: VersionsOptions = {}): Promise<VersionShape[]> {
  const wanted = path === undefined ? undefined : parseGivenPath(path);
  const shapes: VersionShape[] = [];
  for (const version of await readVersions(context)) {
    if (wanted === undefined || version.record.path === wanted) shapes.push(await versionShape(context, version));
  }
  return shapes;
}

/**
 * Makes a version the state of its path, as an operation that can be undone. Captures the state on disk first. Throws
 * `NOT_FOUND` if no version matches, `AMBIGUOUS` if several match, `REFUSED` if a file or folder is in the way, and
 * `ERASED`, `PRUNED` or `BLOB_MISSING` if the content of the version is gone.
 */
export async function restoreVersion(context: Context, asked: string): Promise<VersionRestoreShape> {
  const found = await findVersion(context, asked);
  const { path, entry, replica } = found.record;
  await mustHaveVersion(context, found);
  return changeFiles(context, {}, async ({ seq }) => {
    const present = (await context.index.iterationAt(path, seq))?.entry;
    const hint = "move that away, and try again";
    const change = await planOnePath(context, path, { present, target: settable(entry), hint });
    const version = await versionShape(context, found);
    return {
      kind: "restore",
      summary: `restore of ${shownPath(path)} as replica ${replica.slice(0, 8)} had it`,
      ...change,
      contents: contentsOfVersion(found.record),
      report: (done) => ({ version, ...onePathShape(context, done) }),
    };
  });
}

/** Finds a version by `<replica>:<number>`. `<replica>` is the id of the replica or its beginning. */
async function findVersion(context: Context, asked: string): Promise<KeptVersion> {
  const [, whose = "", number = ""] = /^(.+):(\d+)$/.exec(asked) ?? [];
  const found = meantBy(
    (await readVersions(context)).filter(({ record }) => String(record.localSeq) === number),
    whose,
    ({ record }) => record.replica,
  );
  const [only, second] = found;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no version ${JSON.stringify(asked)}`, {
      hint: "`chronicle versions` lists them",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${found.length} versions`, {
    hint: "give more of the replica's id",
  });
}

async function versionShape(context: Context, { ts, record }: KeptVersion): Promise<VersionShape> {
  const { path, replica, localSeq, entry, seen, against, actor, session, turn, action } = record;
  const lost = against === 0 ? undefined : await context.index.iterationAt(path, against);
  const isPresent = await isSoNow(context, path, entry);
  const merge = isPresent ? undefined : await findMerge(context, record);
  return {
    id: `${replica}:${localSeq}`,
    path: shownPath(path),
    ...exactPath(path),
    timestamp: ts,
    replica: { id: replica, local_seq: localSeq },
    kind: entry?.kind ?? null,
    size: entry?.size ?? 0,
    ...(entry === undefined ? {} : { permissions: entry.mode }),
    hash: entry?.hash ?? "",
    actor,
    ...optional({ session, turn, action }),
    based_on: seen,
    lost_to: { seq: against, iteration: lost?.iteration ?? 0 },
    ...(isPresent ? { is_present: true } : {}),
    ...(merge === undefined ? {} : { merged_in: { seq: merge.seq, iteration: merge.iteration } }),
  };
}

async function isSoNow(context: Context, path: WorkspacePath, entry: Entry | undefined): Promise<boolean> {
  const { seq } = await context.index.head();
  const present = (await context.index.iterationAt(path, seq))?.entry;
  // A state on disk lacks the mode bits that Chronicle never sets.
  return sameEntry(present, entry) || sameEntry(present, settable(entry));
}

/** The maximum number of iterations after a version that are searched for the replica's next state of the path. */
const MOST_ROWS = 100;

/**
 * Returns the iteration into which the replica merged a version. This is the replica's first iteration of the path
 * after the version, if that iteration contains all changes of the version.
 */
async function findMerge(context: Context, version: VersionRecord): Promise<IterationRow | undefined> {
  const { path, entry, seen } = version;
  if (entry === undefined) return undefined;
  const next = await nextOwn(context, version);
  if (next?.entry === undefined) return undefined;
  const base = seen === 0 ? undefined : (await context.index.iterationAt(path, seen))?.entry;
  return (await holds(context, next.entry, { base, theirs: entry })) ? next : undefined;
}

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

/** True if `ours` contains every change from `base` to `theirs`. */
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

async function contentOf({ blobs }: Context, hash: Hash | undefined): Promise<Buffer | undefined> {
  return hash === undefined ? undefined : blobs.get(hash);
}
