import { parseGitIndex, UnusableIndex } from "../../core/filter/git-index.ts";
import {
  GIT_FILE,
  type GitChange,
  type GitFolder,
  type GitItem,
  isGitHash,
  isGitRef,
  type GitState,
  parseIndexValue,
} from "../../core/records/git-record.ts";
import { parseReflog, type ReflogLine } from "../../core/records/git-reflog.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { decodeName, parentOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { optional } from "../../util/optional.ts";
import type {
  ApplyGit,
  ContentOf,
  GitPlace,
  GitReading,
  GitStates,
  KeepBudget,
  KeepContent,
  KeepFolders,
  KeepLost,
  KeptObjects,
  LostGit,
} from "../git-states.ts";
import type { TrackedRoot } from "../worktree.ts";
import { applyGitState, MOVED } from "./apply-git-state.ts";
import { GitFiles } from "./git-files.ts";
import { findRepositories, identityOf, type RepositoryPlace } from "./find-repositories.ts";
import {
  folderOfGitFile,
  gitFileValue,
  isOfGitFile,
  nameOfRepository,
  putGitFile,
  readGitFile,
  withValue,
} from "./git-file.ts";
import type { GitRepository } from "./git-repository.ts";
import type { GitUser } from "./git-settings.ts";
import { type GitFolderPair, UnreadableGit } from "./git-folder-pair.ts";
import { collectKept, type FolderMemory, keptObjects, KeptFolders } from "./kept-folders.ts";
import { isLost, lostFolder } from "./lost-folder.ts";
import { GitStateReader } from "./read-git-state.ts";
import { readHeadLog } from "./read-head-log.ts";
import { type GitCommand, type GitOutput, type RunGit, safeGit } from "./run-git.ts";
import { NotingFs, SeenPaths } from "./seen-paths.ts";
import { STASH_LOG } from "./table-refs.ts";
import { normalize } from "node:path";

export interface DiskGitOptions {
  readonly disk: Disk;
  readonly roots: () => readonly TrackedRoot[];
  /** Returns the folders within the roots in which repositories may begin. Default: none. */
  readonly nested?: () => readonly WorkspacePath[];
  readonly user: GitUser;
  readonly run: RunGit;
  /** Milliseconds since the epoch, by the clock that sets file times. */
  readonly clock: () => number;
  readonly newId: () => string;
  /**
   * The absolute path of a private folder of the store, in which git folders are kept. The folder need not exist.
   * Default: no git folders are kept.
   */
  readonly keptFolders?: string;
}

interface OpenRepository extends GitFolderPair {
  readonly reader: GitStateReader;
}

/** The state of a repository, and the paths that were looked at to read it. */
interface KnownState {
  readonly of: OpenRepository;
  readonly state: GitState;
  readonly seen: SeenPaths;
}

/** The limits, in milliseconds and bytes, for keeping the objects that one command made unreachable. */
const MOST_KEEP_MS = 10_000;
const MOST_KEPT_BYTES = 64 * 1024 ** 2;
const TOO_LONG = "git needs more than 10 seconds for them";

/** The repositories in the folders of a workspace on a disk. */
export class DiskGitStates implements GitStates {
  readonly #options: DiskGitOptions;
  readonly #files: GitFiles;
  readonly #open = new Map<WorkspacePath, OpenRepository>();
  readonly #states = new Map<WorkspacePath, KnownState>();
  readonly #wholes = new WeakMap<GitState, GitState>();
  readonly #folders: FolderMemory = new Map();
  #isForgotten = false;

  constructor(options: DiskGitOptions) {
    this.#options = options;
    this.#files = new GitFiles(options.disk, options.clock);
  }

  nested(): readonly WorkspacePath[] {
    return this.#options.nested?.() ?? [];
  }

