import { parseGitIndex, UnusableIndex } from "../../core/filter/git-index.ts";
import {
  type GitHead,
  type GitState,
  indexValue,
  isGitName,
  isRefValue,
  parsePackedRefs,
  REF,
} from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { type Hash, sha256 } from "../../core/values/hash.ts";
import { decodeName, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import { optional } from "../../util/optional.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { isRacy, isSameStat } from "../files/same-stat.ts";
import type { KeepContent } from "../git-states.ts";
import { folderOfRef, type GitFolderPair, gitPath, readBytes, UnreadableGit } from "./git-folder-pair.ts";
import { otherWorktrees } from "./other-worktrees.ts";
import type { NotingFs } from "./seen-paths.ts";
import { STASH_LOG, type StackedRefs, TableRefs } from "./table-refs.ts";
import { createHash } from "node:crypto";

/** The files of unfinished operations, and those that a finished operation leaves, such as ORIG_HEAD. */
const STATE_FILES: readonly string[] = [
  ...["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_AUTOSTASH", "MERGE_RR", "SQUASH_MSG", "AUTO_MERGE"],
  ...["CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD"],
  ...["BISECT_LOG", "BISECT_NAMES", "BISECT_START", "BISECT_TERMS", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK"],
];

/** The folders of unfinished operations. While such a folder exists, git regards its operation as unfinished. */
export const STATE_FOLDERS: readonly string[] = ["rebase-merge", "rebase-apply", "sequencer"];

/** True for a file that the values of a state describe, other than a ref, and for `packed-refs`. */
export function isInState(name: string): boolean {
  return IN_STATE.has(name) || STATE_FOLDERS.some((folder) => name.startsWith(`${folder}/`));
}

const IN_STATE: ReadonlySet<string> = new Set(["HEAD", "index", "packed-refs", STASH_LOG, ...STATE_FILES]);

const MOST_REF_BYTES = 4 * 1024;
const MOST_FILE_BYTES = 1024 ** 2;
const MOST_PACKED_BYTES = 64 * 1024 ** 2;
const MOST_INDEX_BYTES = 64 * 1024 ** 2;
/** The maximum number of loose refs, and of files in one folder of an unfinished operation. */
const MOST_NAMES = 5_000;
const MOST_STATE_FILES = 2_000;
/** The number of refs from which on a folder is not read again while its stat stays the same. */
const MANY_REFS = 64;

/** The value of a file, and the stat that the file had when it was read. An unchanged file is not read again. */
interface Known {
  readonly stat: FileStat;
  readonly value: string;
}

/** A `KeepContent` that keeps nothing. */
const onlyHash: KeepContent = async (content) => sha256(content);

/** The refs in one folder, as pairs of a name and a value, and the names of the folders in it. */
interface RefFolder {
  readonly stat: FileStat;
  readonly refs: readonly (readonly [string, string])[];
  /** The names of the files that may be refs. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

/** Reads the state of one repository. Remembers what it has read, by the stats of the files. */
export class GitStateReader {
  /** The reader of tables; set if the repository has its refs in tables (`reftable`), and not in files. */
  readonly tables: TableRefs | undefined;
  readonly #folders: GitFolderPair;
  readonly #nowNs: () => bigint;
  readonly #known = new Map<string, Known>();
  readonly #refFolders = new Map<string, RefFolder>();

  /** The names in this working tree's git folder, as they were when the folder had this stat. */
  #names: { readonly stat: FileStat; readonly all: ReadonlySet<string> } | undefined;
  #packed: { readonly stat: FileStat; readonly refs: ReadonlyMap<string, string> } | undefined;
  #settled: { readonly key: string; readonly value: string } | undefined;
  #unsettled: { readonly of: StackedRefs; readonly refs: readonly (readonly [string, string])[] } | undefined;

  constructor(folders: GitFolderPair, nowNs: () => bigint) {
    this.#folders = folders;
    this.#nowNs = nowNs;
    this.tables = folders.isReftable ? new TableRefs(folders) : undefined;
  }

  /** Returns the branch and commit. Throws `UnreadableGit` if HEAD cannot be read. */
  head(): GitHead {
    const { own, common } = this.#folders;
    try {
      const head = this.#ref(own, "HEAD");
      if (head === undefined) throw new UnreadableGit("its HEAD cannot be read");
      if (!head.startsWith(REF)) return { commit: head };
      const name = head.slice(REF.length);
      const commit = this.#ref(folderOfRef(this.#folders, name), name) ?? this.#packedNow().get(name);
      return { branch: name.replace(/^refs\/heads\//, ""), ...optional({ commit }) };
    } catch (error) {
      throw unreadable(error);
    } finally {
      own.release();
      common.release();
    }
  }

  /**
   * Reads the whole state. Throws `UnreadableGit` if a part cannot be read, because half of a state would be of no use.
   */
  async read(path: WorkspacePath, keep: KeepContent): Promise<GitState> {
    const { own, common } = this.#folders;
    try {
      const values = new Map<string, string>();
      const head = this.#ref(own, "HEAD");
      if (head === undefined) throw new UnreadableGit("its HEAD cannot be read");
      values.set("HEAD", head);
      if (this.tables === undefined) this.#refsIn(common, values);
      if (this.tables === undefined && own !== common) this.#refsIn(own, values);
      const names = this.#namesNow();
      const hasOthers = own !== common || names.has("worktrees");
      const worktrees = hasOthers ? otherWorktrees(this.#folders) : [];
      for (const name of STATE_FILES) {
        if (names.has(name) || this.tables !== undefined) await this.#file(own, name, values, keep);
      }
      for (const name of STATE_FOLDERS) if (names.has(name)) await this.#filesIn(own, name, values, keep);
      await this.#file(common, STASH_LOG, values, keep);
      await this.#index(values, keep);
      const how = { most: MOST_PACKED_BYTES, keep };
      const packed = await (this.tables === undefined
        ? this.#content(common, "packed-refs", how)
        : this.#refsInTables(this.tables, values, keep));
      return { path, values, worktrees, ...optional({ packed: packed as Hash | undefined }) };
    } catch (error) {
      throw unreadable(error);
    } finally {
      own.release();
      common.release();
    }
  }

  /** Returns the present value of one name; `undefined` if the name has no value. Keeps no content. */
  async valueOf(name: string): Promise<string | undefined> {
    const keep = onlyHash;
    const { own, common } = this.#folders;
    const values = new Map<string, string>();
    if (name === "HEAD") return this.#ref(own, name);
    if (name.startsWith("refs/"))
      return this.#ref(folderOfRef(this.#folders, name), name) ?? this.#packedNow().get(name);
    if (name === "index") await this.#index(values, keep);
    else await this.#file(name === STASH_LOG ? common : own, name, values, keep);
    return values.get(name);
  }

  /**
   * Returns the names in this working tree's git folder. This one listing saves a look at each of the possible files of
   * unfinished operations, most of which do not exist.
   */
  #namesNow(): ReadonlySet<string> {
    const { own } = this.#folders;
    const stat = own.peek(ROOT);
    if (stat !== undefined && this.#names !== undefined && isSameStat(this.#names.stat, stat)) return this.#names.all;
    const all = new Set(own.list(ROOT).map(({ name }) => decodeName(name)));
    this.#names = stat === undefined || isRacy(stat, this.#nowNs()) ? undefined : { stat, all };
    return all;
  }

  /**
   * Adds the refs in tables to `values`, except shared refs that seldom change. Keeps these together as one content,
   * like packed refs, so that not every state names all refs. Returns the hash of that content.
   */
  async #refsInTables(tables: TableRefs, values: Map<string, string>, keep: KeepContent): Promise<string> {
    const shared = tables.shared();
    const { settled } = shared;
    const isPacked = (name: string, value: string): boolean => this.#isShared(name) && !value.startsWith(REF);
    if (this.#unsettled?.of !== shared) {
      const isUnsettled = ([name, value]: readonly [string, string]): boolean =>
        this.#isShared(name) && !(settled.refs.get(name) === value && isPacked(name, value));
      this.#unsettled = { of: shared, refs: [...shared.all].filter(isUnsettled) };
    }
    for (const [name, value] of this.#unsettled.refs) values.set(name, value);
    for (const [name, value] of tables.ownRefs()) values.set(name, value);
    if (this.#settled?.key === settled.key) return this.#settled.value;
    const lines = [...settled.refs].flatMap(([name, value]) => (isPacked(name, value) ? `${value} ${name}\n` : []));
    const value = await keep(Buffer.from(lines.join("")));
    if (keep !== onlyHash) this.#settled = { key: settled.key, value };
    return value;
  }

  /** True for a ref that all working trees share. */
  #isShared(name: string): boolean {
    return name.startsWith("refs/") && folderOfRef(this.#folders, name) === this.#folders.common;
  }

  #packedNow(): ReadonlyMap<string, string> {
    const { common } = this.#folders;
    if (this.tables !== undefined) return new Map();
    const stat = common.lstat(gitPath("packed-refs"));
    if (stat === undefined) return new Map();
    if (this.#packed !== undefined && isSameStat(this.#packed.stat, stat)) return this.#packed.refs;
    const read = readBytes(common, "packed-refs", MOST_PACKED_BYTES);
    const refs = parsePackedRefs(read?.bytes.toString("utf8") ?? "");
    // Git replaces the file by a new one, so the stat shows every change.
    if (read !== undefined) this.#packed = { stat: read.stat, refs };
    return refs;
  }

  /** Returns the value of a ref; `undefined` if there is no such ref, or if its file contains no ref. */
  #ref(fs: ConfinedFs, name: string): string | undefined {
    if (this.tables !== undefined) return this.tables.ref(name);
    const key = `${fs === this.#folders.own ? "own" : "common"} ${name}`;
    const known = this.#knownNow(fs, name, key);
    if (known !== undefined) return known;
    const stat = fs.lstat(gitPath(name));
    if (stat?.kind !== "file" && stat?.kind !== "symlink") return undefined;
    const read = readBytes(fs, name, MOST_REF_BYTES);
    const value = read === undefined ? undefined : refValue(read.bytes.toString("utf8"));
    if (read !== undefined && value !== undefined) this.#note(key, read.stat, value);
    return value;
  }

  #refsIn(fs: NotingFs, values: Map<string, string>): void {
    const folders = ["refs"];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const stat = fs.lstat(gitPath(folder));
      if (stat?.kind === "symlink") throw new UnreadableGit(`${folder} is a link`);
      if (stat?.kind !== "dir") continue;
      const found = this.#refsOf(fs, folder, stat);
      for (const [name, value] of found.refs) values.set(name, value);
      for (const one of found.folders) folders.push(one);
      refuseMoreThan(values.size);
    }
  }

  /**
   * Reads the refs of one folder. A folder with many refs is not read again while its stat is the same. This is safe
   * with git, which replaces a ref by a new file and so changes the stat of the folder. If another program overwrites
   * the file of a ref in place, the change goes unnoticed in such a folder.
   */
  #refsOf(fs: NotingFs, folder: string, stat: FileStat): RefFolder {
    const key = `${fs === this.#folders.own ? "own" : "common"} ${folder}`;
    const known = this.#refFolders.get(key);
    if (known !== undefined && known.files.length >= MANY_REFS && isSameStat(known.stat, stat)) return known;
    const { files, folders } =
      known !== undefined && isSameStat(known.stat, stat) ? known : this.#namesOfRefs(fs, folder);
    const read = (): (readonly [string, string])[] =>
      files.flatMap((name): (readonly [string, string])[] => {
        const value = this.#ref(fs, name);
        return value === undefined ? [] : [[name, value]];
      });
    const refs = files.length < MANY_REFS ? read() : fs.unnoted(read);
    const found = { stat, refs, files, folders };
    if (isRacy(stat, this.#nowNs())) this.#refFolders.delete(key);
    else this.#refFolders.set(key, found);
    return found;
  }

  #namesOfRefs(fs: ConfinedFs, folder: string): Pick<RefFolder, "files" | "folders"> {
    const files: string[] = [];
    const folders: string[] = [];
    const listed = fs.list(gitPath(folder));
    // Each ref is a file that must be opened, so the number of names is checked first.
    refuseMoreThan(listed.length);
    for (const { name: bytes, kind } of listed) {
      const name = `${folder}/${decodeName(bytes)}`;
      if (kind === "dir") folders.push(name);
      // A link to a folder is refused, because it could lead out of the repository. A link to a file is skipped: it is
      // an old form of a symbolic ref.
      if (kind === "symlink") refuseLinkedFolder(fs, name);
      if (kind !== "file" || name.endsWith(".lock") || !isGitName(name)) continue;
      // The common folder also contains refs that belong to the main working tree alone. A linked working tree does not
      // take these.
      if (folderOfRef(this.#folders, name) === fs) files.push(name);
    }
    return { files, folders };
  }

  async #filesIn(fs: ConfinedFs, top: string, values: Map<string, string>, keep: KeepContent): Promise<void> {
    if (fs.lstat(gitPath(top))?.kind !== "dir") return;
    const folders = [top];
    let files = 0;
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const { name: bytes, kind } of fs.list(gitPath(folder))) {
        const name = `${folder}/${decodeName(bytes)}`;
        if (kind === "dir") folders.push(name);
        if (kind !== "file" || !isGitName(name)) continue;
        if ((files += 1) > MOST_STATE_FILES) throw new UnreadableGit(`${top} has more than ${MOST_STATE_FILES} files`);
        await this.#file(fs, name, values, keep);
      }
    }
  }

  async #file(fs: ConfinedFs, name: string, values: Map<string, string>, keep: KeepContent): Promise<void> {
    const tabled = this.tables?.file(name);
    const value =
      tabled === undefined ? await this.#content(fs, name, { most: MOST_FILE_BYTES, keep }) : await keep(tabled);
    if (value !== undefined) values.set(name, value);
  }

  async #index(values: Map<string, string>, keep: KeepContent): Promise<void> {
    const { own, hashBytes } = this.#folders;
    const toValue = (bytes: Buffer, blob: Hash, { mtimeNs }: FileStat): string =>
      indexValue({ facts: factsOf(bytes, hashBytes), blob, mtimeNs });
    const value = await this.#content(own, "index", { most: MOST_INDEX_BYTES, keep, toValue });
    if (value !== undefined) values.set("index", value);
  }

  async #content(
    fs: ConfinedFs,
    name: string,
    how: {
      readonly most: number;
      readonly keep: KeepContent;
      readonly toValue?: (bytes: Buffer, blob: Hash, stat: FileStat) => string;
    },
  ): Promise<string | undefined> {
    const known = this.#knownNow(fs, name, name);
    if (known !== undefined) return known;
    const stat = fs.lstat(gitPath(name));
    if (stat === undefined) return undefined;
    if (stat.kind !== "file") throw new UnreadableGit(`${name} is no regular file`);
    if (stat.size > how.most) throw new UnreadableGit(`${name} is larger than ${how.most} bytes`);
    const read = readBytes(fs, name, how.most);
    if (read === undefined) return undefined;
    const blob = await how.keep(read.bytes);
    const value = how.toValue?.(read.bytes, blob, read.stat) ?? blob;
    if (how.keep !== onlyHash) this.#note(name, read.stat, value);
    return value;
  }

  /** Returns the value of a file that was read before and has not changed since; else `undefined`. */
  #knownNow(fs: ConfinedFs, name: string, key: string): string | undefined {
    const known = this.#known.get(key);
    const stat = known === undefined ? undefined : fs.peek(gitPath(name));
    return stat !== undefined && known !== undefined && isSameStat(known.stat, stat) ? known.value : undefined;
  }

  #note(key: string, stat: FileStat, value: string): void {
    if (isRacy(stat, this.#nowNs())) this.#known.delete(key);
    else this.#known.set(key, { stat, value });
  }
}

/** Converts an error of the disk to `UnreadableGit`. Returns any other error unchanged. */
function unreadable(error: unknown): unknown {
  const errno = errnoOf(error);
  return errno === undefined ? error : new UnreadableGit(`it cannot be read (${errno})`);
}

function refuseMoreThan(refs: number): void {
  if (refs > MOST_NAMES) throw new UnreadableGit(`it has more than ${MOST_NAMES} loose refs`);
}

function refuseLinkedFolder(fs: ConfinedFs, name: string): void {
  if (fs.peek(gitPath(`${name}/.`))?.kind === "dir") throw new UnreadableGit(`${name} is a link`);
}

function refValue(text: string): string | undefined {
  const line = text.replace(/\s+$/, "");
  const value = /^ref:\s*(.+)$/.exec(line)?.[1];
  const found = value === undefined ? line : `${REF}${value}`;
  return isRefValue(found) ? found : undefined;
}

/** Returns the digest of everything that an index says about its paths, except the stats of the files. */
function factsOf(bytes: Buffer, hashBytes: 20 | 32): string {
  const facts = createHash("sha256");
  try {
    const { names } = parseGitIndex(bytes, hashBytes, ({ mode, hash, flags }) => {
      facts.update(mode).update(hash).update(flags);
    });
    return facts.update(names).digest("hex");
  } catch (error) {
    if (!(error instanceof UnusableIndex)) throw error;
    // An index that cannot be parsed is compared as a whole.
    return createHash("sha256").update(bytes).digest("hex");
  }
}
