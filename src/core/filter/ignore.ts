import type { FilterOptions, FilterSpec, RepositoryRules, RuleFile, Verdict } from "./filter.ts";
import { compileGlob } from "./ignore-glob.ts";
import type { Glob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";
import { RuleSet, byteText, isSpent } from "./ignore-rules.ts";
import type { LivePaths } from "./ignore-rules.ts";
import { ListedPaths, type TrackedPaths } from "./tracked-paths.ts";

const GIT = ".git";
const TRACKED: Verdict = { tracked: true, rule: "default" };
const GIT_VERDICT: Verdict = { tracked: false, rule: "git", pattern: GIT };

/** A git repository that begins in a folder of the workspace, or that contains the workspace's root. */
export interface RepositoryScope {
  /**
   * True if the rules of outer folders do not apply in the repository. False for a repository that begins at or above
   * the root, because the workspace has no rules from outside of such a repository.
   */
  readonly isBoundary: boolean;
  readonly ignoreCase: boolean;
  /** The paths that git tracks in the repository; `undefined` if the ignore rules exclude none of these paths. */
  readonly tracked: TrackedPaths | undefined;
}

export interface CompiledFilter {
  /**
   * Returns the scope for the children of a folder. May return `parent` itself if the folder has the same rules as its
   * parent.
   *
   * - `parent`: the scope of the folder that contains this folder. If `parent` is `undefined`, no rule file above this
   *   folder applies.
   * - `ruleFiles`: the files whose rules begin to apply in this folder, lowest precedence first. In the folder of a
   *   repository, the order is the user's global ignore file, `info/exclude`, the `.gitignore` files above the root,
   *   and then the folder's own `.gitignore`. The files have no effect if `useGitignore` is false.
   * - `repository`: the repository that begins in this folder. As in git, no ignore rule excludes the paths that git
   *   tracks in the repository, and the rules of outer folders do not apply in the repository (see
   *   `RepositoryScope.isBoundary`).
   */
  enter(
    parent: FolderScope | undefined,
    folderPath: string,
    ruleFiles: readonly RuleFile[],
    repository?: RepositoryScope,
  ): FolderScope;
  /**
   * Returns the reason why a rule file is not applied (too large, too many wildcards); `undefined` if the file is
   * applied.
   */
  problemOf(ruleFile: RuleFile): string | undefined;
}

/**
 * Compiles the user's exclusions. The rules, in order of precedence:
 *
 * 1. `forceInclude`. A path that one of these patterns names is tracked, with everything below the path. `.git` and the
 *    paths below it are tracked only if the pattern has a component `.git`.
 * 2. `.git`. A file or folder with this name is excluded at any depth.
 * 3. `excludePatterns`. A pattern without a `/` must equal the whole name of a file or folder. A pattern with a `/`
 *    matches a path that contains the pattern. For this comparison, a `/` is put before the path, and another one after
 *    the path of a folder. Therefore, `/a` finds names that begin with `a`, and `a/` finds folders whose names end with
 *    `a`.
 * 4. `excludeGlobs`. A glob (`*`, `?`, `[…]`, `\`) is compared with the name of a file or folder. A leading `**`
 *    component has no effect.
 * 5. Ignore files, which are read exactly as git reads them. The deepest file with a matching rule decides. Ignore
 *    files exclude nothing that git tracks.
 *
 * Everything in an excluded folder is excluded, except force-included paths. If an ignore file excludes the folder, the
 * paths in it that git tracks are not excluded either. The rules look only at a path and its kind, because a recorded
 * filter also judges paths that no longer exist. The scan, not the filter, omits files because of their size or
 * content.
 */
export function compileFilter(options: FilterOptions): CompiledFilter {
  return new Filter(options);
}

interface UserPattern {
  readonly text: string;
  readonly isPart: boolean;
  readonly namesGit: boolean;
}

function userPatterns(texts: readonly string[]): UserPattern[] {
  const meant = texts.filter((text) => /[^/]/.test(text));
  return meant.map((text) => ({ text, isPart: text.includes("/"), namesGit: text.split("/").includes(GIT) }));
}

class Filter implements CompiledFilter {
  readonly force: readonly UserPattern[];
  readonly exclude: readonly UserPattern[];
  readonly globs: readonly { readonly text: string; readonly glob: Glob }[];
  /** True if verdicts depend on the whole path, not only on names and rule files. */
  readonly needsPath: boolean;
  readonly #useGitignore: boolean;
  readonly #ruleSets = new Map<string, RuleSet>();
  readonly #foldedSets = new Map<string, RuleSet>();

  constructor(options: FilterOptions) {
    this.force = userPatterns(options.forceInclude);
    this.exclude = userPatterns(options.excludePatterns);
    this.globs = options.excludeGlobs.flatMap((text) => {
      const glob = compileGlob(text.replace(/^(\*\*\/)+/, ""), false);
      return glob === undefined ? [] : [{ text, glob }];
    });
    this.needsPath = [...this.force, ...this.exclude].some((pattern) => pattern.isPart);
    this.#useGitignore = options.useGitignore;
  }

  enter(
    parent: FolderScope | undefined,
    folderPath: string,
    ruleFiles: readonly RuleFile[],
    repository?: RepositoryScope,
  ): FolderScope {
    const outer = folderPath === "" ? undefined : (parent ?? this.#outer(folderPath));
    const inForce = this.#useGitignore ? repository : undefined;
    const ignoreCase = (inForce ?? outer?.repository)?.ignoreCase ?? false;
    const layers = this.#useGitignore ? ruleFiles.flatMap((file) => this.#layer(file, ignoreCase)) : [];
    return outer === undefined ? this.#root(layers, inForce) : outer.child(folderPath, layers, inForce);
  }

  #root(layers: readonly Layer[], repository?: RepositoryScope): FolderScope {
    return new FolderScope(this, { path: "", layers, repository });
  }

  /** Returns the scope of a folder's parent, as if there were no rule file above the folder. */
  #outer(folderPath: string): FolderScope {
    let scope = this.#root([]);
    for (let at = folderPath.indexOf("/"); at >= 0; at = folderPath.indexOf("/", at + 1)) {
      scope = scope.child(folderPath.slice(0, at), []);
    }
    return scope;
  }

  problemOf(file: RuleFile): string | undefined {
    return this.#ruleSet(file, false).problem;
  }

  #layer(file: RuleFile, ignoreCase: boolean): Layer[] {
    const rules = this.#ruleSet(file, ignoreCase);
    if (rules.isEmpty) return [];
    let paths = rules.start;
    for (const name of file.above === undefined ? [] : file.above.split("/"))
      paths = rules.below(paths, byteText(name));
    return [{ rules, source: file.source, paths }];
  }

  #ruleSet({ text }: RuleFile, ignoreCase: boolean): RuleSet {
    const known = ignoreCase ? this.#foldedSets : this.#ruleSets;
    let rules = known.get(text);
    if (rules === undefined) known.set(text, (rules = new RuleSet(text, ignoreCase)));
    return rules;
  }
}

