import type { UndoHunkShape, UndoHunksShape } from "../../api/shapes.ts";
import type { Hunk } from "../../core/tree/pick-hunks.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { Present } from "../capture/change-files.ts";
import type { OwnEvents } from "../facts/own-work.ts";
import type { Context } from "../log/context.ts";
import { givenPath, shownPath } from "../log/shape.ts";
import { recordedShapes } from "../read/history.ts";
import { protectedNames } from "../state/protected.ts";
import type { InversePlan } from "./invert-work.ts";

/**
 * Returns the details of a dry run about each path that would change or conflict. The details are the hash of the
 * path's present content, the actors who have edited the path after the work, and the hunks of the work. As in patches,
 * no hunk shows a protected file.
 */
export async function hunkShapes(
  context: Context,
  own: OwnEvents,
  { changes, unmerged, hunks }: Pick<InversePlan, "changes" | "unmerged" | "hunks">,
  { unrecorded }: Pick<Present, "unrecorded">,
): Promise<UndoHunksShape[]> {
  const seen = new Map<WorkspacePath, string | null>();
  for (const { path, current } of unmerged) seen.set(path, current?.hash ?? null);
  // If only some hunks of a path merge, the path has a change and a conflict. `current` of the conflict is then the
  // content after the merged hunks, so the present content is taken from the change.
  for (const { path, before } of changes) seen.set(path, before?.hash ?? null);
  const secret = await protectedNames(context);
  const known = new Map(hunks.map((one) => [one.path, one.hunks]));
  const found: UndoHunksShape[] = [];
  for (const [path, hash] of seen) {
    const all = secret.holds(path) ? [] : (known.get(path) ?? []);
    found.push({
      ...{ path: shownPath(path), file: givenPath(path), seen: hash },
      edited_by: await editorsOf(context, own, { path, unrecorded }),
      hunks: all.map(hunkShape),
    });
  }
  return found;
}

function hunkShape({ from, to, patch, merges }: Hunk): UndoHunkShape {
  return { from_line: from, to_line: to, patch, merges };
}

/**
 * Returns the actors who changed the path after the work's last change of it. `null` stands for an edit on disk that is
 * not recorded.
 */
async function editorsOf(
  context: Context,
  own: OwnEvents,
  { path, unrecorded }: Pick<Present, "unrecorded"> & { readonly path: WorkspacePath },
): Promise<(string | null)[]> {
  const last = greatestOf([0, ...(own.byPath.get(path) ?? [])]);
  const rows = (await context.index.iterations(path)).filter(({ seq }) => seq > last);
  const isPending = own.pending?.some((one) => one.path === path) === true;
  const isEdited = !isPending && unrecorded.some((one) => one.path === path);
  if (rows.length === 0) return isEdited ? [null] : [];
  const shapes = await recordedShapes(context, path, rows);
  const actors = shapes.filter(({ operation }) => operation === undefined).map(({ actor }) => actor);
  return [...new Set([...actors, ...(isEdited ? [null] : [])])];
}
