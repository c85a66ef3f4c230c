import { type GitFolder, type GitFolderItem, isGitName } from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { type Hash, sha256 } from "../../core/values/hash.ts";
import { childOf, decodeName, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";
import { removeTree } from "../../disk/remove-tree.ts";
import { writeFully } from "../../disk/write-fully.ts";
import { optional } from "../../util/optional.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { isRacy } from "../files/same-stat.ts";
import type { KeepContent } from "../git-states.ts";
import { type GitFolderPair, gitPath, readBytes } from "./git-folder-pair.ts";
import { markOf, ObjectLinks, type SeenFailure, type SeenFolders, UnusedObjects } from "./object-links.ts";
import { isInState } from "./read-git-state.ts";
import { type Looks, SeenPaths } from "./seen-paths.ts";
import { TABLES_LIST } from "./table-refs.ts";

/**
 * The limits for one git folder, apart from its objects: the number of its items, and the bytes of one item and of all
 * items.
 */
const MOST_ITEMS = 2_000;
const MOST_ITEM_BYTES = 8 * 1024 ** 2;
const MOST_BYTES = 64 * 1024 ** 2;
/** The maximum number of reflogs of refs. Further reflogs of refs are not kept. */
const MOST_LOGS = 500;

/** The maximum number of walks through a folder of reftables. */
const MOST_TRIES = 5;

/** The folders of refs that every repository has, even if they contain no ref. */
const REF_FOLDERS = ["refs", "refs/heads", "refs/tags"];
/**
 * Matches the names of the example hooks that git puts into each new repository. Git never runs or changes these files.
 */
const IS_SAMPLE = /\.sample$/;

const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;

/**
 * The parts of a git folder as they were when they were last kept. Parts that have not changed since are not read
 * again.
 */
interface Note {
  /** The path of the `.git`. Notes that older versions wrote lack the path. */
  readonly path?: WorkspacePath;
  readonly objects: SeenFolders;
  /** Set if the objects could not be kept. */
  readonly failed?: SeenFailure;
  readonly files: Readonly<Record<string, SeenFile>>;
  readonly folders: Readonly<Record<string, SeenNames>>;
}

/** A file and its content, as they were when the file had this mark (see `markOf`). */
interface SeenFile {
  readonly mark: string;
  readonly blob: Hash;
  readonly kind: "file" | "symlink";
  readonly mode: number;
  readonly size: number;
  /** The time of the last change, in nanoseconds since the epoch, as decimal digits. */
  readonly mtime: string;
}

/** The names in a folder, as they were when the folder had this mark. `files` includes the links. */
interface SeenNames {
  readonly mark: string;
  readonly files: readonly string[];
  readonly folders: readonly string[];
}

const NO_NOTE: Note = { objects: {}, files: {}, folders: {} };

export interface KeptFoldersParts {
  readonly disk: Disk;
  /** The absolute path of a private folder of the store, for the objects and notes. */
  readonly place: string;
  readonly nowNs: () => bigint;
  /** Returns true if no work is in progress that may need objects that a repository no longer has. */
  readonly isIdle: () => Promise<boolean>;
  /** True if contents may be missing in the store, so that all contents are passed to `keep` again. */
  readonly isForgotten: boolean;
  /** The hashes of erased contents. Files that have such a content are left out. */
  readonly erased: ReadonlySet<Hash>;
  /** The git folders that this process has kept. Default: none. */
  readonly memory?: FolderMemory;
}

/** Maps the place of each git folder that was kept as a whole to this folder, and to what was looked at then. */
export type FolderMemory = Map<string, KeptFolder>;

interface KeptFolder {
  readonly folder: GitFolder;
  readonly seen: SeenPaths;
  readonly erased: ReadonlySet<Hash>;
}

/**
 * Keeps git folders before work that might remove them, so that they can be made anew. Small files are kept as
 * contents. Objects are kept as hard links in the store (see `ObjectLinks`). HEAD, the refs and the index are not kept
 * here, because the recorded state of git contains them.
 *
 * The notes for the next call of `keep` are stored in files, because most commands run in a process of their own.
 */
export class KeptFolders {
  readonly #parts: KeptFoldersParts;
  readonly #seen = new Set<string>();

  constructor(parts: KeptFoldersParts) {
    this.#parts = parts;
  }

  /**
   * Returns the git folder as this process has kept it, if neither the folder nor the kept parts have changed since;
   * else `undefined`.
   */
  unchanged(path: WorkspacePath, looks: Looks): GitFolder | undefined {
    const { erased, memory } = this.#parts;
    const place = placeOf(this.#parts.place, path);
    const known = memory?.get(place);
    if (known === undefined || !isSameSet(known.erased, erased) || !known.seen.areStill(looks)) return undefined;
    this.#seen.add(place);
    return known.folder;
  }

  /** Keeps the git folder of one repository. `path` is the path of this folder, the `.git` of the main working tree. */
  async keep(path: WorkspacePath, pair: GitFolderPair, keep: KeepContent): Promise<GitFolder> {
    const { disk, nowNs, erased, memory } = this.#parts;
    const place = placeOf(this.#parts.place, path);
    this.#seen.add(place);
    memory?.delete(place);
    const seen = new SeenPaths(nowNs());
    const stop = pair.own.noteIn(seen);
    try {
      const { folder, isSettled } = await this.#keep(path, pair, keep);
      seen.note(`${place}/files`, disk.lstat(`${place}/files`), "identity");
      seen.note(`${place}/note.json`, disk.lstat(`${place}/note.json`), "own");
      if (isSettled && seen.settle()) memory?.set(place, { folder, seen, erased });
      return folder;
    } finally {
      stop();
    }
  }

  /** `isSettled` in the result: true if nothing is left to do as long as the git folder stays as it is. */
  async #keep(
    path: WorkspacePath,
    { own, isReftable }: GitFolderPair,
    keep: KeepContent,
  ): Promise<{ readonly folder: GitFolder; readonly isSettled: boolean }> {
    const { disk, nowNs, isIdle, isForgotten, erased } = this.#parts;
    const place = placeOf(this.#parts.place, path);
    let text = readDiskFile(disk, `${place}/note.json`)?.toString() ?? "";
    const note = parseNote(text);
    const walk = new FolderWalk({ own, isReftable, keep, known: isForgotten ? NO_NOTE : note, nowNs: nowNs(), erased });
    try {
      makePlace(disk, this.#parts.place, place);
      // The path is written first. From then on, `collectKept` knows that the place belongs to a repository.
      if (note.path !== path) text = this.#write(place, text, { ...note, path });
      await walk.all();
      using into = new ConfinedFs(disk, `${place}/files`);
      const links = new ObjectLinks({ disk, from: own, into, nowNs: nowNs(), isIdle }, note.objects);
      if (walk.problem !== undefined) {
        await links.none();
        this.#write(place, text, { ...NO_NOTE, path });
        const folder = { objects: birthOf(disk, own.root), mode: FILE_MODE, items: [], problem: walk.problem };
        return { folder, isSettled: false };
      }
      const { seen, sample, failed, problem, isSettled } = await links.keep(walk.objects, note.failed);
      const now = { path, objects: seen, files: walk.seenFiles, folders: walk.seenFolders, ...optional({ failed }) };
      this.#write(place, text, now);
      const mode = own.lstat(gitPath("HEAD"))?.mode ?? FILE_MODE;
      const folder = { objects: birthOf(disk, own.root), mode, items: walk.items, ...optional({ sample, problem }) };
      return { folder, isSettled: isSettled && walk.isSettled };
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      // The recorded state of git is useful even without the git folder, so this problem does not stop the recording.
      const problem = `it could not be kept (${errno})`;
      return { folder: { objects: "", mode: FILE_MODE, items: [], problem }, isSettled: false };
    } finally {
      own.release();
    }
  }

  /**
   * Removes everything that is kept of the repositories for which `keep` was not called. Does nothing if `isIdle`
   * returns false.
   */
  async drop(): Promise<void> {
    const { disk, place, isIdle } = this.#parts;
    const kept = disk.lstat(place)?.kind === "dir" ? disk.list(place).map(({ name }) => decodeName(name)) : [];
    const gone = kept.filter((name) => !this.#seen.has(`${place}/${name}`));
    if (gone.length === 0 || !(await isIdle())) return;
    try {
      for (const name of gone) removeTree(disk, `${place}/${name}`);
    } catch (error) {
      // Another process may be removing the same folder. A later command removes whatever is left.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** Writes the note, unless its text equals `before`. Returns the text. */
  #write(place: string, before: string, note: Note): string {
    const { disk } = this.#parts;
    const text = JSON.stringify(note);
    if (text === before) return text;
    const fresh = `${place}/note.json.${process.pid}.new`;
    if (disk.lstat(fresh) !== undefined) disk.unlink(fresh);
    const fd = disk.open(fresh, "create");
    try {
      writeFully(disk, fd, Buffer.from(text), null);
    } finally {
      disk.close(fd);
    }
    disk.rename(fresh, `${place}/note.json`);
    return text;
  }
}

function isSameSet(a: ReadonlySet<Hash>, b: ReadonlySet<Hash>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one));
}

function placeOf(folder: string, path: WorkspacePath): string {
  return `${folder}/${sha256(Buffer.from(path)).slice(0, 16)}`;
}

/** Returns the folder with the objects that are kept of a repository; `undefined` if there is none. */
export function keptObjects(disk: Disk, folder: string, path: WorkspacePath): ConfinedFs | undefined {
  const place = `${placeOf(folder, path)}/files`;
  return disk.lstat(place)?.kind === "dir" ? new ConfinedFs(disk, place) : undefined;
}

/**
 * Removes the kept parts of git folders that belong to no repository any more. Returns the number of bytes that were
 * freed. `absolute` returns the absolute path of a `.git`.
 *
 * A place is the folder with everything that is kept of one repository. Work that has just begun may rely on a place,
 * and may not be in the log yet. Therefore, the unused places first get another name. Then each of them is checked once
 * more, and `isIdle` is called once more. A place that is used after all gets its name back. The place of a repository
 * that cannot be read stays.
 */
export async function collectKept(parts: CollectParts, absolute: (path: WorkspacePath) => string): Promise<number> {
  const { disk, isIdle } = parts;
  const { unused, removed, objects } = placesToFree(parts, absolute);
  const aside: string[] = [];
  let isFree = false;
  try {
    if (unused.length + removed.length + objects.length === 0 || !(await isIdle())) return 0;
    for (const at of unused) if (orLeft(() => putAside(parts, absolute, at), false)) aside.push(at);
    isFree = await isIdle();
    if (!isFree) return 0;
    let bytes = 0;
    for (const at of [...removed, ...aside]) bytes += orLeft(() => removePlace(disk, `${at}${GONE}`), 0);
    for (const one of objects) bytes += orLeft(() => one.drop(), 0);
    return bytes;
  } finally {
    for (const at of isFree ? [] : aside) orLeft(() => putBack(disk, `${at}${GONE}`, at), undefined);
    for (const one of objects) one.release();
  }
}

type CollectParts = Pick<KeptFoldersParts, "disk" | "place" | "isIdle" | "nowNs">;

const HOUR_NS = 3_600n * 1_000_000_000n;
/**
 * The ending of the name of a place that is being removed. The note is removed first. Therefore, a place that is
 * removed only in part has no note.
 */
const GONE = ".gone";

/**
 * Returns the result of `work`, or `otherwise` if the disk refuses the work. The next collection removes what is left.
 */
function orLeft<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return otherwise;
  }
}

interface PlacesToFree {
  /** The places that belong to no repository. */
  readonly unused: string[];
  /** The paths, without `GONE`, of the places that a process has begun to remove. */
  readonly removed: string[];
  readonly objects: UnusedObjects[];
}

function placesToFree(parts: CollectParts, absolute: (path: WorkspacePath) => string): PlacesToFree {
  const { disk, place, nowNs } = parts;
  const found: PlacesToFree = { unused: [], removed: [], objects: [] };
  for (const { name: bytes, kind } of orLeft(() => disk.list(place), [])) {
    const at = `${place}/${decodeName(bytes)}`;
    if (kind !== "dir") continue;
    orLeft(() => {
      if (at.endsWith(GONE)) return lookAtGone(disk, at, found);
      const gitDir = gitDirOf(parts, absolute, { at, folder: at });
      if (gitDir !== undefined && disk.lstat(gitDir)?.kind === "dir") {
        const since = nowNs() - HOUR_NS;
        if (changedNs(disk, `${at}/note.json`) > since) return;
        const objects = new UnusedObjects(disk, { gitDir, kept: `${at}/files`, since });
        if (objects.isSome) found.objects.push(objects);
        else objects.release();
        return;
      }
      // If the place has no note with a path, its repository may exist. Work that uses the place writes the path, so an
      // old place without a path is unused.
      const isYoung = gitDir === undefined && (disk.lstat(at)?.ctimeNs ?? 0n) > nowNs() - 24n * HOUR_NS;
      if (!isYoung) found.unused.push(at);
    }, undefined);
  }
  return found;
}

function changedNs(disk: Disk, path: string): bigint {
  return disk.lstat(path)?.mtimeNs ?? 0n;
}

/**
 * Looks at a place with the ending `GONE`. If the place still has its note, the process that renamed the place was
 * killed, and the place may be in use. Such a place gets its name back.
 */
function lookAtGone(disk: Disk, gone: string, { removed }: PlacesToFree): void {
  const at = gone.slice(0, -GONE.length);
  if (disk.lstat(`${gone}/note.json`) === undefined) return void removed.push(at);
  disk.unlink(`${gone}/note.json`);
  putBack(disk, gone, at);
}

/**
 * Returns the absolute path of the `.git` to which a place belongs, as the note in `folder` says; `undefined` if
 * unknown.
 */
function gitDirOf(
  { disk, place }: CollectParts,
  absolute: (path: WorkspacePath) => string,
  { at, folder }: { readonly at: string; readonly folder: string },
): string | undefined {
  const { path } = parseNote(readDiskFile(disk, `${folder}/note.json`)?.toString() ?? "");
  return path === undefined || placeOf(place, path) !== at ? undefined : absolute(path);
}

/** Renames a place. If the place belongs to a repository after all, gives the place its name back and returns false. */
function putAside(parts: CollectParts, absolute: (path: WorkspacePath) => string, at: string): boolean {
  const { disk } = parts;
  const gone = `${at}${GONE}`;
  removeTree(disk, gone);
  disk.rename(at, gone);
  let isUsed = true;
  try {
    const gitDir = gitDirOf(parts, absolute, { at, folder: gone });
    isUsed = gitDir !== undefined && disk.lstat(gitDir)?.kind === "dir";
  } finally {
    if (isUsed) putBack(disk, gone, at);
  }
  return !isUsed;
}

/**
 * Gives a place its name back. If other work has made the place anew meanwhile, completes the new place from the old.
 */
function putBack(disk: Disk, gone: string, at: string): void {
  if (disk.lstat(at) === undefined) return disk.rename(gone, at);
  for (const { name, kind } of disk.list(gone)) {
    const [from, to] = [gone, at].map((folder) => `${folder}/${decodeName(name)}`) as [string, string];
    if (kind === "dir") putBack(disk, from, to);
    else if (disk.lstat(to) === undefined) disk.rename(from, to);
  }
  removeTree(disk, gone);
}

/** Removes a place that was renamed (`putAside`). Returns the number of bytes that were freed. */
function removePlace(disk: Disk, gone: string): number {
  const note = `${gone}/note.json`;
  const bytes = ownBytes(disk, gone);
  if (disk.lstat(note) !== undefined) disk.unlink(note);
  removeTree(disk, gone);
  return bytes;
}

/** Returns the total size, in bytes, of those files in a folder that have no other name (hard link). */
function ownBytes(disk: Disk, folder: string): number {
  let bytes = 0;
  for (const { name, kind } of disk.list(folder)) {
    const path = `${folder}/${decodeName(name)}`;
    const stat = kind === "dir" ? undefined : disk.lstat(path);
    bytes += kind === "dir" ? ownBytes(disk, path) : stat?.nlink === 1 ? stat.size : 0;
  }
  return bytes;
}

/** Parses a note. A note that a power loss has cut off counts as an empty note. */
function parseNote(text: string): Note {
  try {
    return text === "" ? NO_NOTE : (JSON.parse(text) as Note);
  } catch (error) {
    if (error instanceof SyntaxError) return NO_NOTE;
    throw error;
  }
}

function makePlace(disk: Disk, ...folders: readonly string[]): void {
  for (const folder of [...folders, `${folders.at(-1) ?? ""}/files`]) {
    try {
      if (disk.lstat(folder) === undefined) disk.makeFolder(folder);
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }
}

/**
 * Returns a text that identifies the folder `objects` in a git folder (an absolute path); empty if there is no such
 * folder.
 */
export function birthOf(disk: Disk, gitDir: string): string {
  const path = `${gitDir}/objects`;
  const stat = disk.lstat(path);
  return stat === undefined ? "" : `${stat.dev} ${stat.ino} ${disk.birthOf(path) ?? ""}`;
}

interface WalkParts {
  readonly own: ConfinedFs;
  readonly isReftable: boolean;
  readonly keep: KeepContent;
  readonly known: Note;
  readonly nowNs: bigint;
  readonly erased: ReadonlySet<Hash>;
}

/** A file that is to be read at the end of the walk, and its stat. */
interface UnreadFile {
  readonly path: WorkspacePath;
  readonly kind: "file" | "symlink";
  readonly stat: FileStat;
}

/**
 * Walks through a git folder. An unchanged file or folder costs a single stat: if its stat is the same as the last
 * time, it is not read or listed again. Stops at the first problem. Reads files only at the end, so that nothing of a
 * folder with a problem is kept.
 */
class FolderWalk {
  items: GitFolderItem[] = [];
  /** The folders of objects, which are not walked through. */
  readonly objects: string[] = [];
  readonly seenFiles: Record<string, SeenFile> = {};
  readonly seenFolders: Record<string, SeenNames> = {};
  problem: string | undefined;
  /** False if the next walk must read a file again, even if the file is unchanged. */
  isSettled = true;
  readonly #parts: WalkParts;
  readonly #unread: UnreadFile[] = [];
  /** Maps each list of tables (`tables.list`) that was read to the tables that it names. */
  readonly #lists = new Map<string, readonly string[]>();
  #counted = 0;
  #bytes = 0;
  #logs = 0;

  constructor(parts: WalkParts) {
    this.#parts = parts;
    for (const name of parts.isReftable ? [] : REF_FOLDERS) this.items.push(folderItem(name, FOLDER_MODE));
  }

  async all(): Promise<void> {
    const stat = this.#parts.own.lstat(ROOT);
    if (stat?.kind === "dir") this.#within(ROOT, stat);
    if (!this.objects.includes("objects")) this.#miss("its objects lie in another folder");
    await this.#readAll();
    for (let tries = 1; tries < MOST_TRIES && this.#torn().length > 0; tries += 1) await this.#again(this.#torn());
    // A list that still names a missing table is read again at the next walk, even if the list is unchanged.
    for (const list of this.#torn()) {
      delete this.seenFiles[list];
      this.isSettled = false;
    }
    // The items are sorted, so that equal git folders give equal items. (Known files are added before the files that
    // are read.)
    this.items.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #readAll(): Promise<void> {
    for (const one of this.#unread.splice(0)) if (this.problem === undefined) await this.#read(one);
  }

  /** Returns the lists that name a table that was not found, because git has joined tables during the walk. */
  #torn(): string[] {
    const found = new Set(this.items.map(({ name }) => name));
    return [...this.#lists].flatMap(([list, tables]) => {
      const folder = list.slice(0, list.lastIndexOf("/"));
      return tables.every((table) => found.has(`${folder}/${table}`)) ? [] : list;
    });
  }

  /** Walks once more through the folders of these lists. */
  async #again(lists: readonly string[]): Promise<void> {
    for (const list of lists) {
      const folder = list.slice(0, list.lastIndexOf("/")) as WorkspacePath;
      this.items = this.items.filter(({ name }) => !name.startsWith(`${folder}/`));
      this.#lists.delete(list);
      const stat = this.#parts.own.lstat(folder);
      if (stat?.kind === "dir") this.#within(folder, stat);
    }
    await this.#readAll();
  }

  #within(folder: WorkspacePath, stat: FileStat): void {
    const { files, folders } = this.#namesIn(folder, stat);
    const isSame =
      this.seenFolders[folder] !== undefined && this.seenFolders[folder] === this.#parts.known.folders[folder];
    for (const name of files) {
      if (this.problem !== undefined) return;
      this.#file(childOf(folder, name), isSame && IS_SAMPLE.test(name));
    }
    for (const name of folders) {
      if (this.problem !== undefined) return;
      this.#folder(childOf(folder, name));
    }
  }

  #namesIn(folder: WorkspacePath, stat: FileStat): SeenNames {
    const { own, known, nowNs } = this.#parts;
    const mark = markOf(stat);
    const before = known.folders[folder];
    if (before?.mark === mark) return (this.seenFolders[folder] = before);
    const files: string[] = [];
    const folders: string[] = [];
    for (const { name: bytes, kind } of own.list(folder)) {
      const name = decodeName(bytes);
      const path = childOf(folder, name);
      if (this.#isLeftOut(path) || path.endsWith(".lock") || !this.#isNamed(path)) continue;
      if (kind === "dir") folders.push(name);
      else if (kind !== "special" && !this.#isPastLogs(path)) files.push(name);
    }
    const names = { mark, files, folders };
    if (!isRacy(stat, nowNs) && this.problem === undefined) this.seenFolders[folder] = names;
    return names;
  }

  /**
   * True for the files that can be made anew from the recorded state of git. If the refs are in tables, the tables are
   * kept as files. In that case, HEAD and `refs` are kept as files, too: they hold no refs, and only keep older
   * versions of git from using the repository.
   */
  #isLeftOut(path: WorkspacePath): boolean {
    const isOfRefs = path === "HEAD" || path === "refs";
    return isOfRefs ? !this.#parts.isReftable : isInState(path);
  }

  #folder(path: WorkspacePath): void {
    const { own, known } = this.#parts;
    const seen = known.folders[path] === undefined ? undefined : own.peek(path);
    // If the mark is the known mark, the path is still the same folder, and was not replaced by a link.
    const stat = seen !== undefined && markOf(seen) === known.folders[path]?.mark ? seen : own.lstat(path);
    if (stat?.kind !== "dir") return;
    const isOfObjects = /(?:^|\/)objects$/.test(path) && !/(?:^|\/)(?:refs|logs)\//.test(path);
    this.#count(0);
    this.items.push(folderItem(path, stat.mode));
    if (isOfObjects) this.objects.push(path);
    else this.#within(path, stat);
  }

  /**
   * True for a reflog of a ref after the first `MOST_LOGS` such reflogs. These can be left out, because git works
   * without them.
   */
  #isPastLogs(path: WorkspacePath): boolean {
    return path.startsWith("logs/refs/") && (this.#logs += 1) > MOST_LOGS;
  }

  /** `isTrusted`: true if a known file counts as unchanged, without a look at its stat. */
  #file(path: WorkspacePath, isTrusted: boolean): void {
    const { own, known } = this.#parts;
    const before = known.files[path];
    const seen = before === undefined || isTrusted ? undefined : own.peek(path);
    if (before !== undefined && (isTrusted || (seen !== undefined && markOf(seen) === before.mark))) {
      return this.#addFile(path, before);
    }
    const stat = own.lstat(path);
    if (stat?.kind !== "file" && stat?.kind !== "symlink") return;
    if (stat.size > MOST_ITEM_BYTES) return this.#miss(`${path} in it is too large`);
    this.#count(stat.size);
    this.#unread.push({ path, kind: stat.kind, stat });
  }

  async #read({ path, kind, stat }: UnreadFile): Promise<void> {
    const { own, isReftable, keep, nowNs, erased } = this.#parts;
    const bytes = kind === "symlink" ? own.readlink(path) : readBytes(own, path, MOST_ITEM_BYTES)?.bytes;
    if (bytes === undefined || (erased.size > 0 && erased.has(sha256(bytes)))) return;
    const blob = await keep(bytes);
    if (isReftable && (path === TABLES_LIST || path.endsWith(`/${TABLES_LIST}`))) {
      const tables = bytes.toString("latin1").split("\n");
      this.#lists.set(
        path,
        tables.filter((name) => name !== ""),
      );
    }
    const { mode, mtimeNs } = stat;
    const mark = isRacy(stat, nowNs) ? "" : markOf(stat);
    this.#keepFile(path, { mark, blob, kind, mode, size: bytes.length, mtime: `${mtimeNs}` });
  }

  #addFile(path: WorkspacePath, seen: SeenFile): void {
    if (this.#parts.erased.has(seen.blob)) return;
    this.#count(seen.size);
    this.#keepFile(path, seen);
  }

  #keepFile(path: WorkspacePath, seen: SeenFile): void {
    const { mark, blob, kind, mode, size, mtime } = seen;
    if (mark !== "") this.seenFiles[path] = seen;
    this.items.push({ name: path, kind, mode, size, mtimeNs: BigInt(mtime), blob });
  }

  /** Counts one more item, which has this number of bytes. */
  #count(bytes: number): void {
    this.#counted += 1;
    this.#bytes += bytes;
    if (this.#counted > MOST_ITEMS) this.#miss(`it has more than ${MOST_ITEMS} files beside its objects`);
    if (this.#bytes > MOST_BYTES) this.#miss("its files beside the objects are too large");
  }

  #isNamed(path: WorkspacePath): boolean {
    if (!isGitName(path)) this.#miss("a name in it is no plain text");
    return isGitName(path);
  }

  #miss(problem: string): void {
    this.problem ??= problem;
  }
}

function folderItem(name: string, mode: number): GitFolderItem {
  return { name, kind: "dir", mode, size: 0, mtimeNs: 0n };
}