interface Layer {
  readonly rules: RuleSet;
  readonly source: string;
  readonly paths: LivePaths;
}

interface ScopeState {
  readonly path: string;
  /** The rule files that apply, lowest precedence first. */
  readonly layers: readonly Layer[];
  readonly repository?: RepositoryScope | undefined;
  readonly inGit?: boolean;
  readonly forcedBy?: UserPattern | undefined;
  /** The verdict that excludes the folder, and therefore everything in it that is not force-included. */
  readonly excludedBy?: Verdict | undefined;
}

/** The filter's verdicts on the children of one folder. Made by `CompiledFilter.enter`. */
export class FolderScope {
  readonly #filter: Filter;
  readonly #state: ScopeState;

  constructor(filter: Filter, state: ScopeState) {
    this.#filter = filter;
    this.#state = state;
  }

  tracks(name: string, isFolder: boolean): boolean {
    return this.judge(name, isFolder).tracked;
  }

  /** Returns true if the child is `.git` or lies beneath a `.git`. Returns false for a force-included child. */
  isGits(name: string): boolean {
    if (this.#forcedBy(name, true) !== undefined) return false;
    return name === GIT || this.#state.excludedBy?.rule === "git";
  }

  /**
   * Returns true if the child folder must be walked. This is so if the folder is tracked, or if something beneath it
   * may be force-included or tracked by git. In a walked folder that is not tracked itself, only paths of these two
   * kinds are tracked.
   */
  walks(name: string): boolean {
    const verdict = this.judge(name, true);
    return verdict.tracked || this.#forcing(name).length > 0 || this.#holdsTracked(verdict, name);
  }

  #holdsTracked({ rule }: Verdict, name: string): boolean {
    const { tracked } = this.#state.repository ?? {};
    if (tracked === undefined || rule !== "gitignore" || this.#exclusion(name, true) !== undefined) return false;
    return tracked.hasBeneath(this.#pathOf(name));
  }

  get repository(): RepositoryScope | undefined {
    return this.#state.repository;
  }

  #pathOf(name: string): string {
    const { path } = this.#state;
    return path === "" ? name : `${path}/${name}`;
  }

  judge(name: string, isFolder: boolean): Verdict {
    const forcedBy = this.#forcedBy(name, isFolder);
    if (forcedBy !== undefined) return { tracked: true, rule: "force-include", pattern: forcedBy.text };
    const verdict = this.#state.excludedBy ?? this.#exclusion(name, isFolder) ?? this.#byRules(name, isFolder);
    if (verdict.tracked || verdict.rule !== "gitignore") return verdict;
    const { tracked } = this.#state.repository ?? {};
    if (tracked === undefined || !tracked.has(this.#pathOf(name), isFolder)) return verdict;
    return this.#exclusion(name, isFolder) ?? { ...verdict, tracked: true, rule: "git-index" };
  }

  child(path: string, own: readonly Layer[], opened?: RepositoryScope): FolderScope {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const forcedBy = this.#forcedBy(name, true);
    const verdict = this.judge(name, true);
    const excludedBy = verdict.tracked ? undefined : verdict;
    const inGit = this.#state.inGit === true || name === GIT;
    const begun = excludedBy === undefined ? opened : undefined;
    const inheritsRules = forcedBy === undefined && excludedBy === undefined && begun?.isBoundary !== true;
    const outer = inheritsRules ? this.#outerLayers(name) : [];
    const layers = own.length > 0 && excludedBy === undefined ? [...outer, ...own] : outer;
    const next = { path, layers, repository: begun ?? this.#state.repository, inGit, forcedBy, excludedBy };
    return this.#isSame(next) ? this : new FolderScope(this.#filter, next);
  }

  #isSame(next: ScopeState): boolean {
    const now = this.#state;
    const flags =
      now.forcedBy === next.forcedBy && now.excludedBy === next.excludedBy && (now.inGit ?? false) === next.inGit;
    const isSameRepository = now.repository === next.repository && next.repository?.tracked === undefined;
    return flags && isSameRepository && now.layers === next.layers && !this.#filter.needsPath;
  }

  #outerLayers(name: string): readonly Layer[] {
    const { layers } = this.#state;
    if (layers.every((layer) => isSpent(layer.paths))) return layers;
    const bytes = byteText(name);
    const next = layers.map((layer) => ({ ...layer, paths: layer.rules.below(layer.paths, bytes) }));
    return next.filter((layer) => layer.rules.hasNames || !isSpent(layer.paths));
  }

  #forcing(name: string): readonly UserPattern[] {
    const { force } = this.#filter;
    return this.#state.inGit === true || name === GIT ? force.filter((pattern) => pattern.namesGit) : force;
  }

  #forcedBy(name: string, isFolder: boolean): UserPattern | undefined {
    if (this.#filter.force.length === 0) return undefined;
    const forcing = this.#forcing(name);
    const { forcedBy } = this.#state;
    if (forcedBy !== undefined && forcing.includes(forcedBy)) return forcedBy;
    return forcing.find((pattern) => this.#isNamed(pattern, name, isFolder));
  }

  #isNamed(pattern: UserPattern, name: string, isFolder: boolean): boolean {
    if (!pattern.isPart) return pattern.text === name;
    const { path } = this.#state;
    return `${path === "" ? "" : `/${path}`}/${name}${isFolder ? "/" : ""}`.includes(pattern.text);
  }

  #exclusion(name: string, isFolder: boolean): Verdict | undefined {
    if (name === GIT) return GIT_VERDICT;
    for (const pattern of this.#filter.exclude) {
      if (this.#isNamed(pattern, name, isFolder)) return { tracked: false, rule: "exclude", pattern: pattern.text };
    }
    for (const { text, glob } of this.#filter.globs) {
      if (matchName(glob, name)) return { tracked: false, rule: "exclude-glob", pattern: text };
    }
    return undefined;
  }

  #byRules(name: string, isFolder: boolean): Verdict {
    const { layers } = this.#state;
    if (layers.length === 0) return TRACKED;
    const bytes = byteText(name);
    for (let i = layers.length - 1; i >= 0; i -= 1) {
      const layer = layers[i];
      const rule = layer?.rules.find(bytes, isFolder, layer.paths);
      if (layer === undefined || rule === undefined) continue;
      const source = `${layer.source}:${rule.line}`;
      return { tracked: rule.negated, rule: "gitignore", pattern: rule.pattern, source };
    }
    return TRACKED;
  }
}

