import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import { ChronicleError } from "../core/errors.ts";
import {
  childOf,
  comparePaths,
  isWithin,
  parentOf,
  parsePath,
  ROOT,
  splitRoot,
  type WorkspacePath,
} from "../core/path.ts";
import type { Context } from "./context.ts";
import { knownPaths } from "./known-paths.ts";
import { resolveMoment } from "./moments.ts";
import { blocked } from "./restore.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "./shape.ts";

/**
 * Fills another, empty folder with the files of a moment; the workspace itself is not touched. What lies in a further
 * root goes into a folder of its own there, `@<root id>`.
 */
export async function restoreTo(context: Context, text: string, options: RestoreOptions): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  const changes = sideBySide(await entriesToMake(context, moment.seq, await knownPaths(context, options.paths)));
  const shape = { undo_id: null, conflicts: [], finished: [], to: options.to ?? "" };
  if (options.dryRun === true) return { ...shape, changes: changes.map(changeShape), skipped: [], dry_run: true };
  const target = await context.store.emptyWorktree(options.to ?? "");
  try {
    const token = context.newId();
    const report = await target.apply({
      token,
      changes,
      contents: (hashes) => context.blobs.readMany(hashes),
      onBlocked: options.force === true ? "skip" : "fail",
      ...(options.keepMtime === undefined ? {} : { keepMtime: options.keepMtime }),
      onProgress: (done, total) => options.onProgress?.({ phase: "restore", done, total, unit: "paths" }),
    });
    if (report.applied.length === 0 && report.blocked.length > 0) throw blocked(report.blocked);
    await target.cleanUp(token);
    const applied = new Set(report.applied);
    return {
      ...shape,
      changes: changes.filter((change) => applied.has(change.path)).map(changeShape),
      skipped: report.blocked.map(skippedShape),
      conflicts: report.conflicts.map(conflictShape),
      dry_run: false,
    };
  } finally {
    await target.close();
  }
}

async function entriesToMake(
  context: Context,
  seq: number,
  paths: readonly WorkspacePath[] | undefined,
): Promise<Change[]> {
  const wanted = paths === undefined || paths.length === 0 ? undefined : paths;
  const folders = new Set<WorkspacePath>(wanted?.flatMap(ancestors) ?? []);
  const changes: Change[] = [];
  for await (const rows of context.index.entriesAt(seq)) {
    for (const { path, entry } of rows) {
      if (wanted !== undefined && !folders.has(path) && !wanted.some((one) => isWithin(path, one))) continue;
      changes.push({ path, before: undefined, after: entry });
    }
  }
  return changes;
}

function ancestors(path: WorkspacePath): WorkspacePath[] {
  const found: WorkspacePath[] = [];
  for (let folder = parentOf(path); folder !== ROOT; folder = parentOf(folder)) found.push(folder);
  return found;
}

/** The mode of a folder that stands for a further root. */
const ROOT_MODE = 0o755;

/** Further roots as folders beside what the first root holds. Throws `REFUSED` where such a name is taken. */
function sideBySide(changes: readonly Change[]): Change[] {
  const placed: Change[] = [];
  const folders = new Set<WorkspacePath>();
  for (const { path, after } of changes) {
    const { root, path: inner } = splitRoot(path);
    const folder = root === undefined ? undefined : parsePath(`@${root}`);
    if (folder !== undefined) folders.add(folder);
    const to = folder === undefined ? path : childOf(folder, inner);
    placed.push({ path: to, before: undefined, after: after && { ...after, path: to } });
  }
  const taken = changes.find((change) => folders.has(change.path));
  if (taken !== undefined) {
    throw new ChronicleError("REFUSED", `${shownPath(taken.path)} stands where a further root would be put`, {
      hint: "restore the roots one after the other, by naming paths",
    });
  }
  for (const path of folders) {
    const after = { path, kind: "dir" as const, mode: ROOT_MODE, size: 0, mtimeMs: 0, hash: undefined };
    placed.push({ path, before: undefined, after });
  }
  return placed.sort((a, b) => comparePaths(a.path, b.path));
}
