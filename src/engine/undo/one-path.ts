import type { RestoreShape } from "../../api/shapes.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FilePlan, FileReport } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { fitFolders, type Unmerged } from "../capture/fit-folders.ts";
import { madeWithout, makeable } from "../capture/never-set.ts";
import { refused } from "../capture/refused.ts";
import { changeShape, conflictShape, shownPath } from "../log/shape.ts";
import { tellOfCopies } from "../log/tell-of-copies.ts";

/**
 * The common part of the operations on one path: restoring a version, and settling a conflict. Such an operation makes
 * all of its changes or none. The answer does not mention interrupted operations that Chronicle finished first. A
 * missing folder of a tracked root is an error, even if the folder was recorded as empty.
 */

/**
 * The present state of a path, and the state that it is to get. `hint`: the hint of the error if the path cannot get
 * the wanted state.
 */
export interface WantedState {
  readonly present: Entry | undefined;
  readonly target: Entry | undefined;
  readonly hint: string;
}

/** Plans the change of one path, and of the folders that it needs. Throws `REFUSED` if something is in the way. */
export async function planOnePath(
  context: Context,
  path: WorkspacePath,
  { present, target, hint }: WantedState,
): Promise<Pick<FilePlan<never>, "wanted" | "without" | "back" | "isWhole">> {
  const targets = new Map([[path, { present, target }]]);
  const unmerged = new Map<WorkspacePath, Unmerged>();
  const stayed = await fitFolders(context, { targets, unmerged, pending: new Map() });
  if (unmerged.size + stayed.length > 0) {
    const why =
      stayed.length > 0
        ? "a folder that is not empty is in its place"
        : "something else is in its place, or in the place of its folder";
    throw new ChronicleError("REFUSED", `${shownPath(path)} cannot be written: ${why}`, {
      hint,
      data: { path: shownPath(path) },
    });
  }
  const changes = [...targets].map(([at, state]) => ({ path: at, before: state.present, after: state.target }));
  const wanted = makeable(changes.filter((change) => !sameEntry(change.before, change.after)));
  return { wanted, without: madeWithout(changes), back: "decided", isWhole: true };
}

/** Returns what was changed, and informs people of kept copies. Throws `REFUSED` if a path was left unchanged. */
export function onePathShape(
  context: Pick<Context, "tell">,
  { changes, skipped, id, conflicts }: FileReport,
): Pick<RestoreShape, "changes" | "undo_id"> {
  tellOfCopies(context, conflicts.map(conflictShape));
  // A path in both `changes` and `skipped` was changed, and lacks only mode bits that Chronicle never sets. Such a path
  // is no error.
  const changed = new Set(changes.map(({ path }) => path));
  for (const { path, detail } of skipped) if (changed.has(path)) context.tell?.(`${shownPath(path)}: ${detail}`);
  const left = skipped.filter(({ path }) => !changed.has(path));
  if (left.length > 0) throw refused(left);
  return { changes: changes.map(changeShape), undo_id: id ?? null };
}
