import { compileGlob } from "../../core/filter/ignore-glob.ts";
import { accepts, advance, startState } from "../../core/filter/ignore-match.ts";
import { byteText } from "../../core/filter/ignore-rules.ts";
import { isGitTrue, parseGitConfig, type GitSetting } from "../../core/filter/git-config.ts";
import { foldCase } from "../../core/filter/tracked-paths.ts";
import type { UnappliedRules } from "../../core/records/coverage.ts";
import type { GitFiles } from "./git-files.ts";

const MOST_CONFIG_BYTES = 1024 * 1024;
/** The maximum depth of nested included files, as in git. */
const MOST_DEEP = 10;
const SYSTEM = "/etc/gitconfig";

export interface GitUser {
  /** The user's home folder. If the home folder is unknown, `~/.gitconfig` is not read. */
  readonly home?: string | undefined;
  /** The folder of the user's configurations, usually `~/.config`. */
  readonly configHome?: string | undefined;
  /** The id of the user for whom this process acts; `undefined` if the platform has no user ids. */
  readonly uid?: number | undefined;
}

/** The folders of a repository: absolute, with links resolved. */
export interface GitPlaces {
  /** The top of the working tree. */
  readonly top: string;
  readonly gitDir: string;
  /** The git folder that all working trees share. For the main working tree, it is the same folder as `gitDir`. */
  readonly commonDir: string;
}

export interface GitSettings {
  /**
   * The ignore file that git reads in addition to those in the repository: the path in `core.excludesFile`, else git's
   * default. `isOwn`: true if the repository's own configuration names the file.
   */
  readonly excludesFile: { readonly path: string; readonly isOwn: boolean } | undefined;
  readonly ignoreCase: boolean;
  /** The length of the hashes in the index: 20 for SHA-1, 32 for SHA-256. */
  readonly hashBytes: 20 | 32;
  /** How git stores the refs: `files`, unless `extensions.refStorage` says otherwise. */
  readonly refStorage: string;
  readonly isBare: boolean;
  /** `core.worktree`, absolute. */
  readonly workTree: string | undefined;
  /** Folders whose repositories the user trusts, even if another user owns them (`safe.directory`). */
  readonly safe: readonly string[];
  readonly problems: readonly UnappliedRules[];
}

/**
 * Returns the settings of a repository. The repository's own settings override the settings of the user. The user's
 * settings override the settings of the system.
 */
export function readGitSettings(files: GitFiles, user: GitUser, places: GitPlaces): GitSettings {
  const reader = new SettingsReader(files, user, places);
  reader.file(SYSTEM, "user");
  if (user.configHome !== undefined) reader.file(`${user.configHome}/git/config`, "user");
  if (user.home !== undefined) reader.file(`${user.home}/.gitconfig`, "user");
  reader.file(`${places.commonDir}/config`, "repository");
  if (reader.isTrue("extensions.worktreeconfig")) reader.file(`${places.gitDir}/config.worktree`, "repository");
  return reader.settings();
}

/**
 * The people and programs that can write a configuration file. `user`: only the user. `repository`: anybody who works
 * in the repository, including an agent.
 */
type Whose = "user" | "repository";

interface Said extends GitSetting {
  readonly whose: Whose;
  /** The folder of the file that contains the setting. */
  readonly folder: string;
}

const WANTED: ReadonlySet<string> = new Set([
  ...["core.excludesfile", "core.ignorecase", "core.bare", "core.worktree"],
  ...["extensions.objectformat", "extensions.refstorage", "extensions.worktreeconfig", "safe.directory"],
]);

class SettingsReader {
  readonly #files: GitFiles;
  readonly #user: GitUser;
  readonly #places: GitPlaces;
  readonly #said: Said[] = [];
  readonly #problems: UnappliedRules[] = [];

  constructor(files: GitFiles, user: GitUser, places: GitPlaces) {
    this.#files = files;
    this.#user = user;
    this.#places = places;
  }

  file(path: string, whose: Whose, deep = 0): void {
    for (const setting of this.#settingsIn(path, whose)) {
      const { name, value } = setting;
      if (WANTED.has(name)) this.#said.push({ ...setting, whose, folder: folderOf(path) });
      const condition = /^includeif\.(.*)\.path$/s.exec(name)?.[1];
      if (value === undefined || (name !== "include.path" && condition === undefined)) continue;
      this.#include({ path, whose, deep, value, condition });
    }
  }

  #settingsIn(path: string, whose: Whose): readonly GitSetting[] {
    // A user's dotfiles are often links, so links are followed. Files that an agent can write are read without
    // following links.
    const real = whose === "user" ? (this.#files.stat(path) === undefined ? undefined : this.#files.real(path)) : path;
    const found = real === undefined ? undefined : this.#files.text(real, MOST_CONFIG_BYTES);
    if (found === undefined) return [];
    if ("problem" in found) {
      this.#problems.push({ source: path, detail: found.problem });
      return [];
    }
    const { settings, damaged } = parseGitConfig(found.text);
    if (damaged !== undefined) this.#problems.push({ source: path, detail: `line ${damaged} is no git configuration` });
    return settings;
  }

