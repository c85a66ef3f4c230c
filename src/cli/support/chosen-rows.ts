import type { ChangeShape, UndoHunkShape, UndoHunksShape, UndoShape } from "../../api/shapes.ts";
import type { UndoPart } from "../../api/workspace-api.ts";

/** A path that a person can choose, with its hunks. */
export interface Choice {
  readonly about: UndoHunksShape;
  readonly change: ChangeShape | undefined;
  readonly isConflict: boolean;
}

/** A chosen path, with those of its hunks that were chosen. */
export interface Picked {
  readonly about: UndoHunksShape;
  readonly hunks: readonly UndoHunkShape[];
}

export function choicesOf({ changes, unmerged, hunks = [] }: UndoShape): readonly Choice[] {
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const met = new Set(unmerged.map(({ path }) => path));
  return hunks.map((about) => ({ about, change: byPath.get(about.path), isConflict: met.has(about.path) }));
}

/**
 * Returns the choices that are listed. Leaves out folders with choices beneath them, because such a folder is taken
 * back together with those choices.
 */
export function listedOf(all: readonly Choice[]): readonly Choice[] {
  const above = foldersAbove(all);
  return all.filter(({ about, change }) => change?.kind !== "dir" || !above.has(about.path));
}

/**
 * Returns the parts to undo (`parts`): the chosen paths, and each folder beneath which every listed path was chosen
 * with all its hunks. A part without lines includes everything beneath its path. A chosen path is therefore left as it
 * is if something beneath it was not chosen (`stays`).
 *
 * `given`: the parts to which the user has already limited the step. If they name only lines of a file, the file is
 * never undone as a whole, because only the hunks at these lines are listed.
 */
export function chosenOf(all: readonly Choice[], picked: readonly Picked[], given: readonly UndoPart[] | undefined) {
  const listed = listedOf(all);
  const wholes = new Set(picked.filter(isWhole).map(({ about }) => about.path));
  const split = foldersAbove(listed.filter(({ about }) => !wholes.has(about.path)));
  const rows = new Set(listed);
  const folders = all.filter((one) => !rows.has(one) && !split.has(one.about.path));
  const taken = picked.filter(({ about }) => !split.has(about.path));
  return {
    parts: [
      ...folders.map(({ about: { file, seen } }) => ({ file, seen })),
      ...taken.flatMap((one) => partsOf(one, given ?? [])),
    ],
    isAll: listed.every(({ about }) => wholes.has(about.path)),
    stays: picked.filter(({ about }) => split.has(about.path)).map(({ about }) => about.path),
  };
}

function isWhole({ about, hunks }: Picked): boolean {
  return hunks.length === about.hunks.length;
}

/** Returns the paths of all folders that contain a choice. */
function foldersAbove(choices: readonly Choice[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { about } of choices) {
    let at = about.path.lastIndexOf("/");
    while (at > 0 && !found.has(about.path.slice(0, at))) {
      found.add(about.path.slice(0, at));
      at = about.path.lastIndexOf("/", at - 1);
    }
  }
  return found;
}

function partsOf(picked: Picked, given: readonly UndoPart[]): readonly UndoPart[] {
  const { about, hunks } = picked;
  const { file, seen } = about;
  if (!isWhole(picked) || (hunks.length > 0 && !isGivenWhole(file, given)))
    return hunks.map(({ from_line: fromLine, to_line: toLine }) => ({ file, seen, fromLine, toLine, hunk: true }));
  const lines = isGivenWhole(file, given) ? [] : given.filter((one) => one.file === file);
  return lines.length === 0 ? [{ file, seen }] : lines.map((one) => ({ ...one, seen }));
}

/** Returns false if some of the given parts name lines, and no other part includes the whole file. */
function isGivenWhole(file: string, given: readonly UndoPart[]): boolean {
  const wholes = given.filter(({ fromLine }) => fromLine === undefined);
  if (wholes.length === given.length) return true;
  return wholes.some((one) => ["", ".", file].includes(one.file) || file.startsWith(`${one.file}/`));
}
