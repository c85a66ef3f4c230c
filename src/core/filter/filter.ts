/** The user's rules for the paths that a capture leaves out. The rules are recorded with each snapshot. */
export interface FilterOptions {
  /**
   * True if ignore files are applied as in git: nested files, files of the repository above the root, `info/exclude`,
   * and the user's global ignore file.
   */
  readonly useGitignore: boolean;
  /**
   * A pattern without `/` matches a path if a component of the path equals the pattern. A pattern with `/` matches a
   * path that contains the pattern as a substring. For this comparison, every path gets a `/` at its beginning, and the
   * path of a folder also gets one at its end.
   */
  readonly excludePatterns: readonly string[];
  /** Globs that match the names of files and folders. */
  readonly excludeGlobs: readonly string[];
  /**
   * Patterns of the same form as `excludePatterns`. They take precedence over every other rule, with two exceptions.
   * Only a pattern with a component `.git` takes precedence over the rule that excludes `.git`. No pattern includes the
   * store itself.
   */
  readonly forceInclude: readonly string[];
}

/**
 * The limits of a capture: the maximum number of entries, the maximum total size in bytes, and the maximum size of one
 * file in bytes. 0 means no limit.
 */
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

/**
 * The filter of a hosted workspace. This filter excludes nothing, because everything that a program writes to a hosted
 * workspace is intended.
 */
export const EVERYTHING: FilterOptions = { ...DEFAULT_FILTER, useGitignore: false, forceInclude: [".git"] };

export const DEFAULT_LIMITS: CaptureLimits = { maxEntries: 300_000, maxBytes: 2 * 1024 ** 3, maxFileSize: 0 };

/** One ignore file that was in force. */
export interface RuleFile {
  /** The folder (relative to the root, `""` for the root) to whose contents the rules apply. */
  readonly folder: string;
  /**
   * The path, for example `src/.gitignore` or `.git/info/exclude`. A file outside of the root has its absolute path.
   */
  readonly source: string;
  /** The text. Lone surrogates stand for bytes that are not UTF-8, as in paths. */
  readonly text: string;
  /**
   * Set only if the patterns are anchored at a folder above the root: the path of the root relative to that folder,
   * such as `packages/x`.
   */
  readonly above?: string;
}

/** The facts about a git repository that are not in its ignore files. */
export interface RepositoryRules {
  /**
   * The folder (relative to the root) in which the repository begins. `""` if the repository begins at or above the
   * root. Rules of outer repositories do not apply in this folder.
   */
  readonly folder: string;
  /** True if rules and tracked paths are compared without regard to the case of ASCII letters (`core.ignoreCase`). */
  readonly ignoreCase: boolean;
  /**
   * Paths (relative to the root) that git tracks although its ignore rules match them. The filter does not exclude
   * these paths. A path that ends with `/` is a separate repository.
   */
  readonly tracked: readonly string[];
}

/** A filter with everything on which its verdicts depend. Equal values always give the same verdicts. */
export interface FilterSpec {
  readonly options: FilterOptions;
  /**
   * The rule files in order of precedence, lowest first: the user's global ignore file, `info/exclude`, and then the
   * ignore files of folders. The files of outer folders come before those of inner folders.
   */
  readonly rules: readonly RuleFile[];
  /**
   * The repositories with facts that are not in their ignore files. Records of earlier versions do not have this field.
   * For such a record, rules of outer repositories apply in every inner repository.
   */
  readonly repositories?: readonly RepositoryRules[];
}

/** The reason why a path is or is not tracked. */
export interface Verdict {
  readonly tracked: boolean;
  /**
   * The rule that decided: `default`, `force-include`, `exclude`, `exclude-glob`, `gitignore`, `git` (the `.git`
   * folder), `git-index` (git tracks the path, although `pattern` matches the path), `staging` (a name under which
   * Chronicle stages files; see `isStagingName`).
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
