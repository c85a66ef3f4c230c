import type { UnappliedRules } from "../../core/records/coverage.ts";
import { DEFAULT_FILTER, type RuleFile } from "../../core/filter/filter.ts";
import { MAX_RULE_FILE_BYTES } from "../../core/filter/ignore-rules.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import type { TreePlace } from "../../core/filter/tracked-paths.ts";
import { folderOfGitFile } from "./git-file.ts";
import type { GitFiles } from "./git-files.ts";
import type { GitFolders } from "./git-folders.ts";
import { readGitSettings, type GitPlaces, type GitSettings, type GitUser } from "./git-settings.ts";

/**
 * The maximum number of bytes that are read of an ignore file. This number is one byte more than the allowed size, so
 * that the filter can report a file that is too long.
 */
export const MOST_RULE_BYTES = MAX_RULE_FILE_BYTES + 1;

/**
 * The maximum number of bytes that are read of a `.git` file, a `commondir` or a `HEAD`. Each of these files has one
 * line.
 */
const MOST_LINK_BYTES = 64 * 1024;

export interface GitNow {
  readonly files: GitFiles;
  readonly user: GitUser;
  readonly folders: GitFolders;
}

/** A repository whose working tree contains the root or begins beneath it. */
export interface GitRepository extends GitPlaces {
  readonly place: TreePlace;
  readonly settings: GitSettings;
}

/**
 * The result of a search: a repository, the reason why a repository's rules are not applied, or `undefined` for no
 * repository.
 */
export type FoundRepository = GitRepository | { readonly problem: UnappliedRules } | undefined;

interface ReadRepository {
  readonly found: FoundRepository;
  /** The folders in which git keeps the state of the repository. */
  readonly folders: readonly string[];
}

/** Finds the repositories of one root in the way that git finds them. */
export class RepositoryFinder {
  readonly #files: GitFiles;
  readonly #user: GitUser;
  readonly #root: string;
  readonly #folders: GitFolders;

  constructor({ files, user, folders }: GitNow, root: string) {
    this.#files = files;
    this.#user = user;
    this.#root = root;
    this.#folders = folders;
  }

  /**
   * Finds the repository that contains the root. The repository begins in the root itself, or in the nearest folder
   * above in which a repository begins. The search does not leave the file system of the root.
   */
  atRoot(): FoundRepository {
    const device = this.#files.stat(this.#root)?.dev;
    let top = this.#root;
    for (let above = ""; ;) {
      const found = this.#open(top, { folder: "", above });
      if (found !== undefined) return found;
      const slash = top.lastIndexOf("/");
      if (slash < 0 || top === "/") return undefined;
      const name = top.slice(slash + 1);
      above = above === "" ? name : `${name}/${above}`;
      top = top.slice(0, slash) || "/";
      if (this.#files.stat(top)?.dev !== device) return undefined;
    }
  }

  beneath(folder: string): FoundRepository {
    return this.#open(`${this.#root}/${folder}`, { folder, above: "" });
  }

  #open(top: string, place: TreePlace): FoundRepository {
    const name = `${top === "/" ? "" : top}/.git`;
    const kind = this.#files.stat(name)?.kind;
    if (kind === undefined || kind === "special") return undefined;
    const { found, folders } = this.#files.remembered(`${this.#root}\0${top}`, () => this.#read(top, name, place));
    for (const own of folders) this.#folders.add(own);
    return found;
  }

  #read(top: string, name: string, place: TreePlace): ReadRepository {
    const source = place.folder === "" ? name : `${place.folder}/.git`;
    const stat = this.#files.stat(name);
    const real = stat?.kind === "symlink" ? this.#files.real(name) : name;
    if (real === undefined) return { found: undefined, folders: [] };
    const kind = stat?.kind === "symlink" ? this.#files.stat(real)?.kind : stat?.kind;
    const gitDir = kind === "file" ? this.#linked(real, top) : real;
    const commonDir = gitDir === undefined ? undefined : this.#commonDir(gitDir);
    // As in git, the search passes over a `.git` folder that is no repository, but ends at a `.git` file that leads to
    // no repository.
    if (gitDir === undefined || commonDir === undefined) {
      const problem = { source, detail: "it leads to no git repository" };
      return { found: kind === "file" ? { problem } : undefined, folders: [] };
    }
    const folders = [...new Set([gitDir, commonDir])];
    const settings = readGitSettings(this.#files, this.#user, { top, gitDir, commonDir });
    const problem = this.#refusal({ top, gitDir, commonDir }, settings);
    if (problem === "") return { found: undefined, folders };
    if (problem !== undefined) return { found: { problem: { source, detail: problem } }, folders };
    return { found: { top, gitDir, commonDir, place, settings }, folders };
  }

