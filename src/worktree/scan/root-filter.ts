import type { UnappliedRules } from "../../core/records/coverage.ts";
import type { FilterSpec, RepositoryRules, RuleFile } from "../../core/filter/filter.ts";
import { compileFilter } from "../../core/filter/ignore.ts";
import { MAX_WILD_RULES } from "../../core/filter/ignore-rules.ts";
import { comparePaths, parentOf, pathInRoot, ROOT, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { KnownGit } from "../git/root-git.ts";
import type { StatCache } from "./stat-cache.ts";
import type { TrackedRoot } from "../worktree.ts";

/** The ignore file in a repository's git folder. A clone of the repository does not get this file. */
export const EXCLUDE_FILE = ".git/info/exclude" as WorkspacePath;

/** Returns the known repositories of a root, each with its folder beneath the root. */
export function gitOf(cache: StatCache, root: Pick<TrackedRoot, "id">): [WorkspacePath, KnownGit][] {
  return [...cache.git].flatMap(([path, known]): [WorkspacePath, KnownGit][] => {
    const { root: id, path: folder } = splitRoot(path);
    return id === root.id ? [[folder, known]] : [];
  });
}

/** Returns the filter of a root: its options, its last known rules, and the given repositories. */
export function filterOf(
  cache: StatCache,
  root: TrackedRoot,
  repositories: Iterable<readonly [WorkspacePath, KnownGit]> = gitOf(cache, root),
): FilterSpec {
  const rules: RuleFile[] = [];
  for (const [path, { text }] of cache.rules) {
    const { root: id, path: inner } = splitRoot(path);
    if (id !== root.id) continue;
    rules.push({ folder: inner === EXCLUDE_FILE ? ROOT : parentOf(inner), source: inner, text });
  }
  const order = (rule: RuleFile): number => (rule.source === EXCLUDE_FILE ? 0 : 1);
  rules.sort((a, b) => order(a) - order(b) || comparePaths(a.folder, b.folder));
  const met = [...repositories].sort(([a], [b]) => comparePaths(a, b));
  const told = met.map(([folder, known]) => repositoryOf(folder, known)).filter((one) => saysMore(one));
  return {
    options: root.filter,
    // Rules from outside of the root, or from a git folder, have lower precedence than ignore files in the root.
    rules: [...met.flatMap(([, known]) => known.rules), ...rules],
    ...(told.length === 0 ? {} : { repositories: told }),
  };
}

function repositoryOf(folder: string, { ignoreCase, tracked }: KnownGit): RepositoryRules {
  return { folder, ignoreCase, tracked };
}

/** True if the filter must name the repository. A repository that begins beneath the root must always be named. */
function saysMore({ folder, ignoreCase, tracked }: RepositoryRules): boolean {
  return folder !== "" || ignoreCase || tracked.length > 0;
}

/** Returns the rule files that are not applied, each with the reason. */
export function problemsOf({ options, rules }: FilterSpec): UnappliedRules[] {
  const filter = compileFilter(options);
  return rules.flatMap((file) => {
    // A short file cannot have too many rules, so only a long file is checked.
    const detail = file.text.length > MAX_WILD_RULES ? filter.problemOf(file) : undefined;
    return detail === undefined ? [] : [{ source: file.source, detail }];
  });
}

/**
 * Returns the problems of a root without duplicates. A file in a further root is named by its absolute path, and a file
 * in the first root by its path beneath the root.
 */
export function told({ id, folder }: TrackedRoot, problems: readonly UnappliedRules[]): UnappliedRules[] {
  const each = new Map<string, UnappliedRules>();
  for (const { source, detail } of problems) {
    const isWhole = id === undefined || source.startsWith("/") || source.includes("=");
    const shown = isWhole ? source : `${folder}/${source}`;
    each.set(`${shown}\0${detail}`, { source: shown, detail });
  }
  return [...each.values()];
}

export function keepGit(cache: StatCache, root: TrackedRoot, met: ReadonlyMap<WorkspacePath, KnownGit>): void {
  for (const [folder] of gitOf(cache, root)) if (!met.has(folder)) cache.git.delete(pathInRoot(root.id, folder));
  for (const [folder, known] of met) {
    const path = pathInRoot(root.id, folder);
    const before = cache.git.get(path);
    if (before === known) continue;
    if (JSON.stringify(before, bigText) !== JSON.stringify(known, bigText)) cache.git.set(path, known);
  }
}

function bigText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}
