import type { BackedUpFile } from "../../core/records/action-record.ts";
import { isMeant, type Omission, type OmissionReason } from "../../core/records/coverage.ts";
import { comparePaths, isWithin, parentOf, ROOT, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Found } from "../capture/capture.ts";
import type { Context } from "../log/context.ts";

/**
 * The most paths that are listed beneath a folder. With more, only the folder itself is listed: its state is that of
 * `from_seq`.
 */
const MOST_LISTED = 20_000;

/** The state of the declared paths, and of everything beneath them, that a capture leaves. */
export async function filesBefore(
  context: Context,
  paths: readonly WorkspacePath[],
  { head, changes }: Found,
): Promise<BackedUpFile[]> {
  const files = new Map<WorkspacePath, BackedUpFile>();
  const rows = await context.index.iterationsAt(paths, head.seq);
  for (const [i, path] of paths.entries()) {
    const row = rows[i];
    files.set(path, { path, iteration: row?.iteration ?? 0, absent: row?.entry === undefined });
    if (row?.entry?.kind === "dir") await listBeneath(context, { folder: path, seq: head.seq }, files);
  }
  for (const { path, after, iteration } of changes) {
    if (!paths.some((one) => isWithin(path, one))) continue;
    // A path that is gone beneath a folder was gone before the action: only paths that the action named are told as
    // absent.
    if (after === undefined && !paths.includes(path)) files.delete(path);
    else files.set(path, { path, iteration, absent: after === undefined });
  }
  const listed = [...files.values()].sort((a, b) => comparePaths(a.path, b.path));
  return listed.length <= MOST_LISTED ? listed : listed.filter((file) => paths.includes(file.path));
}

async function listBeneath(
  context: Context,
  { folder, seq }: { readonly folder: WorkspacePath; readonly seq: number },
  files: Map<WorkspacePath, BackedUpFile>,
): Promise<void> {
  for await (const rows of context.index.entriesAt(seq, folder)) {
    for (const { path, iteration } of rows) files.set(path, { path, iteration, absent: false });
    if (files.size > 2 * MOST_LISTED) return;
  }
}

/** Reasons that concern the path itself, and all beneath it: what is there now was not read. */
const NOT_READ: ReadonlySet<OmissionReason> = new Set([
  "unreadable",
  "too-large",
  "special",
  "store",
  "other-device",
  "off-record",
  "erased",
  "name-too-long",
]);

/** Leaves out files that exist and were not captured: an older state may be recorded, but that is no backup of them. */
export function withoutLeftOut(files: readonly BackedUpFile[], omitted: readonly Omission[]): BackedUpFile[] {
  const left = omitted.filter(({ reason }) => NOT_READ.has(reason)).map(({ path }) => path);
  // New names in these folders were left out: one that is not recorded may be there.
  const full = new Set(omitted.filter(({ reason }) => reason === "over-limit").map(({ path }) => path));
  return files.filter(
    ({ path, absent }) => !left.some((one) => isWithin(path, one)) && !(absent && full.has(parentOf(path))),
  );
}

/** The folders above absent paths that are not there either: nothing is recorded of them, and nothing on disk. */
export async function missingAbove(context: Context, files: readonly BackedUpFile[]): Promise<WorkspacePath[]> {
  const missing = new Set<WorkspacePath>();
  for (const { path, absent } of files) {
    if (!absent) continue;
    for (let folder = parentOf(path); splitRoot(folder).path !== ROOT; folder = parentOf(folder)) {
      if (missing.has(folder) || (await context.worktree.inspect(folder)) !== undefined) break;
      missing.add(folder);
    }
  }
  return [...missing].sort(comparePaths);
}

/** Returns the omissions at declared paths that a capture could not take, so that these are not protected. */
export function unprotected(paths: readonly WorkspacePath[], omitted: readonly Omission[]): Omission[] {
  return omitted.filter(
    (one) =>
      (!isMeant(one) || one.reason === "store" || one.reason === "other-device") &&
      paths.some((path) => isWithin(one.path, path) || isWithin(path, one.path)),
  );
}

/**
 * Returns the omissions at or in the declared paths that are off the record: the files exist, and nothing of them may
 * be kept.
 */
export function offRecordOf(paths: readonly WorkspacePath[], omitted: readonly Omission[]): Omission[] {
  return omitted.filter(
    (one) => one.reason === "off-record" && paths.some((path) => isWithin(one.path, path) || isWithin(path, one.path)),
  );
}

/**
 * Returns the omissions for an action's receipt: all that concern its paths, and of the rest those that were not meant.
 */
export function receiptOf(paths: readonly WorkspacePath[], omitted: readonly Omission[]): Omission[] {
  const kept = new Map<string, Omission>();
  for (const one of omitted) {
    const concerns = paths.some((path) => isWithin(one.path, path) || isWithin(path, one.path));
    if (concerns || !isMeant(one)) kept.set(`${one.path}\0${one.reason}`, one);
  }
  return [...kept.values()];
}
