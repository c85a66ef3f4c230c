import { comparePaths, foldersAbove, nameOf, parentOf, type WorkspacePath } from "../values/path.ts";

/** What a file system does to names. */
export interface NameRules {
  /** `A` and `a` are one name. */
  readonly caseInsensitive?: boolean;
  /** Names that are equal by Unicode's canonical equivalence are one (as on macOS). */
  readonly normalise?: boolean;
}

/**
 * Paths that would be one and the same on such a file system: groups of names in one folder, each in the order of paths.
 * Folders above the paths count too. Below folders that collide nothing is listed: whoever keeps those apart keeps it apart.
 *
 * File systems fold letters by tables of their own; this folds by all that Unicode's full case mappings make equal (`ß`
 * and `ss` too): rather a collision too many than a file overwritten.
 */
export function findCollisions(paths: Iterable<WorkspacePath>, rules: NameRules): WorkspacePath[][] {
  const seen = new Set<WorkspacePath>();
  const groups = new Map<string, WorkspacePath[]>();
  for (const given of paths) {
    for (const path of [given, ...foldersAbove(given)]) {
      if (seen.has(path)) break;
      seen.add(path);
      // A name has no NUL and no slash, so that the key stands for one folder and one folded name.
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

/** Would two names be one and the same there? */
export function isOneName(a: string, b: string, rules: NameRules): boolean {
  return foldName(a, rules) === foldName(b, rules);
}

function foldName(name: string, { caseInsensitive = false, normalise = false }: NameRules): string {
  const composed = normalise ? name.normalize("NFD") : name;
  if (!caseInsensitive) return composed;
  // Upper case first: it makes one of what lower case keeps apart (`ſ` and `s`); lower case then of the Kelvin sign and `k`.
  const folded = composed.toUpperCase().toLowerCase();
  return normalise ? folded.normalize("NFD") : folded;
}