/**
 * A recorded filter in compiled form. The filter gives the same verdict on a path as a walk from the root to the path
 * with the same rules.
 */
export interface SpecFilter {
  /** The path is relative to the workspace's root; `""` is the root itself. */
  judge(path: string, isFolder: boolean): Verdict;
}

/** Compiles a recorded filter. The result caches the scopes of folders, so that many paths can be judged fast. */
export function compileSpec(spec: FilterSpec): SpecFilter {
  return new RecordedFilter(spec);
}

class RecordedFilter implements SpecFilter {
  readonly #filter: CompiledFilter;
  readonly #rules: ReadonlyMap<string, readonly RuleFile[]>;
  readonly #repositories: ReadonlyMap<string, RepositoryScope>;
  readonly #scopes = new Map<string, FolderScope>();

  constructor(spec: FilterSpec) {
    this.#filter = compileFilter(spec.options);
    this.#rules = Map.groupBy(spec.rules, (file) => file.folder);
    this.#repositories = new Map((spec.repositories ?? []).map((one) => [one.folder, recordedScope(one)]));
  }

  judge(path: string, isFolder: boolean): Verdict {
    if (path === "") return TRACKED;
    const slash = path.lastIndexOf("/");
    return this.#scope(slash < 0 ? "" : path.slice(0, slash)).judge(path.slice(slash + 1), isFolder);
  }