  look(): readonly GitPlace[] {
    return this.#find().map(({ path, found }) => {
      if (typeof found === "string") return { path, problem: found };
      try {
        return { path, head: this.#opened(path, found).reader.head() };
      } catch (error) {
        if (error instanceof UnreadableGit) return { path, problem: error.message };
        throw error;
      }
    });
  }

  async read(keep: KeepContent, how?: KeepFolders): Promise<GitReading> {
    const states: GitState[] = [];
    const notes: string[] = [];
    const folders = how === undefined ? undefined : this.#keptFolders(how);
    // All repositories are compared with what is remembered before the first one is read, so that each path that
    // several of them share is looked at only once.
    const found = this.#files.atOnce(() => this.#find().map((place) => ({ ...place, ...this.#known(place, folders) })));
    for (const { path, found: repository, state, folder } of found) {
      try {
        if (typeof repository === "string") throw new UnreadableGit(repository);
        const now = state ?? (await this.#readState({ path, found: repository }, keep));
        // A git folder outside of the working tree is not removed together with the working tree, so it is not kept.
        const isKept = !now.values.has(GIT_FILE) && repository.gitDir === this.#absolute(path);
        if (folders === undefined || !isKept) states.push(now);
        else {
          const kept = folder ?? (await folders.keep(path, this.#opened(path, repository), keep));
          states.push(this.#whole(now, kept));
        }
      } catch (error) {
        if (!(error instanceof UnreadableGit)) throw error;
        notes.push(`the state of ${nameOfRepository(path)} is not recorded: ${error.message}`);
      }
    }
    await folders?.drop();
    if (folders !== undefined) this.#isForgotten = false;
    return { states, notes };
  }

  /** Returns what is remembered of a repository and has not changed since. */
  #known(
    { path, found }: RepositoryPlace,
    folders: KeptFolders | undefined,
  ): { readonly state?: GitState; readonly folder?: GitFolder } {
    const known = this.#states.get(path);
    if (known === undefined || typeof found === "string" || this.#opened(path, found) !== known.of) return {};
    const state = known.seen.areStill(this.#files) ? known.state : undefined;
    return optional({ state, folder: folders?.unchanged(path, this.#files) });
  }

  /** Reads the state of a repository, with the `.git` file that leads to it. */
  async #readState(
    { path, found }: { readonly path: WorkspacePath; readonly found: GitRepository },
    keep: KeepContent,
  ): Promise<GitState> {
    const repository = this.#opened(path, found);
    const root = this.#rootOf(path);
    const seen = new SeenPaths(this.#nowNs());
    const stops = [root, repository.own, repository.common].map((fs) => fs.noteIn(seen));
    try {
      this.#states.delete(path);
      const read = await repository.reader.read(path, keep);
      const file = readGitFile(root, path);
      const state = file === undefined ? read : withValue(read, GIT_FILE, await keep(file));
      if (seen.settle()) this.#states.set(path, { of: repository, state, seen });
      return state;
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Returns a state with its git folder. Returns the same object as the last time if both parts are the same objects. */
  #whole(state: GitState, folder: GitFolder): GitState {
    const known = this.#wholes.get(state);
    if (known?.folder === folder) return known;
    const whole = { ...state, folder };
    this.#wholes.set(state, whole);
    return whole;
  }

  async giveUpFolders(isIdle: KeepFolders["isIdle"]): Promise<void> {
    await this.#keptFolders({ isIdle, erased: new Set() })?.drop();
  }

  async collectFolders(isIdle: KeepFolders["isIdle"]): Promise<number> {
    const { disk, keptFolders: place } = this.#options;
    if (place === undefined || disk.lstat(place)?.kind !== "dir") return 0;
    return collectKept({ disk, place, isIdle, nowNs: () => this.#nowNs() }, (path) => this.#absolute(path));
  }

  #keptFolders(how: KeepFolders): KeptFolders | undefined {
    const { disk, keptFolders: place } = this.#options;
    if (place === undefined) return undefined;
    const nowNs = (): bigint => this.#nowNs();
    return new KeptFolders({ ...how, disk, place, nowNs, isForgotten: this.#isForgotten, memory: this.#folders });
  }

  async lost(state: GitState, keep: KeepLost): Promise<LostGit | undefined> {
    const { disk, keptFolders } = this.#options;
    if (state.folder === undefined || keptFolders === undefined) return undefined;
    const kept = keptObjects(disk, keptFolders, state.path);
    const found = { disk, gitDir: this.#absolute(state.path), folder: state.folder, kept };
    return isLost(found) ? lostFolder(found, state, keep) : undefined;
  }

  #absolute(path: WorkspacePath): string {
    return `${this.#rootOf(path).root}/${splitRoot(path).path}`;
  }

  #nowNs(): bigint {
    return BigInt(Math.floor(this.#options.clock())) * 1_000_000n;
  }

  /** Returns the tracked folder in which a path lies. */
  #rootOf(path: WorkspacePath): NotingFs {
    const { disk, roots } = this.#options;
    const { root: id } = splitRoot(path);
    return new NotingFs(disk, roots().find((root) => root.id === id)?.folder ?? "");
  }

  async valuesOf(path: WorkspacePath, names: readonly string[]): Promise<ReadonlyMap<string, string> | undefined> {
    if (isOfGitFile(names)) return gitFileValue(this.#rootOf(path), path);
    const repository = this.#at(path);
    if (repository === undefined) return undefined;
    const values = new Map<string, string>();
    try {
      for (const name of names) {
        const value = await repository.reader.valueOf(name);
        if (value !== undefined) values.set(name, value);
      }
      return values;
    } catch (error) {
      if (error instanceof UnreadableGit || errnoOf(error) !== undefined) return undefined;
      throw error;
    } finally {
      repository.own.release();
      repository.common.release();
    }
  }

  leads(path: WorkspacePath, content: Buffer): boolean {
    const { path: inner } = splitRoot(parentOf(path));
    const folder = folderOfGitFile(`${this.#rootOf(path).root}/${inner}`, decodeName(content));
    // `..` is resolved here, and not by the system, because the folder that contains the file may not exist.
    const real = folder === undefined ? undefined : this.#files.real(normalize(folder));
    return real !== undefined && this.#files.peek(real)?.kind === "dir";
  }

  headLog(path: WorkspacePath): readonly ReflogLine[] {
    const repository = this.#at(path);
    if (repository === undefined) return [];
    try {
      const tabled = repository.reader.tables?.headLog();
      return tabled === undefined ? readHeadLog(repository.own) : parseReflog(tabled);
    } catch (error) {
      if (error instanceof UnreadableGit || errnoOf(error) !== undefined) return [];
      throw error;
    } finally {
      repository.own.release();
    }
  }

  forget(): void {
    this.#isForgotten = true;
    this.#open.clear();
    this.#states.clear();
    this.#folders.clear();
  }

  async objectsOf(items: readonly GitItem[], contentOf: ContentOf): Promise<readonly string[]> {
    const objects = new Set<string>();
    for (const { name, before } of items) for (const one of await objectsIn(name, before, contentOf)) objects.add(one);
    for (const { name, after } of items) {
      // Git's garbage collection keeps the objects that refs, the index and reflogs name, but not those that ORIG_HEAD
      // or MERGE_HEAD names.
      if (!isGitRef(name) && name !== "index" && name !== STASH_LOG) continue;
      for (const one of await objectsIn(name, after, contentOf)) objects.delete(one);
    }
    return [...objects];
  }

  keepBudget(): KeepBudget {
    return { until: this.#options.clock() + MOST_KEEP_MS, leftBytes: MOST_KEPT_BYTES };
  }

  async pack(path: WorkspacePath, objects: readonly string[], budget: KeepBudget): Promise<KeptObjects> {
    const repository = this.#at(path);
    if (repository === undefined || objects.length === 0) return { lacking: 0 };
    const gitDir = repository.own.root;
    // `--missing=print` also keeps git from asking a server for objects that a partial clone lacks.
    const listing = ["rev-list", "--objects", "--ignore-missing", "--missing=print", "--stdin", "--not", "--all"];
    // The command may have removed objects of which a copy was kept before the command.
    const withKept = this.#withKeptObjects(path);
    const input = Buffer.from(`${objects.join("\n")}\n`);
    const listed = await this.#runWithin(budget, withKept(safeGit(gitDir, listing, input)));
    if (listed.problem !== undefined) return { lacking: 0, problem: listed.problem };
    const lines = listed.stdout.toString("latin1").split("\n");
    const there = lines.filter((line) => /^[0-9a-f]/.test(line));
    const lacking = lines.filter((line) => line.startsWith("?")).length;
    if (there.length === 0) return { lacking };
    const packing = ["pack-objects", "--stdout", "-q", "--delta-base-offset", "--missing=allow-any"];
    const names = Buffer.from(`${there.join("\n")}\n`, "latin1");
    const { problem, stdout } = await this.#runWithin(budget, withKept(safeGit(gitDir, packing, names)));
    return problem === undefined ? { lacking, pack: stdout } : { lacking, problem };
  }

  /** Returns a function that extends a command of git, so that git also finds the kept objects of a repository. */
  #withKeptObjects(path: WorkspacePath): (command: GitCommand) => GitCommand {
    const { disk, keptFolders } = this.#options;
    const kept = keptFolders === undefined ? undefined : keptObjects(disk, keptFolders, path);
    if (kept === undefined) return (command) => command;
    const more = { GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(`${kept.root}/objects`) };
    return (command) => ({ ...command, env: { ...command.env, ...more } });
  }

  /** Runs git within the time and the bytes of the budget. Takes the size of the output from the budget. */
  async #runWithin(budget: KeepBudget, command: GitCommand): Promise<GitOutput> {
    const { run, clock } = this.#options;
    const timeoutMs = budget.until - clock();
    if (timeoutMs <= 0) return { stdout: Buffer.alloc(0), problem: TOO_LONG };
    const output = await run({ ...command, mostBytes: budget.leftBytes, timeoutMs });
    if (output.problem === undefined) budget.leftBytes -= output.stdout.length;
    else if (clock() >= budget.until) return { ...output, problem: TOO_LONG };
    return output;
  }

  async apply(change: GitChange, how: ApplyGit): Promise<string | undefined> {
    if (isOfGitFile(change.items.map(({ name }) => name))) {
      const leads = (content: Buffer): boolean => this.leads(change.path, content);
      return putGitFile(this.#rootOf(change.path), change, { ...how, leads });
    }
    const place = this.#placeOf(change.path);
    if (place === undefined) return "there is no repository any more";
    const { disk, run, newId, clock } = this.#options;
    const folders = this.#opened(change.path, place);
    const known = identityOf(this.#files, place);
    // Git and the system resolve the path anew at each access, so the folder is looked up before each access.
    const isStill = (): boolean => {
      const now = this.#placeOf(change.path);
      return (
        now?.gitDir === place.gitDir && now.commonDir === place.commonDir && identityOf(this.#files, now) === known
      );
    };
    const target = { disk, folders, reader: folders.reader, run: onlyIf(isStill, run), isStill };
    try {
      return await applyGitState({ ...target, mark: newId(), now: clock() }, change, how);
    } catch (error) {
      if (error instanceof UnreadableGit) return error.message;
      throw error;
    }
  }

  #at(path: WorkspacePath): OpenRepository | undefined {
    const found = this.#placeOf(path);
    return found === undefined ? undefined : this.#opened(path, found);
  }

  /**
   * Finds the repository whose `.git` is at `path`. Looks at `path` even if the last scan found no repository there,
   * because the `.git` file may have come back since that scan.
   */
  #placeOf(path: WorkspacePath): GitRepository | undefined {
    const found = this.#find([parentOf(path)]).find((each) => each.path === path)?.found;
    return typeof found === "string" ? undefined : found;
  }

  #find(nested = this.nested()): readonly RepositoryPlace[] {
    const { roots, user } = this.#options;
    return this.#files.atOnce(() => findRepositories({ files: this.#files, user, roots: roots(), nested }));
  }

  #opened(path: WorkspacePath, { gitDir, commonDir, settings }: GitRepository): OpenRepository {
    const known = this.#open.get(path);
    const { hashBytes, isBare } = settings;
    const isReftable = settings.refStorage === "reftable";
    const isSame = known?.own.root === gitDir && known.common.root === commonDir && known.isReftable === isReftable;
    if (isSame && known.hashBytes === hashBytes && known.isBare === isBare) return known;
    const { disk, clock } = this.#options;
    const own = new NotingFs(disk, gitDir);
    const common = gitDir === commonDir ? own : new NotingFs(disk, commonDir);
    const folders = { own, common, hashBytes, isBare, isReftable };
    const reader = new GitStateReader(folders, () => BigInt(Math.floor(clock())) * 1_000_000n);
    const opened = { ...folders, reader };
    this.#open.set(path, opened);
    return opened;
  }
}

/** Runs git only while the repository is still in its place. */
function onlyIf(isStill: () => boolean, run: RunGit): RunGit {
  return async (command) => (isStill() ? run(command) : { stdout: Buffer.alloc(0), problem: MOVED });
}

/** Returns the hashes of the objects that a value names. */
async function objectsIn(name: string, value: string | undefined, contentOf: ContentOf): Promise<readonly string[]> {
  if (value === undefined) return [];
  if (isGitRef(name)) return isGitHash(value) ? [value] : [];
  const content = await contentOf(name === "index" ? parseIndexValue(value).blob : (value as Hash));
  if (content === undefined) return [];
  if (name !== "index") return hashesIn(content, name === STASH_LOG);
  return [20, 32].map((bytes) => indexedObjects(content, bytes as 20 | 32)).find((all) => all.length > 0) ?? [];
}

const REPOSITORY = 0o160000;

/** Returns the objects in an index, without commits of submodules. The list is empty if the index cannot be parsed. */
function indexedObjects(index: Buffer, hashBytes: 20 | 32): string[] {
  const found: string[] = [];
  try {
    parseGitIndex(index, hashBytes, ({ mode, hash }) => {
      if ((mode.readUInt32BE(0) & 0o170000) !== REPOSITORY) found.push(hash.toString("hex"));
    });
    return found;
  } catch (error) {
    if (error instanceof UnusableIndex) return [];
    throw error;
  }
}

const MOST_HASHES = 10_000;

/**
 * Returns the hashes in a file. In a reflog, each line gives its second hash. In any other file, each line that
 * consists of a hash gives this hash.
 */
function hashesIn(content: Buffer, isLog: boolean): string[] {
  const pattern = isLog ? /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) /gm : /^([0-9a-f]{40,64})$/gm;
  const found: string[] = [];
  for (const [, hash = ""] of content.toString("latin1").matchAll(pattern)) {
    if (isGitHash(hash) && !/^0+$/.test(hash)) found.push(hash);
    if (found.length >= MOST_HASHES) break;
  }
  return found;
}
