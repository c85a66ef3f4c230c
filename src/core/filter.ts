/** What is left out of a capture, as the user said it. Recorded with each snapshot. */
export interface FilterOptions {
  /** Respect `.gitignore` files (nested ones too) and `.git/info/exclude`. */
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
  /** For example `src/.gitignore` or `.git/info/exclude`. */
  readonly source: string;
  readonly text: string;
}

/** A filter with everything that it depends on: the same value always gives the same answers. */
export interface FilterSpec {
  readonly options: FilterOptions;
  /** In order of precedence, lowest first: `info/exclude`, then outer folders before inner ones. */
  readonly rules: readonly RuleFile[];
}

/** Why a path is or is not tracked. */
export interface Verdict {
  readonly tracked: boolean;
  /** What decided: `default`, `force-include`, `exclude`, `exclude-glob`, `gitignore`, `git` (the `.git` folder). */
  readonly rule: "default" | "force-include" | "exclude" | "exclude-glob" | "gitignore" | "git";
  /** The pattern that decided and where it stands (`src/.gitignore:3`), for people. */
  readonly pattern?: string;
  readonly source?: string;
}
