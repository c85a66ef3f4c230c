import type { IdentifiedConflict, ConflictEnd } from "../../../core/records/conflict-record.ts";
import { sameEntry, type Entry, laterTime } from "../../../core/values/entry.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { sha256, type Hash } from "../../../core/values/hash.ts";
import { comparePaths, displayPath, isWithin, type WorkspacePath } from "../../../core/values/path.ts";
import { mergeText } from "../../../core/tree/merge-text.ts";
import type { UpstreamChange } from "../../../core/tree/upstream-change.ts";
import type { BlobStore } from "../../../storage/blob-store.ts";
import { settledInWords } from "../../../engine/undo/conflicts.ts";
import type { BlockedPath } from "../../../worktree/worktree.ts";
import { settable, type CyclePath } from "../ground/decide-cycle.ts";
import { keepContents } from "../ground/settle-merges.ts";
import { optional } from "../../../util/optional.ts";

export interface Resolution {
  readonly keep: "local" | "upstream" | "merge";
  /** The file's content for `merge`. Default: the merge of both sides, if they merge. */
  readonly content?: Uint8Array;
  /**
   * The hashes that the person saw when deciding: `current_hash` of the folder's file, `undo_hash` of the origin's file
   * (see `SyncResolution`). An empty text means that the side had no content. Default: the present hashes.
   */
  readonly from?: { readonly current_hash: string; readonly undo_hash: string };
}

/** A conflict, and the present states of the conflict's path and of all paths beneath that path. */
export interface Disputed {
  readonly conflict: IdentifiedConflict;
  /** All open conflicts. The conflicts of paths beneath the conflict's path are settled together with this conflict. */
  readonly open: readonly IdentifiedConflict[];
  readonly paths: readonly CyclePath[];
}

export interface ResolvingStep {
  readonly changes: readonly UpstreamChange[];
  readonly proposals: readonly WorkspacePath[];
  readonly conflicts: readonly IdentifiedConflict[];
  readonly contents: readonly Hash[];
  readonly decision: string;
}

/**
 * Maps a person's choice to the field `settled` of the conflict's record. There, `current` means that the folder's side
 * is kept, and `undo` that the origin's side is kept.
 */
const ENDS: Readonly<Record<Resolution["keep"], Exclude<ConflictEnd, "withdrawn">>> = {
  local: "current",
  upstream: "undo",
  merge: "merged",
};

/**
 * Returns the step that settles the conflict as the person has decided. Throws `REFUSED` if a side has changed since
 * the person saw it, or if the person wants a merge and the sides do not merge.
 */
export async function resolveSyncConflict(
  blobs: BlobStore,
  disputed: Disputed,
  resolution: Resolution,
): Promise<ResolvingStep> {
  const { path } = disputed.conflict.record;
  const how = ENDS[resolution.keep];
  const conflicts = settledWith(disputed, how);
  const settled = { changes: [], proposals: [], conflicts, contents: [], decision: settledInWords(path, how) };
  const within = disputed.paths.filter((one) => isWithin(one.path, path));
  const at = within.find((one) => one.path === path);
  if (!isDecidedAbout(resolution.from, at)) throw changedMeanwhile(path);
  if (resolution.keep === "local") return { ...settled, proposals: proposed(within) };
  if (resolution.keep === "upstream") return { ...settled, changes: within.flatMap(taken) };
  if (at === undefined) throw unmergeable(path);
  const content = resolution.content ?? (await merged(blobs, at));
  const [hash = sha256(content)] = await keepContents(blobs, [content]);
  const after = fileWith(at, { hash, size: content.length });
  // If the merged file equals the folder's file, the folder needs no change, but the file must be sent to the origin.
  if (sameEntry(after, at.local)) return { ...settled, proposals: [path] };
  return { ...settled, changes: [{ path, before: at.local, after, cause: "merge", base: at.base }], contents: [hash] };
}

function isDecidedAbout(from: Resolution["from"], at: CyclePath | undefined): boolean {
  if (from === undefined) return true;
  return (at?.local?.hash ?? "") === from.current_hash && (at?.remote?.hash ?? "") === from.undo_hash;
}

/**
 * Returns the settled records of the conflict and of the conflicts beneath its path. The conflict itself comes first.
 */
