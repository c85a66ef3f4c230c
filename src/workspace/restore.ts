import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import { ChronicleError } from "../core/errors.ts";
import { composeChanges, invert } from "../core/plan.ts";
import { explainPath } from "../core/ignore.ts";
import { splitRoot } from "../core/path.ts";
import type { BlockedPath } from "../worktree/worktree.ts";
import { capture } from "./capture.ts";
import type { Context } from "./context.ts";
import { changesBetween, unrecordedChanges, within } from "./diff.ts";
import { readFilters } from "./filters.ts";
import { knownPaths } from "./known-paths.ts";
import { resolveMoment, type ResolvedMoment } from "./moments.ts";
import { interruptedNote, unfinished } from "./interrupted.ts";
import { makeable, operate, settle } from "./operate.ts";
import { closeAbandoned } from "./session.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "./shape.ts";

/** Brings files back to an earlier moment; what is there now is captured first, so that it can be undone. */
export async function restore(context: Context, text: string, options: RestoreOptions = {}): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  if (moment.now)
    throw new ChronicleError("USAGE", "`now` is what is there already", { hint: "name an earlier moment" });
  const finished = await beforehand(context, options.dryRun === true);
  const planned = await planRestore(context, moment, options);
  if (options.dryRun === true)
    return { ...report(planned.changes, { skipped: planned.unknown, dryRun: true }), finished };
  const done = await operate(context, {
    kind: "restore",
    summary: `restore to ${moment.label}`,
    changes: planned.changes,
    onBlocked: options.force === true ? "skip" : "fail",
    ...(options.keepMtime === undefined ? {} : { keepMtime: options.keepMtime }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  if (done.id === undefined && done.blocked.length > 0) throw blocked(done.blocked);
  const applied = new Set(done.applied);
  return {
    ...report(
      planned.changes.filter((change) => applied.has(change.path)),
      { skipped: [...planned.unknown, ...done.blocked], dryRun: false },
    ),
    undo_id: done.id ?? null,
    conflicts: done.conflicts.map(conflictShape),
    finished,
  };
}

interface Planned {
  readonly changes: readonly Change[];
  /** Paths that are not there in the target, but were not looked at then either: they stay. */
  readonly unknown: readonly BlockedPath[];
}

/** What is done before anything is planned: what a crash has interrupted is finished. A dry run only says so. */
async function beforehand(context: Context, dryRun: boolean): Promise<string[]> {
  if (dryRun) return (await unfinished(context)).map((one) => interruptedNote(one, "would first finish"));
  const finished = (await settle(context)).map((one) => interruptedNote(one, "finished"));
  await closeAbandoned(context);
  return finished;
}

/** What would be changed. A dry run looks without recording; the real one captures first. */
async function planRestore(context: Context, moment: ResolvedMoment, options: RestoreOptions): Promise<Planned> {
  let head = (await context.index.head()).seq;
  let unrecorded: readonly Change[] = [];
  if (options.dryRun === true) unrecorded = await unrecordedChanges(context);
  else {
    const captured = await capture(context, {
      cause: "capture",
      reserve: true,
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    head = captured.seq;
  }
  // From what is there now to the target: what is unrecorded is taken back first.
  const wanted = await knownPaths(context, options.paths);
  const all = composeChanges(invert(unrecorded), await changesBetween(context, head, moment.seq));
  return keepUnknown(context, moment, makeable(within(all, wanted)));
}

/**
 * A path is deleted only if the target moment shows that it was absent: it was looked at (the filter in force then
 * tracks it), and no omission of that snapshot covers it.
 */
async function keepUnknown(context: Context, moment: ResolvedMoment, changes: readonly Change[]): Promise<Planned> {
  const { snapshot } = moment;
  if (snapshot === undefined || !changes.some((change) => change.after === undefined)) return { changes, unknown: [] };
  const filters = (await readFilters(context, snapshot.filter)) ?? [];
  const omitted = new Set(
    snapshot.coverage.omitted.filter((one) => one.reason !== "excluded").map((one) => one.path as string),
  );
  const unknown: BlockedPath[] = [];
  const kept = changes.filter((change) => {
    if (change.after !== undefined || change.before === undefined) return true;
    const reason = unseenReason(context, change, { filters, omitted });
    if (reason === undefined) return true;
    unknown.push({ path: change.path, reason: "changed", detail: reason });
    return false;
  });
  return { changes: kept, unknown };
}

interface Seen {
  readonly filters: NonNullable<Awaited<ReturnType<typeof readFilters>>>;
  readonly omitted: ReadonlySet<string>;
}

function unseenReason(context: Context, change: Change, { filters, omitted }: Seen): string | undefined {
  const { root, path } = splitRoot(change.path);
  const at = context.worktree.roots.findIndex((one) => one.id === root);
  const filter = filters[at];
  if (filter === undefined) return "that root was not tracked then";
  if (!explainPath(filter, path, change.before?.kind === "dir").tracked)
    return "it was excluded then, so it may have been there";
  for (
    let folder: string = change.path;
    folder !== "";
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))
  ) {
    if (omitted.has(folder)) return "it could not be captured then, so it may have been there";
  }
  return undefined;
}

/** The error for an operation that could not be done at all. */
export function blocked(paths: readonly BlockedPath[]): ChronicleError {
  const shown = paths.slice(0, 5).map((one) => `${shownPath(one.path)} (${one.reason}: ${one.detail})`);
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  return new ChronicleError("REFUSED", `nothing was changed, because these cannot be: ${shown.join(", ")}${more}`, {
    hint: "settle these and try again, name other paths, or use --force to leave them alone and do the rest",
    data: { blocked: paths.map(skippedShape) },
  });
}

function report(
  changes: readonly Change[],
  { skipped, dryRun }: { readonly skipped: readonly BlockedPath[]; readonly dryRun: boolean },
): RestoreShape {
  return {
    changes: changes.map(changeShape),
    undo_id: null,
    skipped: skipped.map(skippedShape),
    conflicts: [],
    dry_run: dryRun,
    finished: [],
  };
}
