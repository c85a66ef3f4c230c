import type { UnappliedRules } from "../../core/records/coverage.ts";
import type { FilterSpec, RuleFile } from "../../core/filter/filter.ts";
import { sha256Bytes } from "../../core/values/hash.ts";
import { compileSpec, type RepositoryScope } from "../../core/filter/ignore.ts";
import { comparePaths, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { IndexedPaths, ListedPaths, pathsInRoot, type TrackedPaths } from "../../core/filter/tracked-paths.ts";
import type { FileStat } from "../../disk/disk.ts";
import { addAll } from "../../util/long-lists.ts";
import {
  type FoundRepository,
  type GitNow,
  type GitRepository,
  RepositoryFinder,
  repositoryRules,
  ruleOnRoot,
} from "./git-repository.ts";
import { isSameStat } from "../files/same-stat.ts";
import type { TrackedRoot } from "../worktree.ts";
import { optional } from "../../util/optional.ts";

/** The cached state of a repository, without the ignore files in the root. `StatCache.rules` has these files. */
export interface KnownGit {
  /** The ignore files, as `repositoryRules` returns them. Empty if one of these files leaves out the root itself. */
  readonly rules: readonly RuleFile[];
  readonly ignoreCase: boolean;
  /** The index as it was last read. `names`: digest of the paths in the index. `problem`: why the index is not used. */
  readonly index?: { readonly stat: FileStat; readonly names: string; readonly problem?: string };
  /**
   * Paths that the repository tracks although rules leave them out. A path that ends with `/` is a repository of its
   * own.
   */
  readonly tracked: readonly string[];
  /** Digest of the filter (options and rules) with which `tracked` was computed. */
  readonly mark: string;
  /** The root's filter options, as JSON. */
  readonly options: string;
}

export interface MetRepository {
  readonly rules: readonly RuleFile[];
  readonly scope: RepositoryScope;
  /** True if the repository may track something that rules leave out. */
  readonly mayHold: boolean;
}

export interface RootGitParts extends GitNow {
  readonly root: Pick<TrackedRoot, "folder" | "filter">;
  /**
   * Returns the cached state of the repository that begins in a folder. If the folder is the root, the repository may
   * also begin above the root.
   */
  readonly known: (folder: WorkspacePath) => KnownGit | undefined;
}

/**
 * The git repositories that one scan of a root meets: the repository that contains the root, and the repositories
 * inside the root.
 */
export class RootGit {
  readonly problems: UnappliedRules[] = [];
  readonly #parts: RootGitParts;
  readonly #finder: RepositoryFinder;
  /** The root's filter options, as JSON. */
  readonly #options: string;
  readonly #met = new Map<WorkspacePath, { readonly repository: GitRepository; readonly rules: readonly RuleFile[] }>();
  #rulesChanged = false;

  constructor(parts: RootGitParts) {
    this.#parts = parts;
    this.#finder = new RepositoryFinder(parts, parts.root.folder);
    this.#options = JSON.stringify(parts.root.filter);
  }

  /**
   * Must be called if a rule has changed, because the cached `tracked` may be wrong after a change. After this call,
   * the indexes are read instead of the cached `tracked`.
   */
  noteChangedRules(): void {
    this.#rulesChanged = true;
  }

  get haveRulesChanged(): boolean {
    return this.#rulesChanged;
  }

  /**
   * Looks for a repository that begins in a folder, only to find its git folders. Used for roots to which ignore files
   * do not apply.
   */
  meet(folder: WorkspacePath): void {
    this.#find(folder);
  }

  /** Returns the folders of the repositories that were opened. */
  folders(): Iterable<WorkspacePath> {
    return this.#met.keys();
  }

  #find(folder: WorkspacePath): FoundRepository {
    return folder === ROOT ? this.#finder.atRoot() : this.#finder.beneath(folder);
  }

  /**
   * Opens the repository that begins in a folder. If the folder is the root, the repository may also begin above the
   * root. Returns `undefined` if there is no repository. If the repository is unusable, notes the problem and returns
   * `undefined`.
   */
  open(folder: WorkspacePath): MetRepository | undefined {
    return this.#parts.files.atOnce(() => this.#open(folder));
  }

  #open(folder: WorkspacePath): MetRepository | undefined {
    const found = this.#find(folder);
    if (found === undefined) return undefined;
    if ("problem" in found) {
      this.problems.push(found.problem);
      return undefined;
    }
    const rules = this.#rulesOf(found, folder);
    const known = this.#parts.known(folder);
    const { settings, gitDir } = found;
    const isAsKnown =
      known !== undefined &&
      known.options === this.#options &&
      known.ignoreCase === settings.ignoreCase &&
      JSON.stringify(known.rules) === JSON.stringify(rules);
    if (!isAsKnown) this.#rulesChanged = true;
    this.#met.set(folder, { repository: found, rules });
    const stat = this.#parts.files.stat(`${gitDir}/index`);
    const tracked = stat === undefined ? undefined : new MetPaths(this, found, this.#fresh(folder, stat));
    const scope = { isBoundary: folder !== ROOT, ignoreCase: settings.ignoreCase, tracked };
    return {
      rules,
      scope,
      get mayHold() {
        return tracked !== undefined && tracked.mayHold;
      },
    };
  }

  #rulesOf(repository: GitRepository, folder: WorkspacePath): readonly RuleFile[] {
    const { files, root } = this.#parts;
    const isOwnExclude = folder === ROOT && repository.commonDir === `${root.folder}/.git`;
    const { rules, problems } = repositoryRules(files, repository, isOwnExclude);
    addAll(this.problems, [...repository.settings.problems, ...problems]);
    const hiding = repository.place.above === "" ? undefined : ruleOnRoot(rules, repository);
    if (hiding === undefined) return rules;
    const detail = `it leaves out this folder itself, by ${hiding}, so none of its rules from above applies here`;
    this.problems.push({ source: repository.top, detail });
    return [];
  }

  #fresh(folder: WorkspacePath, stat: FileStat | undefined): KnownGit | undefined {
    const known = this.#parts.known(folder);
    const { index } = known ?? {};
    if (stat === undefined || index === undefined) return stat === index ? known : undefined;
    return isSameStat(index.stat, stat) ? known : undefined;
  }

  /** Returns the paths of a repository's index. `paths` is `undefined` if there is no usable index. */
  indexOf({ gitDir, settings, place }: GitRepository): {
    readonly paths: TrackedPaths | undefined;
    readonly names: string;
    readonly problem?: string;
  } {
    const found = this.#parts.files.index(`${gitDir}/index`, settings.hashBytes);
    if (found === undefined) return { paths: undefined, names: "" };
    if ("problem" in found) return { paths: undefined, names: "", problem: found.problem };
    const { index, digest } = found;
    const paths = settings.ignoreCase
      ? new ListedPaths(pathsInRoot(index, place), true)
      : new IndexedPaths(index, place);
    return { paths, names: digest };
  }

  /**
   * Returns the state of each repository that was met, for the next scan. Notes problems of the indexes. `specOf`
   * returns the filter that consists of the root's own rules and of the rules of the given repositories.
   */
  finish(
    specOf: (repositories: Iterable<readonly [WorkspacePath, KnownGit]>) => FilterSpec,
  ): Map<WorkspacePath, KnownGit> {
    const plain = [...this.#met].map(([folder, { repository, rules }]) => {
      const { ignoreCase } = repository.settings;
      return [folder, { rules, ignoreCase, tracked: [], mark: "", options: this.#options }] as const;
    });
    const spec = specOf(plain);
    const mark = sha256Bytes(JSON.stringify(spec)).toString("hex");
    const all = new Map<WorkspacePath, KnownGit>();
    for (const [folder, begun] of plain) {
      const { repository } = this.#met.get(folder) ?? {};
      if (repository !== undefined) all.set(folder, this.#finished(repository, { folder, begun, spec, mark }));
    }
    return all;
  }

  #finished(
    repository: GitRepository,
    given: {
      readonly folder: WorkspacePath;
      readonly begun: KnownGit;
      readonly spec: FilterSpec;
      readonly mark: string;
    },
  ): KnownGit {
    const { folder, begun, spec, mark } = given;
    const { files } = this.#parts;
    const path = `${repository.gitDir}/index`;
    const stat = files.stat(path);
    const known = this.#parts.known(folder);
    if (stat === undefined) return { ...begun, mark };
    const fresh = this.#fresh(folder, stat)?.index;
    const { names, problem } = fresh ?? this.indexOf(repository);
    files.noteDigest(path, repository.settings.hashBytes, names);
    if (problem !== undefined) {
      const detail = `not used: ${problem}. What git tracks although a rule leaves it out is not recorded`;
      this.problems.push({ source: path, detail });
    }
    const index = { stat, names, ...optional({ problem }) };
    const isKnown = known !== undefined && known.mark === mark && known.index?.names === names;
    if (isKnown && fresh !== undefined) return known;
    const tracked = problem !== undefined ? [] : isKnown ? known.tracked : this.#againstRules(repository, spec);
    return { ...begun, index, tracked, mark };
  }

  /** Returns the paths in the root that a repository's index names and an ignore file leaves out. */
  #againstRules({ gitDir, settings, place }: GitRepository, spec: FilterSpec): string[] {
    const found = this.#parts.files.index(`${gitDir}/index`, settings.hashBytes);
    if (found === undefined || "problem" in found || spec.rules.length === 0) return [];
    const filter = compileSpec(spec);
    const against: string[] = [];
    for (const path of pathsInRoot(found.index, place)) {
      const isRepository = path.endsWith("/");
      const { rule, tracked } = filter.judge(isRepository ? path.slice(0, -1) : path, isRepository);
      if (rule === "gitignore" && !tracked) against.push(path);
    }
    return against.sort(comparePaths);
  }
}