  #include(given: {
    readonly path: string;
    readonly whose: Whose;
    readonly deep: number;
    readonly value: string;
    readonly condition: string | undefined;
  }): void {
    const { path, whose, deep, value, condition } = given;
    const file = this.#resolved(value, folderOf(path));
    if (file === undefined) return;
    const isTaken = condition === undefined ? true : this.#holds(condition, folderOf(path));
    if (isTaken === false) return;
    const source = `${path} (include ${value})`;
    if (deep >= MOST_DEEP) this.#problems.push({ source, detail: "includes go too deep" });
    else if (whose === "repository" && !this.isInside(file)) this.#problems.push({ source, detail: OUTSIDE });
    else if (isTaken === true) this.file(file, whose, deep + 1);
    else if (this.#settingsIn(file, whose).some(({ name }) => WANTED.has(name))) {
      this.#problems.push({ source, detail: `the condition ${condition ?? ""} is not supported` });
    }
  }

  /** True if an `includeIf` condition holds; `undefined` if the condition cannot be evaluated. */
  #holds(condition: string, folder: string): boolean | undefined {
    const [, ignoreCase, given = ""] = /^gitdir(\/i)?:(.*)$/s.exec(condition) ?? [];
    if (given === "") return undefined;
    const anchored = given.startsWith("./") ? `${folder}${given.slice(1)}` : (this.#expanded(given) ?? given);
    const whole = anchored.startsWith("/") ? anchored : `**/${anchored}`;
    const glob = compileGlob(byteText(whole.endsWith("/") ? `${whole}**` : whole), true, ignoreCase !== undefined);
    if (glob === undefined) return false;
    const text = byteText(this.#places.gitDir);
    return accepts(glob, advance(glob, startState(glob), ignoreCase === undefined ? text : foldCase(text)));
  }

  /**
   * True if the path lies in the repository. The repository's own configuration may name only such files, because any
   * other file could reveal something from outside of the repository.
   */
  isInside(path: string): boolean {
    if (path.split("/").some((part) => part === ".." || part === ".")) return false;
    const { top, gitDir, commonDir } = this.#places;
    return [top, gitDir, commonDir].some((folder) => path.startsWith(`${folder}/`));
  }

  #resolved(value: string, folder: string): string | undefined {
    if (value === "") return undefined;
    const path = this.#expanded(value);
    if (path === undefined) return undefined;
    return path.startsWith("/") ? path : `${folder}/${path}`;
  }

  /**
   * Returns the path with `~` expanded; `undefined` for another user's home, for git's installation folder, or if this
   * user's home is unknown.
   */
  #expanded(value: string): string | undefined {
    if (value === "~" || value.startsWith("~/")) {
      return this.#user.home === undefined ? undefined : `${this.#user.home}${value.slice(1)}`;
    }
    return value.startsWith("~") || value.startsWith("%(prefix)") ? undefined : value;
  }

  #last(name: string): Said | undefined {
    return this.#said.findLast((one) => one.name === name);
  }

  isTrue(name: string): boolean {
    const said = this.#last(name);
    return said !== undefined && isGitTrue(said.value) === true;
  }

  settings(): GitSettings {
    const excludesFile = this.#excludesFile();
    const workTree = this.#last("core.worktree")?.value;
    return {
      excludesFile,
      ignoreCase: this.isTrue("core.ignorecase"),
      hashBytes: this.#last("extensions.objectformat")?.value?.toLowerCase() === "sha256" ? 32 : 20,
      refStorage: this.#last("extensions.refstorage")?.value?.toLowerCase() ?? "files",
      isBare: this.isTrue("core.bare"),
      workTree: workTree === undefined ? undefined : this.#resolved(workTree, this.#places.gitDir),
      safe: this.#safe(),
      problems: this.#problems,
    };
  }

  #excludesFile(): GitSettings["excludesFile"] {
    const said = this.#last("core.excludesfile");
    const { configHome } = this.#user;
    if (said === undefined) {
      return configHome === undefined ? undefined : { path: `${configHome}/git/ignore`, isOwn: false };
    }
    if (said.value === undefined || said.value === "") return undefined;
    const path = this.#resolved(said.value, this.#places.top);
    const source = `core.excludesFile = ${said.value}`;
    if (path === undefined) this.#problems.push({ source, detail: "a path of this kind is not supported" });
    else if (said.whose === "user" || this.isInside(path)) return { path, isOwn: said.whose === "repository" };
    else this.#problems.push({ source, detail: OUTSIDE });
    return undefined;
  }

  #safe(): string[] {
    let safe: string[] = [];
    for (const { name, value, whose } of this.#said) {
      if (name !== "safe.directory" || whose !== "user") continue;
      safe = value === undefined || value === "" ? [] : [...safe, this.#expanded(value) ?? value];
    }
    return safe;
  }
}

const OUTSIDE =
  "the repository's own configuration names it, and it lies outside of the repository: an agent could have written that";

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