  /** Returns the path to which a `.git` file leads; `undefined` if the file names no path that exists. */
  #linked(file: string, top: string): string | undefined {
    const found = this.#files.text(file, MOST_LINK_BYTES);
    const path = found === undefined || "problem" in found ? undefined : folderOfGitFile(top, found.text);
    return path === undefined ? undefined : this.#files.real(path);
  }

  /** Returns the git folder that all working trees of a repository share; `undefined` if `gitDir` is no git folder. */
  #commonDir(gitDir: string): string | undefined {
    const found = this.#files.text(`${gitDir}/commondir`, MOST_LINK_BYTES);
    if (found !== undefined && "problem" in found) return undefined;
    const path = found?.text.replace(/[\r\n]+$/, "");
    const common = path === undefined ? gitDir : this.#files.real(path.startsWith("/") ? path : `${gitDir}/${path}`);
    if (common === undefined || !this.#isHead(`${gitDir}/HEAD`)) return undefined;
    const isWhole = ["objects", "refs"].every((name) => isFolder(this.#files, `${common}/${name}`));
    return isWhole ? common : undefined;
  }

  #isHead(file: string): boolean {
    if (this.#files.stat(file)?.kind === "symlink") return true;
    const found = this.#files.text(file, MOST_LINK_BYTES);
    return found !== undefined && "text" in found && /^(?:ref:\s*refs\/|[0-9a-f]{40})/.test(found.text);
  }

  /**
   * Returns the reason why the rules of a repository are not applied, for people. Returns `""` if the repository has no
   * working tree, and `undefined` if the rules are applied.
   */
  #refusal(places: GitPlaces, { isBare, workTree, safe }: GitSettings): string | undefined {
    const { top, gitDir, commonDir } = places;
    if (isBare && gitDir === commonDir) return "";
    if (workTree !== undefined && this.#files.real(workTree) !== this.#files.real(top)) {
      return `core.worktree names another folder than ${top}`;
    }
    if (this.#isTrusted(places) || safe.includes("*") || safe.includes(top)) return undefined;
    if (safe.some((one) => one.endsWith("/*") && top.startsWith(one.slice(0, -1)))) return undefined;
    return "the repository belongs to another user; where you trust it, say so with git config --global safe.directory";
  }

  /**
   * True if each folder of the repository that lies outside of the root belongs to the user for whom this process acts.
   * If this user is the superuser, folders of the root's owner are trusted, too. Also true if this user is unknown.
   */
  #isTrusted({ top, gitDir, commonDir }: GitPlaces): boolean {
    const { uid } = this.#user;
    const outside = [top, gitDir, commonDir].filter(
      (path) => path !== this.#root && !path.startsWith(`${this.#root}/`),
    );
    if (uid === undefined) return true;
    const trusted = uid === 0 ? [0, this.#files.stat(this.#root)?.uid] : [uid];
    return outside.every((path) => trusted.includes(this.#files.stat(path)?.uid));
  }
}

/**
 * Returns the ignore files of a repository that lie outside of the root or in the git folder, lowest precedence first.
 * `problems` names the files that cannot be used. `isOwnExclude`: true if the exclude file lies in the root. That file
 * is then left out, because it is read together with the root's ignore files.
 */
export function repositoryRules(
  files: GitFiles,
  repository: GitRepository,
  isOwnExclude: boolean,
): { readonly rules: readonly RuleFile[]; readonly problems: readonly UnappliedRules[] } {
  const { place, settings, commonDir, top } = repository;
  const { excludesFile } = settings;
  const rules: RuleFile[] = [];
  const problems: UnappliedRules[] = [];
  const take = (source: string, path: string | undefined, above: string): void => {
    const found = path === undefined ? undefined : files.text(path, MOST_RULE_BYTES);
    if (found === undefined) return;
    if ("problem" in found) problems.push({ source, detail: found.problem });
    else rules.push({ folder: place.folder, source, text: found.text, ...(above === "" ? {} : { above }) });
  };
  if (excludesFile !== undefined) {
    const { path, isOwn } = excludesFile;
    // A person's own file is often a link, so links are followed. If the repository's configuration names the file, no
    // link is followed, because an agent may have written that configuration.
    const isThere = files.stat(path) !== undefined;
    take(path, isOwn || !isThere ? path : files.real(path), place.above);
  }
  if (!isOwnExclude) take(`${commonDir}/info/exclude`, `${commonDir}/info/exclude`, place.above);
  if (place.above === "") return { rules, problems };
  const names = place.above.split("/");
  for (let i = 0; i < names.length; i += 1) {
    const file = `${[top === "/" ? "" : top, ...names.slice(0, i)].join("/")}/.gitignore`;
    take(file, file, names.slice(i).join("/"));
  }
  return { rules, problems };
}

/**
 * Returns, for people, the rule that leaves out the root or a folder above the root; `undefined` if there is no such
 * rule. The root is tracked in spite of such a rule, because a person has chosen it.
 */
export function ruleOnRoot(rules: readonly RuleFile[], { place, settings }: GitRepository): string | undefined {
  const names = place.above.split("/");
  const fromTop = rules.map((file) => ({ ...file, folder: folderOf(names, file.above), above: undefined }));
  const plain = fromTop.map(({ folder, source, text }) => ({ folder, source, text }));
  const repositories = [{ folder: "", ignoreCase: settings.ignoreCase, tracked: [] }];
  const { tracked, pattern, source } = explainPath(
    { options: DEFAULT_FILTER, rules: plain, repositories },
    place.above,
    true,
  );
  return tracked ? undefined : `${pattern ?? ""} (${source ?? ""})`;
}

/**
 * Returns the folder of an ignore file, relative to the repository's top. `names`: the names of the folders from the
 * top to the root. `above`: the path from the folder of the ignore file to the root.
 */
function folderOf(names: readonly string[], above = ""): string {
  return names.slice(0, names.length - above.split("/").length).join("/");
}

function isFolder(files: GitFiles, path: string): boolean {
  const kind = files.stat(path)?.kind;
  if (kind !== "symlink") return kind === "dir";
  const real = files.real(path);
  return real !== undefined && files.stat(real)?.kind === "dir";
}