  #scope(folder: string): FolderScope {
    const found = this.#scopes.get(folder);
    if (found !== undefined) return found;
    let scope = this.#scopes.get("") ?? this.#enter(undefined, "");
    for (let at = folder === "" ? -1 : 0; at >= 0;) {
      at = folder.indexOf("/", at + 1);
      const path = at < 0 ? folder : folder.slice(0, at);
      scope = this.#scopes.get(path) ?? this.#enter(scope, path);
    }
    return scope;
  }

  #enter(parent: FolderScope | undefined, folder: string): FolderScope {
    const scope = this.#filter.enter(parent, folder, this.#rules.get(folder) ?? [], this.#repositories.get(folder));
    this.#scopes.set(folder, scope);
    return scope;
  }
}

function recordedScope({ folder, ignoreCase, tracked }: RepositoryRules): RepositoryScope {
  const paths = tracked.length === 0 ? undefined : new ListedPaths(tracked, ignoreCase);
  return { isBoundary: folder !== "", ignoreCase, tracked: paths };
}

const compiledSpecs = new WeakMap<FilterSpec, SpecFilter>();

/** Judges one path by a recorded filter. Callers that judge many paths use `compileSpec` and keep its result. */
export function explainPath(spec: FilterSpec, path: string, isFolder: boolean): Verdict {
  let compiled = compiledSpecs.get(spec);
  if (compiled === undefined) compiledSpecs.set(spec, (compiled = compileSpec(spec)));
  return compiled.judge(path, isFolder);
}
