import type { ActionShape } from "../api/action-shapes.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type {
  ChangeShape,
  CoverageShape,
  GitChangeShape,
  GitHeadShape,
  RestoreShape,
  SkippedShape,
} from "../api/shapes.ts";
import { withoutRenamedFrom, withRenamePatches } from "../api/renamed-changes.ts";
import { type Listed, listed, type Part } from "./fit.ts";
import { counted, oneLine, shortened } from "./one-line.ts";
import { shortId, shortIds } from "./short-ids.ts";
import { inCalls } from "./tool-words.ts";
import { groupedDigits } from "../util/grouped-digits.ts";

/** The limits of one answer: items of a list, characters of one patch, and characters of all patches. */
const MOST = { changes: 100, files: 20, omitted: 20, unmerged: 50, patch: 8_000, patches: 24_000 } as const;

/** The first items of a list, and the length of the whole list. */
export interface Capped<T> {
  readonly items: readonly T[];
  readonly total: number;
}

export function capped<T>(list: readonly T[], most: number): Capped<T> {
  return { items: list.slice(0, most), total: list.length };
}

type ShownType = ChangeShape["change_type"] | "renamed";

const SIGNS: Readonly<Record<ShownType, string>> = {
  created: "+",
  renamed: "r",
  modified: "~",
  deleted: "-",
  permissions_changed: "m",
};

const WORDS: Readonly<Record<ShownType, string>> = {
  created: "created",
  modified: "modified",
  deleted: "deleted",
  renamed: "renamed",
  permissions_changed: "permissions changed",
};

export function copyLine({ path, kept_at: at }: RestoreShape["conflicts"][number]): string {
  return `Somebody changed ${oneLine(path)} meanwhile. That content is kept at ${oneLine(at)}: compare the two files, and remove the copy if it is not needed.`;
}

