import { comparePaths, foldersAbove, nameOf, parentOf, type WorkspacePath } from "../values/path.ts";

/** The rules by which a file system identifies names. */
export interface NameRules {
  /** True if names that differ only in case (`A`, `a`) are the same name. */
  readonly caseInsensitive?: boolean;
  /** True if names that are canonically equivalent in Unicode are the same name (as on macOS). */
  readonly normalise?: boolean;
}

/**
 * Finds paths that would be the same on a file system with these rules. Returns groups of paths. The paths of a group
 * are in one folder, and would have the same name there. The groups and their paths are in path order. The folders
 * above the given paths are compared, too. Paths beneath colliding folders are not listed, because they no longer
 * collide once the folders have different names.
 *
 * File systems use their own tables to fold the case of letters. This function folds all letters that Unicode's full
 * case mappings make equal (also `ß` and `ss`). The function may find false collisions, but a false collision is better
 * than an overwritten file.
 */
export function findCollisions(paths: Iterable<WorkspacePath>, rules: NameRules): WorkspacePath[][] {
  const seen = new Set<WorkspacePath>();
  const groups = new Map<string, WorkspacePath[]>();
  for (const given of paths) {
    for (const path of [given, ...foldersAbove(given)]) {
      if (seen.has(path)) break;
      seen.add(path);
      // A name has no NUL and no slash, so the key identifies one folder and one folded name.
      const key = `${parentOf(path)}\0/${foldName(nameOf(path), rules)}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [path]);
      else group.push(path);
    }
  }
  const found = [...groups.values()].filter((group) => group.length > 1);
  for (const group of found) group.sort(comparePaths);
  return found.sort(([a = ""], [b = ""]) => comparePaths(a, b));
}

export function isOneName(a: string, b: string, rules: NameRules): boolean {
  return foldName(a, rules) === foldName(b, rules);
}

function foldName(name: string, { caseInsensitive = false, normalise = false }: NameRules): string {
  const composed = normalise ? name.normalize("NFD") : name;
  if (!caseInsensitive) return composed;
  // Converts to upper case first, because upper case makes some letters equal that lower case keeps different (`ſ` and
  // `s`). Lower case then makes the Kelvin sign and `k` equal.
  const folded = composed.toUpperCase().toLowerCase();
  return normalise ? folded.normalize("NFD") : folded;
}
