import type { ActionShape } from "../api/action-shapes.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type { ChangeShape, CoverageShape, RestoreShape, SkippedShape } from "../api/shapes.ts";
import { counted, oneLine, shortened } from "./one-line.ts";
import { groupedDigits } from "../util/grouped-digits.ts";

/** The limits of one answer: items of a list, characters of one patch, and characters of all patches. */
const MOST = { changes: 100, files: 20, omitted: 20, patch: 8_000, patches: 24_000 } as const;

/** The first items of a list, and the length of the whole list. */
export interface Capped<T> {
  readonly items: readonly T[];
  readonly total: number;
}

export function capped<T>(list: readonly T[], most: number): Capped<T> {
  return { items: list.slice(0, most), total: list.length };
}

const SIGNS: Readonly<Record<ChangeShape["change_type"], string>> = {
  created: "+",
  modified: "~",
  deleted: "-",
  permissions_changed: "m",
};

const WORDS: Readonly<Record<ChangeShape["change_type"], string>> = {
  created: "created",
  modified: "modified",
  deleted: "deleted",
  permissions_changed: "permissions changed",
};

export function copyLine({ path, kept_at: at }: RestoreShape["conflicts"][number]): string {
  return `Somebody changed ${oneLine(path)} meanwhile. That content is kept at ${oneLine(at)}: compare the two files, and remove the copy if it is not needed.`;
}

/** Returns counts of paths, such as `2 created, 1 deleted`; `nothing` for none. */
export function countsOf(changes: readonly Pick<ChangeShape, "change_type" | "path">[]): string {
  const types = ["created", "modified", "deleted", "permissions_changed"] as const;
  const parts = types.flatMap((type) => {
    const count = new Set(changes.flatMap((one) => (one.change_type === type ? [one.path] : []))).size;
    return count === 0 ? [] : [`${groupedDigits(count)} ${WORDS[type]}`];
  });
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

export function cappedChanges(changes: readonly ChangeShape[]): {
  readonly changes: readonly (ChangeShape & { readonly patch_cut?: true })[];
  readonly total_changes: number;
} {
  return { changes: cappedPatches(changes.slice(0, MOST.changes)), total_changes: changes.length };
}

/** Cuts the patches to the limits for one patch and for all patches. */
export function cappedPatches<T extends { readonly patch?: string }>(
  all: readonly T[],
): readonly (T & { readonly patch_cut?: true })[] {
  let room: number = MOST.patches;
  return all.map((one) => {
    if (one.patch === undefined) return one;
    const most = Math.min(MOST.patch, room);
    const patch = shortened(one.patch, Math.max(most, 1));
    room -= Math.min(patch.length, room);
    return patch === one.patch ? one : { ...one, patch, patch_cut: true as const };
  });
}

/**
 * Returns one line per change, followed by its patch, if any. The signs are `+` for created, `~` for modified, `-` for
 * deleted, and `m` for changed permissions.
 */
export function changeLines(changes: readonly ChangeShape[]): string[] {
  const { changes: shown, total_changes: total } = cappedChanges(changes);
  const lines = shown.flatMap(({ change_type: type, path, kind, patch }) => [
    `${SIGNS[type]} ${oneLine(path)}${kind === "dir" ? "/" : ""}`,
    ...(patch === undefined || patch === "" ? [] : [patch.trimEnd()]),
  ]);
  const rest = total - shown.length;
  return rest > 0 ? [...lines, `… and ${groupedDigits(rest)} more`] : lines;
}

/** Returns lines about paths whose changes can be the work of others. Returns none if there are no such paths. */
export function ambiguousLines(ambiguous: readonly string[]): string[] {
  if (ambiguous.length === 0) return [];
  const { items, total } = capped(ambiguous, MOST.files);
  const names = items.map((path) => oneLine(path)).join(", ");
  return [
    `${counted(total, "more path")} may be the work of others, so such an undo leaves them as they are: ${names}`,
    'undo {"file":…} undoes the changes of one of them.',
  ];
}

export function cappedCoverage(coverage: CoverageShape): CoverageShape & { readonly total_omitted: number } {
  const { items, total } = capped(coverage.omitted, MOST.omitted);
  const rules = coverage.unapplied === undefined ? {} : { unapplied: coverage.unapplied.slice(0, MOST.omitted) };
  return { complete: coverage.complete, omitted: [...items], ...rules, total_omitted: total };
}

/** Returns lines about the omitted paths, below the title. Returns no lines if the coverage is complete. */
export function coverageLines(coverage: CoverageShape, title = "Not everything was recorded:"): string[] {
  if (coverage.complete) return [];
  const shown = coverage.omitted.slice(0, MOST.omitted);
  const rest = coverage.omitted.length - shown.length;
  return [
    title,
    ...shown.map((one) => `! ${oneLine(one.path)} (${oneLine(one.reason)})`),
    ...(rest > 0 ? [`… and ${groupedDigits(rest)} more`] : []),
  ];
}

export function cappedAction(action: ActionShape): Omit<ActionShape, "coverage"> & {
  readonly total_files: number;
  readonly coverage: CoverageShape & { readonly total_omitted: number };
} {
  return {
    ...action,
    files_backed_up: action.files_backed_up.slice(0, MOST.files),
    total_files: action.files_backed_up.length,
    outside: action.outside.slice(0, MOST.files),
    coverage: cappedCoverage(action.coverage),
  };
}

export function actionLine(action: ActionShape): string {
  const { id, timestamp, action_summary: summary, state, changed, turn, transaction_id: transaction } = action;
  const marks = [
    state,
    changed === null ? "" : `${counted(changed, "path")} changed`,
    turn === null ? "" : `turn ${oneLine(turn, 40)}`,
    transaction === null ? "" : `transaction ${transaction.slice(0, 8)}`,
  ];
  return `${id}  ${timestamp}  ${oneLine(summary, 160)}  (${marks.filter((mark) => mark !== "").join(", ")})`;
}

export function skippedLines(skipped: readonly SkippedShape[]): string[] {
  const { items, total } = capped(skipped, MOST.changes);
  const lines = items.map(({ path, reason, detail }) => {
    return `! ${oneLine(path)} (${oneLine(detail === undefined ? reason : `${reason}: ${detail}`)})`;
  });
  return total > items.length ? [...lines, `… and ${groupedDigits(total - items.length)} more`] : lines;
}

export function conflictLine({ id, path, state, reason }: ConflictShape): string {
  return `${id === "" ? "(dry run)" : id}  ${oneLine(path)}  ${state}: ${oneLine(reason)}`;
}

export function cappedRestore<T extends RestoreShape>(
  result: T,
): Omit<T, "changes" | "skipped"> & ReturnType<typeof cappedChanges> & { readonly skipped: readonly SkippedShape[] } {
  return { ...result, ...cappedChanges(result.changes), skipped: result.skipped.slice(0, MOST.changes) };
}