/** Returns counts of paths, such as `2 created, 1 deleted`; `nothing` for none. */
export function countsOf(changes: readonly ChangeShape[]): string {
  const types = ["created", "modified", "deleted", "renamed", "permissions_changed"] as const;
  const shown = withoutRenamedFrom(changes);
  const parts = types.flatMap((type) => {
    const count = new Set(shown.flatMap((one) => (typeOf(one) === type ? [one.path] : []))).size;
    return count === 0 ? [] : [`${groupedDigits(count)} ${WORDS[type]}`];
  });
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

function typeOf({ from, change_type: type }: ChangeShape): ShownType {
  return from === undefined ? type : "renamed";
}

/**
 * Returns the changes with one change for each renamed file. With patches, a renamed file whose contents differ and
 * cannot be shown keeps two changes: a deletion and a creation.
 */
export function renamedAsOne(changes: readonly ChangeShape[], withPatch: boolean): readonly ChangeShape[] {
  return withPatch ? withRenamePatches(changes) : withoutRenamedFrom(changes);
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
 * Returns one item per change: a line, followed by its patch, if any. The signs are `+` for created, `~` for modified,
 * `-` for deleted, `r` for renamed, and `m` for changed permissions.
 */
export function changeLines(changes: readonly ChangeShape[]): Listed {
  const { changes: shown, total_changes: total } = cappedChanges(changes);
  const items = withoutRenamedFrom(shown).map((change) => {
    const { path, kind, patch, from, lines } = change;
    const name = `${from === undefined ? "" : `${oneLine(from)} → `}${oneLine(path)}${kind === "dir" ? "/" : ""}`;
    const line = `${SIGNS[typeOf(change)]} ${name}${lines === undefined ? "" : ` +${lines.added} -${lines.removed}`}`;
    return patch === undefined || patch === "" ? line : `${line}\n${patch.trimEnd()}`;
  });
  return listed(items, total - (shown.length - items.length));
}

/** The maximum number of refs, and of files, of one repository that a line shows. */
const MOST_GIT = 5;

/**
 * Returns a line for each repository whose state changed: its HEAD if HEAD has changed, other changed refs, and other
 * changed files.
 */
export function gitLines(changes: readonly GitChangeShape[]): string[] {
  return changes.map(({ path, head_before: before, head_after: after, refs, also }) => {
    const head = ({ branch, commit }: GitHeadShape): string =>
      `${branch ?? "detached"} ${(commit ?? "none").slice(0, 7)}`;
    const isMoved = before.branch !== after.branch || before.commit !== after.commit;
    const names = refs.map(({ name }) => name).filter((name) => name !== `refs/heads/${after.branch ?? ""}`);
    const parts = [
      ...(isMoved ? [`HEAD ${head(before)} → ${head(after)}`] : []),
      ...(names.length === 0 ? [] : [names.slice(0, MOST_GIT).join(", ")]),
      ...(also.length === 0 ? [] : [`also ${also.slice(0, MOST_GIT).join(", ")}`]),
    ];
    return oneLine(`${path}: ${parts.join("; ")}`);
  });
}

/** Returns what was changed, in a few words: paths, and the state of git. */
export function changedText(changes: readonly ChangeShape[], git: readonly GitChangeShape[]): string {
  if (git.length === 0) return countsOf(changes);
  return changes.length === 0 ? "the state of git" : `${countsOf(changes)}, and the state of git`;
}

/** Returns sentences of the engine on one line each, with short ids, and with calls of tools in place of commands. */
export function noteLines(notes: readonly string[]): string[] {
  return notes.map((note) => said(inCalls(note)));
}

/** Returns a sentence of Chronicle on one line, with short ids. */
export function said(text: string, most?: number): string {
  return oneLine(shortIds(text), most);
}

/** Returns lines about paths whose changes can be the work of others. Returns none if there are no such paths. */
export function ambiguousLines(ambiguous: readonly string[]): Part[] {
  if (ambiguous.length === 0) return [];
  return [
    `${counted(ambiguous.length, "more path")} may be the work of others, so such an undo leaves them as they are. ` +
      'undo {"file":…} undoes the changes of one of them:',
    listed(
      ambiguous.slice(0, MOST.files).map((path) => oneLine(path)),
      ambiguous.length,
    ),
  ];
}

export function cappedCoverage(coverage: CoverageShape): CoverageShape & { readonly total_omitted: number } {
  const { items, total } = capped(coverage.omitted, MOST.omitted);
  const rules = coverage.unapplied === undefined ? {} : { unapplied: coverage.unapplied.slice(0, MOST.omitted) };
  return { complete: coverage.complete, omitted: [...items], ...rules, total_omitted: total };
}

/** Returns lines about the omitted paths, below the title. Returns no lines if the coverage is complete. */
export function coverageLines(coverage: CoverageShape, title = "Not everything was recorded:"): Part[] {
  if (coverage.complete) return [];
  const shown = coverage.omitted.slice(0, MOST.omitted);
  return [
    title,
    listed(
      shown.map((one) => `! ${oneLine(one.path)} (${oneLine(one.reason)})`),
      coverage.omitted.length,
    ),
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

/** The maximum number of paths of one action in a list of actions. */
const MOST_IN_LIST = 3;

/** Returns an action for a list, without the details that only `show_action` returns. */
export function listedAction(action: ActionShape): object {
  const { id, timestamp, action_type, action_summary, files_backed_up: files, state, actor, session, turn } = action;
  const { outside, transaction_id, seq, changed, coverage } = action;
  return {
    ...{ id, timestamp, action_type, action_summary, state, actor, session, turn, transaction_id, seq, changed },
    files_backed_up: files.slice(0, MOST_IN_LIST),
    total_files: files.length,
    outside: outside.slice(0, MOST_IN_LIST),
    coverage: { complete: coverage.complete, omitted: [], total_omitted: coverage.omitted.length },
  };
}

/** Returns a time without its milliseconds. */
export function timeOf(timestamp: string): string {
  return timestamp.replace(/\.\d+Z$/, "Z");
}

export function actionLine(action: ActionShape): string {
  const { id, timestamp, action_summary: summary, state, changed, turn, transaction_id: transaction } = action;
  const marks = [
    state,
    changed === null ? "" : `${counted(changed, "path")} changed`,
    turn === null ? "" : `turn ${oneLine(shortId(turn), 40)}`,
    transaction === null ? "" : `transaction ${shortId(transaction)}`,
  ];
  return `${shortId(id)}  ${timeOf(timestamp)}  ${said(summary, 160)}  (${marks.filter((mark) => mark !== "").join(", ")})`;
}

function skippedLines(skipped: readonly SkippedShape[]): Listed {
  const items = skipped.slice(0, MOST.changes).map(({ path, reason, detail }) => {
    return `! ${oneLine(path)} (${oneLine(detail === undefined ? reason : `${reason}: ${detail}`)})`;
  });
  return listed(items, skipped.length);
}

export function conflictLine({ id, path, state, reason }: ConflictShape): string {
  return `${id === "" ? "(dry run)" : shortId(id)}  ${oneLine(path)}  ${state}: ${oneLine(reason)}`;
}

/** Returns the parts about the paths that a restore or an undo left as they are. */
export function leftLines({
  skipped,
  unmerged = [],
}: Pick<RestoreShape, "skipped"> & { readonly unmerged?: readonly ConflictShape[] }): Part[] {
  return [
    ...(skipped.length === 0 ? [] : ["These paths were left as they are:", skippedLines(skipped)]),
    ...(unmerged.length === 0
      ? []
      : [
          "These changes did not merge with later work, so their paths were left as they are:",
          listed(unmerged.slice(0, MOST.unmerged).map(conflictLine), unmerged.length),
        ]),
  ];
}

export function cappedRestore<T extends RestoreShape>(
  result: T,
): Omit<T, "changes" | "skipped"> & ReturnType<typeof cappedChanges> & { readonly skipped: readonly SkippedShape[] } {
  return { ...result, ...cappedChanges(result.changes), skipped: result.skipped.slice(0, MOST.changes) };
}