function settledWith({ conflict, open }: Disputed, how: ConflictEnd): IdentifiedConflict[] {
  const { path } = conflict.record;
  const beneath = open.filter(({ record }) => record.path !== path && isWithin(record.path, path));
  return [conflict, ...beneath].map(({ id, record }) => ({
    id,
    record: { ...record, state: "settled", settled: how },
  }));
}

function proposed(paths: readonly CyclePath[]): WorkspacePath[] {
  const differing = paths.filter(({ local, remote }) => !sameEntry(settable(local), settable(remote)));
  const gone = differing.filter(({ local }) => local === undefined).map(({ path }) => path);
  const there = differing.filter(({ local }) => local !== undefined).map(({ path }) => path);
  return [...gone.sort((a, b) => comparePaths(b, a)), ...there.sort(comparePaths)];
}

/**
 * Returns a list with the change that applies the origin's state to the folder; `[]` if both sides are equal. The
 * change includes the common base, which a conflict needs if the path cannot be written.
 */
function taken({ path, base, local, remote, upstream }: CyclePath): UpstreamChange[] {
  const after = settable(remote);
  if (sameEntry(settable(local), after)) return [];
  return [{ path, before: local, after, cause: "replica", base, ...optional({ upstream }) }];
}

async function merged(blobs: BlobStore, { path, base, local, remote }: CyclePath): Promise<Uint8Array> {
  const entries = [base.entry, local, remote];
  if (entries.some((entry) => entry?.kind !== "file")) throw unmergeable(path);
  const [before, ours, theirs] = await Promise.all(
    entries.map(async (entry) => (entry?.hash === undefined ? undefined : blobs.get(entry.hash))),
  );
  if (before === undefined || ours === undefined || theirs === undefined) throw unmergeable(path);
  const done = mergeText({ base: before, ours, theirs }, "ours");
  if (done === undefined || done.conflicts > 0) throw unmergeable(path);
  return done.content;
}

function unmergeable(path: WorkspacePath): ChronicleError {
  return new ChronicleError(
    "REFUSED",
    `both sides of ${JSON.stringify(displayPath(path))} do not merge by themselves`,
    {
      hint: "give the merged content (--merged FILE, or --tool COMMAND), or keep one of the sides",
    },
  );
}

/**
 * Returns the entry of the merged file. The entry has the permissions of the local file or, if there is no local file,
 * of the origin's file.
 */
function fileWith({ path, local, remote }: CyclePath, { hash, size }: Pick<Entry, "size"> & { hash: Hash }): Entry {
  const file = [local, remote].find((entry) => entry?.kind === "file");
  const mode = (file?.mode ?? 0o644) & 0o777;
  return { path, kind: "file", mode, size, ...laterTime(local, remote), hash };
}

function changedMeanwhile(path: WorkspacePath): ChronicleError {
  return new ChronicleError(
    "REFUSED",
    `${JSON.stringify(displayPath(path))} was changed while its conflict was being settled`,
    {
      hint: "nothing was settled; look at the conflict again, and settle it as it is now",
      data: { path: displayPath(path), changed: true },
    },
  );
}

/** Returns the error `NOT_FOUND` for a path without an open conflict. */
export function noConflict(path: WorkspacePath): ChronicleError {
  return new ChronicleError("NOT_FOUND", `the sync has no open conflict about ${JSON.stringify(displayPath(path))}`, {
    hint: "`chronicle sync conflicts` lists the open conflicts",
  });
}

/** Returns the error `REFUSED` for a resolution whose result cannot be written into the folder. */
export function inTheWay(blocked: readonly BlockedPath[]): ChronicleError {
  const told = blocked.map(({ path, detail }) => `${displayPath(path)}: ${detail}`);
  return new ChronicleError("REFUSED", `it cannot be written: ${told.slice(0, 3).join("; ")}`, {
    hint: "remove what is in the way, and settle the conflict again",
  });
}

/**
 * Returns the error `REFUSED` for a resolution in a one-way mode that keeps the local side or a merge. A one-way mode
 * writes nothing back to the origin, so only the origin's side can be kept.
 */
export function oneWay(path: WorkspacePath): ChronicleError {
  return new ChronicleError("REFUSED", `${JSON.stringify(displayPath(path))} is not written back in this mode`, {
    hint: "take the origin's side; or leave the conflict open, and the folder keeps what it has; or start the sync in a two-way mode",
  });
}
