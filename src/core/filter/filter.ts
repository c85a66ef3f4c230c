/** What is left out of a capture, as the user said it. Recorded with each snapshot. */
export interface FilterOptions {
  /** Respect ignore files as git does: nested ones, those of the repository above the root, `info/exclude`, and the user's own. */
  readonly useGitignore: boolean;
  /** Without `/`: equals a path component. With `/`: a substring of the path. */
  readonly excludePatterns: readonly string[];
  /** Globs that match file names. */
  readonly excludeGlobs: readonly string[];
  /** Same form as `excludePatterns`; wins over every exclusion except the store itself. */
  readonly forceInclude: readonly string[];
}

/** The limits of a capture; 0 means none. */
export interface CaptureLimits {
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly maxFileSize: number;
}

export const DEFAULT_FILTER: FilterOptions = {
  useGitignore: true,
  excludePatterns: [],
  excludeGlobs: [],
  forceInclude: [],
};

/** Leaves nothing out: what a program writes into a workspace without a folder is what it meant. */
export const EVERYTHING: FilterOptions = { ...DEFAULT_FILTER, useGitignore: false, forceInclude: [".git"] };

export const DEFAULT_LIMITS: CaptureLimits = { maxEntries: 300_000, maxBytes: 2 * 1024 ** 3, maxFileSize: 0 };

/** One ignore file that was in force: the folder that it rules, its path as shown to people, its text. */
export interface RuleFile {
  /** Folder (relative to the root, `""` for the root) whose contents the rules match. */
  readonly folder: string;
  /** For example `src/.gitignore` or `.git/info/exclude`; of a file outside of the root its absolute path. */
  readonly source: string;
  /** Bytes that are not UTF-8 are lone surrogates, as in paths. */
  readonly text: string;
  /** Of a file whose rules begin above the root: the way from there down to the root, such as `packages/x`. */
  readonly above?: string;
}

/** What a git repository says beyond its ignore files. */
export interface RepositoryRules {
  /**
   * The folder (relative to the root) in which it begins; `""` also where it begins above the root. No rule of an outer repository
   * holds in it.
   */
  readonly folder: string;
  /** Rules and tracked paths are compared without the case of ASCII letters (`core.ignoreCase`). */
  readonly ignoreCase: boolean;
  /**
   * Paths (relative to the root) that git tracks although its ignore rules leave them out: they are not left out. A path that ends
   * with `/` is a repository of its own.
   */
  readonly tracked: readonly string[];
}

/** A filter with everything that it depends on: the same value always gives the same answers. */
export interface FilterSpec {
  readonly options: FilterOptions;
  /** In order of precedence, lowest first: the user's own, `info/exclude`, then outer folders before inner ones. */
  readonly rules: readonly RuleFile[];
  /** Those of which there is more to know than their ignore files. Not there in older records: there outer rules hold in each. */
  readonly repositories?: readonly RepositoryRules[];
}

/** Why a path is or is not tracked. */
export interface Verdict {
  readonly tracked: boolean;
  /** What decided: `default`, `force-include`, `exclude`, `exclude-glob`, `gitignore`, `git` (the `.git` folder), `git-index` (git tracks it, although `pattern` would leave it out). */
  readonly rule: "default" | "force-include" | "exclude" | "exclude-glob" | "gitignore" | "git" | "git-index";
  /** The pattern that decided and where it stands (`src/.gitignore:3`), for people. */
  readonly pattern?: string;
  readonly source?: string;
}
