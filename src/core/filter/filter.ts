/** The user's rules for the paths that a capture leaves out. Recorded with each snapshot. */
export interface FilterOptions {
  /**
   * True to respect ignore files as git does: nested ones, those of the repository above the root, `info/exclude`, and
   * the user's own.
   */
  readonly useGitignore: boolean;
  /** A pattern without `/` equals a path component; one with `/` is a substring of the path. */
  readonly excludePatterns: readonly string[];
  /** Globs that match file names. */
  readonly excludeGlobs: readonly string[];
  /**
   * Same form as `excludePatterns`. Wins over every other rule, but over that for `.git` only if the pattern has a
   * component `.git`. Never includes the store itself.
   */
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

/** Excludes nothing: everything that a program writes into a workspace without a folder is intended. */
export const EVERYTHING: FilterOptions = { ...DEFAULT_FILTER, useGitignore: false, forceInclude: [".git"] };

export const DEFAULT_LIMITS: CaptureLimits = { maxEntries: 300_000, maxBytes: 2 * 1024 ** 3, maxFileSize: 0 };

/** One ignore file that was in force: the folder it applies to, its path as shown to people, and its text. */
export interface RuleFile {
  /** Folder (relative to the root, `""` for the root) whose contents the rules match. */
  readonly folder: string;
  /** For example `src/.gitignore` or `.git/info/exclude`; for a file outside of the root, its absolute path. */
  readonly source: string;
  /** Bytes that are not UTF-8 are lone surrogates, as in paths. */
  readonly text: string;
  /** For a file whose rules begin above the root: the path from there down to the root, such as `packages/x`. */
  readonly above?: string;
}

/** The facts about a git repository beyond its ignore files. */
export interface RepositoryRules {
  /**
   * The folder (relative to the root) in which it begins; `""` also if it begins above the root. No rule of an outer
   * repository applies in it.
   */
  readonly folder: string;
  /** True if rules and tracked paths are compared without the case of ASCII letters (`core.ignoreCase`). */
  readonly ignoreCase: boolean;
  /**
   * Paths (relative to the root) that git tracks although its ignore rules exclude them: they are not excluded. A path
   * that ends with `/` is a repository of its own.
   */
  readonly tracked: readonly string[];
}

/** A filter with everything that it depends on: the same value always gives the same answers. */
export interface FilterSpec {
  readonly options: FilterOptions;
  /** In order of precedence, lowest first: the user's own, `info/exclude`, then outer folders before inner ones. */
  readonly rules: readonly RuleFile[];
  /**
   * The repositories with facts beyond their ignore files. Missing in older records, where outer rules apply in every
   * repository.
   */
  readonly repositories?: readonly RepositoryRules[];
}

/** The reason why a path is or is not tracked. */
export interface Verdict {
  readonly tracked: boolean;
  /**
   * The rule that decided: `default`, `force-include`, `exclude`, `exclude-glob`, `gitignore`, `git` (the `.git`
   * folder), `git-index` (git tracks it, although `pattern` would exclude it), `staging` (a name under which Chronicle
   * stages files; see `isStagingName`).
   */
  readonly rule:
    | "default"
    | "force-include"
    | "exclude"
    | "exclude-glob"
    | "gitignore"
    | "git"
    | "git-index"
    | "staging";
  /** The pattern that decided, and its location (`src/.gitignore:3`), for messages. */
  readonly pattern?: string;
  readonly source?: string;
}
