import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import type { Omission } from "../core/coverage.ts";
import { ChronicleError } from "../core/errors.ts";
import { composeChanges, invert } from "../core/plan.ts";
import { isWithin, type WorkspacePath } from "../core/path.ts";
import { type BeforeChange, finishedNotes, NOTHING_BEFORE } from "./before-change.ts";
import { capture } from "./capture.ts";
import { meanwhile } from "./changed-meanwhile.ts";
import type { Context } from "./context.ts";
import { wholeUnits } from "./database-units.ts";
import { changesBetween } from "./diff.ts";
import { knownPaths } from "./known-paths.ts";
import { resolveMoment, type ResolvedMoment } from "./moments.ts";
import { allOffRecord } from "./off-record.ts";
import { makeable, operate } from "./operate.ts";
import { leaveUnseen, type SkippedPath, unseenPath } from "./seen-absent.ts";
import { compare, readDisk } from "./read-disk.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "./shape.ts";
import { unreadableNow } from "./unreadable-now.ts";

/** Brings files back to an earlier moment; what is there now is captured first, so that it can be undone. */
export async function restore(
  context: Context,
  text: string,
  options: RestoreOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  if (moment.now)
    throw new ChronicleError("USAGE", "`now` is what is there already", { hint: "name an earlier moment" });
  const finished = finishedNotes(before, options.dryRun === true);
  const planned = await planRestore(context, moment, options);
  if (options.dryRun === true)
    return { ...report(planned.changes, { skipped: planned.unknown, dryRun: true }), finished };
  const done = await operate(context, {
    kind: "restore",
    summary: `restore to ${moment.label}`,
    changes: planned.changes,
    onBlocked: options.force === true ? "skip" : "skip-changed",
    isProved: true,
    ...(options.keepMtime === undefined ? {} : { keepMtime: options.keepMtime }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  if (done.id === undefined && done.blocked.length > 0) throw blocked(meanwhile(done.blocked));
  const applied = new Set(done.applied);
  return {
    ...report(
      planned.changes.filter((change) => applied.has(change.path)),
      { skipped: [...planned.unknown, ...meanwhile(done.blocked)], dryRun: false },
    ),
    undo_id: done.id ?? null,
    conflicts: done.conflicts.map(conflictShape),
    finished,
  };
}

interface Planned {
  readonly changes: readonly Change[];
  /** Paths that are not there in the target, but were not looked at then either: they stay. */
  readonly unknown: readonly SkippedPath[];
}

/** What would be changed. A dry run looks without recording; the real one captures first. */
async function planRestore(context: Context, moment: ResolvedMoment, options: RestoreOptions): Promise<Planned> {
  let head = (await context.index.head()).seq;
  let unrecorded: readonly Change[] = [];
  let omitted: readonly Omission[];
  if (options.dryRun === true) {
    const reading = await readDisk(context, { absentRoot: "known", hashOnly: true });
    unrecorded = (await compare(context, reading)).changes;
    ({ omitted } = reading);
  } else {
    const captured = await capture(context, {
      cause: "capture",
      reserve: true,
      absentRoot: "known",
      ...(options.onProgress ? { onProgress: options.onProgress } : {}),
    });
    head = captured.seq;
    ({ omitted } = captured.coverage);
  }
  // From what is there now to the target: what is unrecorded is taken back first.
  const wanted = await knownPaths(context, options.paths);
  const all = composeChanges(invert(unrecorded), await changesBetween(context, head, moment.seq));
  const seqs = [moment.seq];
  const action = await actionBegunBehind(context, moment.seq);
  const isWanted = (path: WorkspacePath): boolean =>
    wanted === undefined || wanted.length === 0 || wanted.some((one) => isWithin(path, one));
  const whole = makeable(await wholeUnits(context, all, isWanted));
  const { changes, unseen } = await leaveUnseen(context, whole, () => ({ seqs, action }));
  // What is off the record differs from what is recorded, also where that is the state of the moment.
  const named = new Set(unseen.map(({ path }) => path));
  const others = [...(await allOffRecord(context))].filter(([path]) => isWanted(path) && !named.has(path));
  const unreadable = await unreadableNow(context, { omitted, seq: moment.seq }, isWanted);
  const stuck = new Set(unreadable.map(({ path }) => path));
  return {
    changes: changes.filter(({ path }) => !stuck.has(path)),
    unknown: [...unseen, ...others.map(([path, detail]) => unseenPath(path, detail)), ...unreadable],
  };
}

/** The action whose snapshot is the moment, or directly behind it: what it has looked at, it has looked at then. */
async function actionBegunBehind(context: Context, seq: number): Promise<string | undefined> {
  const rows = await context.index.events({ from: seq, to: seq + 1 });
  return rows.find((row) => row.open && row.recordId.startsWith("action:"))?.recordId.slice("action:".length);
}

/** The error for an operation that could not be done at all. */
export function blocked(paths: readonly SkippedPath[]): ChronicleError {
  const shown = paths.slice(0, 5).map((one) => `${shownPath(one.path)} (${one.reason}: ${one.detail})`);
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  return new ChronicleError("REFUSED", `nothing was changed, because these cannot be: ${shown.join(", ")}${more}`, {
    hint: "settle these and try again, name other paths, or use --force to leave them alone and do the rest",
    data: { blocked: paths.map(skippedShape) },
  });
}

function report(
  changes: readonly Change[],
  { skipped, dryRun }: { readonly skipped: readonly SkippedPath[]; readonly dryRun: boolean },
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
