import type { Verdict } from "../../core/filter/filter.ts";
import { type WorkspacePath, isHeldBy, nameOf, parentOf, ROOT } from "../../core/values/path.ts";
import { unitDatabaseOf } from "../../core/tree/sqlite-unit.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { isDatabaseFile } from "../files/read-sqlite.ts";
import type { PathStat, TrackedRoot } from "../worktree.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { compileFilter } from "../../core/filter/ignore.ts";
import { isInStaging } from "../../core/tree/staging-folder.ts";
import { FolderRules, RuleReader } from "./folder-rules.ts";
import { GITS, type GitsOwn, isTakenIn } from "../git/git-folders.ts";
import type { GitNow } from "../git/git-repository.ts";
import { RootGit } from "../git/root-git.ts";

/**
 * The parts that are needed to apply git's rules to one root. `own` finds the paths of the root that are git's own
 * state.
 */
export interface GitOfRoot extends GitNow {
  readonly own: GitsOwn;
}

/** Returns a reader of the ignore files that are on disk now. The reader uses no remembered rules. */
function readerOf(fs: ConfinedFs, root: TrackedRoot, git: GitNow): RuleReader {
  const enabled = root.filter.useGitignore;
  const ofRoot = new RootGit({ ...git, root, known: () => undefined });
  return new RuleReader({ fs, enabled, known: () => undefined, startedAtNs: 0n, git: ofRoot });
}

/**
 * Returns the verdict of the rules on a path of a root. `stat`: the stat of the path. If this user may not read the
 * stat, the rules judge the path as a file.
 */
export type Judge = (inner: WorkspacePath, stat: PathStat) => Verdict;

/**
 * Returns a function that judges a path of a root by its filter and the ignore files that are on disk now. The function
 * reads the rules of each folder once.
 */
export function judgeOnDisk(fs: ConfinedFs, root: TrackedRoot, git: GitOfRoot): Judge {
  const { only } = root;
  if (only !== undefined) {
    return (inner) =>
      inner === "" || isHeldBy(root, inner) || (isOfUnit(only, inner) && isDatabaseFile(fs, only as WorkspacePath))
        ? { tracked: true, rule: "default" }
        : { tracked: false, rule: "exclude", pattern: only };
  }
  const rulesOf = folderRules(fs, root, git);
  return (inner, stat) => {
    if (inner === "") return { tracked: true, rule: "default" };
    if (isInStaging(inner)) return { tracked: false, rule: "staging" };
    const isFolder = typeof stat === "object" && stat.kind === "dir";
    return orGits(git.own, inner, rulesOf(parentOf(inner)).scope.judge(nameOf(inner), isFolder));
  };
}

/**
 * Like `judgeOnDisk`, but the returned function only says whether a path is left out. That function treats every path
 * as a file. In a single-file root, it does not check whether the file is a database.
 */
export function leftOutOnDisk(fs: ConfinedFs, root: TrackedRoot, git: GitOfRoot): (inner: WorkspacePath) => boolean {
  const { only } = root;
  if (only !== undefined) return (inner) => !isHeldBy(root, inner) && !isOfUnit(only, inner);
  const rulesOf = folderRules(fs, root, git);
  return (inner) => {
    if (isInStaging(inner)) return true;
    return !orGits(git.own, inner, rulesOf(parentOf(inner)).scope.judge(nameOf(inner), false)).tracked;
  };
}

/** Returns a function from a folder to the rules for its children. The function reads the rules of each folder once. */
function folderRules(fs: ConfinedFs, root: TrackedRoot, git: GitNow): (folder: WorkspacePath) => FolderRules {
  const reader = readerOf(fs, root, git);
  const folders = new Map([[ROOT, FolderRules.root(compileFilter(root.filter), "", reader.read(ROOT))]]);
  const rulesOf = (folder: WorkspacePath): FolderRules => {
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const rules = rulesOf(parentOf(folder)).enter(folder, reader.read(folder));
    folders.set(folder, rules);
    return rules;
  };
  return rulesOf;
}

/**
 * True if the file has the name of a companion file (such as `-wal`) of `only`, the file of a single-file root. Does
 * not check whether `only` is a database.
 */
function isOfUnit(only: string, inner: WorkspacePath): boolean {
  return unitDatabaseOf(inner) === only;
}

/**
 * Returns `GITS` for a path in a git folder, unless a rule includes that folder by name. Returns the verdict of the
 * rules for any other path.
 */
function orGits(gits: GitsOwn, inner: WorkspacePath, verdict: Verdict): Verdict {
  if (verdict.rule === "git") return verdict;
  const top = gits.topOf(inner);
  return top === undefined || isTakenIn(top, verdict) ? verdict : GITS;
}

/**
 * Returns the errno if a file cannot be opened or a folder cannot be listed. Returns `undefined` if that succeeds, if
 * the path is gone, or if it is neither a file nor a folder.
 */
export function unreadableNow(fs: ConfinedFs, inner: WorkspacePath): string | undefined {
  try {
    const kind = fs.lstat(inner)?.kind;
    if (kind === "dir") fs.list(inner);
    else if (kind === "file") fs.openRead(inner)[Symbol.dispose]();
    return undefined;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return GONE.has(errno) ? undefined : errno;
  }
}

/** Errnos of opening a path that was removed or replaced after its stat was read. */
const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);
