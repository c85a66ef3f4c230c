import { type Change, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { settable } from "../capture/never-set.ts";
import type { PathGroups } from "../facts/own-work.ts";
import { shownPath, skippedShape } from "../log/shape.ts";

const EDITED = "it was edited since";

/**
 * Returns a path that is left alone, with the reason that it was edited after the work. `cause` is the edited file, if
 * that is another file of the same SQLite database.
 */
export function editedPath(path: WorkspacePath, cause?: WorkspacePath): BlockedPath {
  return { path, reason: "changed", detail: cause === undefined ? EDITED : oneUnitWith(cause, EDITED) };
}

/**
 * Returns the paths that were edited after the work. Such a path has neither the state that the work left nor the state
 * before the work. `unrecorded` are the changes on disk that are not recorded.
 */
export function editedAmong(paths: readonly PathGroups[], unrecorded: readonly Change[]): BlockedPath[] {
  const onDisk = new Map(unrecorded.map((change) => [change.path, change]));
  return paths.flatMap(({ path, groups, last }) => {
    const pending = onDisk.get(path);
    const present = pending === undefined ? last?.entry : pending.after;
    const states = [groups.at(-1)?.after, groups[0]?.before].flatMap((state) => [state, settable(state)]);
    return groups.length === 0 || states.some((state) => sameEntry(present, state)) ? [] : [editedPath(path)];
  });
}

/** The alternatives that the error offers if an undo or redo is refused, because paths were edited after the work. */
export interface OtherWay {
  /**
   * The command of the refused undo or redo. The command names the operation by id, because another operation may be
   * the last one when a person runs it. `undefined` for selected work.
   */
  readonly command: string | undefined;
  /** True if the same undo or redo without `--exact` merges with the edits. */
  readonly merges: boolean;
}

/** Returns the error of an undo or redo that is refused, because these paths were edited after the work. */
export function editedSince(paths: readonly BlockedPath[], { command, merges }: OtherWay): ChronicleError {
  const shown = paths.slice(0, 8).map((one) => shownPath(one.path));
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  const same = command === undefined ? "the same undo" : `\`${command}\``;
  const ways = [
    ...(merges ? [`${same} without \`--exact\` keeps the later edits, and merges with them`] : []),
    ...(command === undefined
      ? []
      : [`\`${command} --force\` overwrites these edits (the present state is recorded first)`]),
    "`--dry-run` only shows what would be done",
  ];
  return new ChronicleError(
    "REFUSED",
    `nothing was changed, because these were edited since: ${shown.join(", ")}${more}`,
    { hint: ways.join("; "), data: { edited: paths.map(skippedShape) } },
  );
}