/**
 * The paths that a repository tracks. While the cached state is valid, these are only its `tracked` paths. Otherwise,
 * these are all paths of the index. The index is read when it is first needed, because it may be large.
 */
class MetPaths implements TrackedPaths {
  readonly #git: RootGit;
  readonly #repository: GitRepository;
  readonly #listed: ListedPaths | undefined;
  readonly #isAny: boolean;
  #indexed: TrackedPaths | undefined;
  #isRead = false;

  constructor(git: RootGit, repository: GitRepository, fresh: KnownGit | undefined) {
    this.#git = git;
    this.#repository = repository;
    this.#isAny = fresh === undefined || fresh.tracked.length > 0;
    this.#listed = fresh === undefined ? undefined : new ListedPaths(fresh.tracked, repository.settings.ignoreCase);
  }

  get mayHold(): boolean {
    return this.#isAny || this.#git.haveRulesChanged;
  }

  has(path: string, isFolder: boolean): boolean {
    return this.#now()?.has(path, isFolder) === true;
  }

  hasBeneath(path: string): boolean {
    return this.#now()?.hasBeneath(path) === true;
  }

  #now(): TrackedPaths | undefined {
    if (this.#listed !== undefined && !this.#git.haveRulesChanged) return this.#listed;
    if (!this.#isRead) {
      this.#isRead = true;
      this.#indexed = this.#git.indexOf(this.#repository).paths;
    }
    return this.#indexed;
  }
}

/** Returns the paths that git tracks although rules leave them out, for all repositories of a root together. */
export function trackedOf(known: Iterable<KnownGit>): ListedPaths {
  const all = [...known];
  return new ListedPaths(
    all.flatMap(({ tracked }) => tracked),
    all.some(({ ignoreCase }) => ignoreCase),
  );
}
