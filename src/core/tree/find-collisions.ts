import { comparePaths, foldersAbove, nameOf, parentOf, type WorkspacePath } from "../values/path.ts";

/** The rules by which a file system identifies names. */
export interface NameRules {
  /** True if `A` and `a` are one name. */
  readonly caseInsensitive?: boolean;
  /** True if names that are canonically equivalent in Unicode are one name (as on macOS). */
  readonly normalise?: boolean;
}

/**
 * Finds paths that would be the same on a file system with these rules: groups of names in one folder, each group in
 * path order. Folders above the paths count too. Nothing is listed below folders that collide, because keeping those
 * apart keeps their contents apart.
 *
 * File systems fold letters by tables of their own. This folds everything that Unicode's full case mappings make equal
 * (`ß` and `ss` too), because a false collision is better than an overwritten file.
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

/** True if two names would be one name under these rules. */
export function isOneName(a: string, b: string, rules: NameRules): boolean {
  return foldName(a, rules) === foldName(b, rules);
}

function foldName(name: string, { caseInsensitive = false, normalise = false }: NameRules): string {
  const composed = normalise ? name.normalize("NFD") : name;
  if (!caseInsensitive) return composed;
  // Upper case first, because it unites letters that lower case keeps apart (`ſ` and `s`). Lower case then unites the
  // Kelvin sign and `k`.
  const folded = composed.toUpperCase().toLowerCase();
  return normalise ? folded.normalize("NFD") : folded;
}
