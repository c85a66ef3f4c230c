import type { ChangeShape } from "./shapes.ts";

/** Leaves out the deletion of each renamed file, because the change of the new path stands for both paths. */
export function withoutRenamedFrom(changes: readonly ChangeShape[]): readonly ChangeShape[] {
  const renamed = new Set(changes.flatMap((one) => (one.from === undefined ? [] : [keyOf(one.from, one.from_b64)])));
  if (renamed.size === 0) return changes;
  return changes.filter((one) => one.renamed_to === undefined || !renamed.has(keyOf(one.path, one.path_b64)));
}

/**
 * Returns the changes with one patch for each renamed file. If the contents of a renamed file differ and cannot be
 * shown, keeps its deletion and its creation as two changes. These changes then show that the whole patch is
 * incomplete.
 */
export function withRenamePatches(changes: readonly ChangeShape[]): readonly ChangeShape[] {
  const joined = changes.map(({ from, rename_patch: patch, ...change }) =>
    from === undefined || patch === undefined ? change : { ...change, from, patch },
  );
  return withoutRenamedFrom(joined);
}

function keyOf(path: string, bytes = ""): string {
  return `${path}\0${bytes}`;
}
