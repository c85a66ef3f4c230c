import { type GitFolder, type GitFolderItem, isGitName } from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { type Hash, sha256 } from "../../core/values/hash.ts";
import { childOf, decodeName, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat, NodeKind } from "../../disk/disk.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";
import { removeTree } from "../../disk/remove-tree.ts";
import { writeFully } from "../../disk/write-fully.ts";
import { optional } from "../../util/optional.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { isRacy } from "../files/same-stat.ts";
import type { KeepContent } from "../git-states.ts";
import { gitPath, UnreadableGit } from "./git-folder-pair.ts";
import { markOf, ObjectLinks, type SeenFolders } from "./object-links.ts";
import { isInState, readBytes } from "./read-git-state.ts";

/** The limits of one git folder, without its objects. */
const MOST_ITEMS = 2_000;
const MOST_ITEM_BYTES = 8 * 1024 ** 2;
const MOST_BYTES = 64 * 1024 ** 2;
/** The most reflogs of branches. Those of more branches are not kept. */
const MOST_LOGS = 500;

/** Folders that every repository has, even if no ref is in them. */
const REF_FOLDERS = ["refs", "refs/heads", "refs/tags"];
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;

/** What is known of a git folder from the last time, so that what has not changed is not read again. */
interface Note {
  readonly objects: SeenFolders;
  readonly items: Readonly<Record<string, { readonly mark: string; readonly blob: Hash }>>;
}

const NO_NOTE: Note = { objects: {}, items: {} };

export interface KeptFoldersParts {
  readonly disk: Disk;
  /** The absolute path of a private folder of the store, for the objects and notes. */
  readonly place: string;
  readonly nowNs: () => bigint;
  /** See `ObjectLinks`. */
  readonly isIdle: () => Promise<boolean>;
  /** True if contents may be missing in the store, so that all of them are passed to `keep` again. */
  readonly isForgotten: boolean;
}

/**
 * Keeps git folders beforehand, so that a removed one can be made anew: their small files as contents, and their objects
 * as links in the store (`ObjectLinks`). What the state of the repository says (HEAD, refs, index) is not kept again.
 *
 * The notes are files, because most commands are processes of their own.
 */
export class KeptFolders {
  readonly #parts: KeptFoldersParts;
  readonly #seen = new Set<string>();

  constructor(parts: KeptFoldersParts) {
    this.#parts = parts;
  }

  /** Keeps the git folder of one repository. */
  async keep(path: WorkspacePath, own: ConfinedFs, keep: KeepContent): Promise<GitFolder> {
    const { disk, nowNs, isIdle, isForgotten } = this.#parts;
    const place = placeOf(this.#parts.place, path);
    this.#seen.add(place);
    const note = this.#noteOf(place);
    const before = isForgotten ? {} : note.items;
    const walk = new FolderWalk({ own, keep, known: before, nowNs: nowNs() });
    try {
      await walk.folder(ROOT);
      makePlace(disk, this.#parts.place, place);
      using into = new ConfinedFs(disk, `${place}/files`);
      const links = new ObjectLinks({ disk, from: own, into, nowNs: nowNs(), isIdle }, note.objects);
      const { seen, problem = walk.problem } = await links.keep(walk.objects);
      this.#write(place, note, { objects: seen, items: walk.known });
      const mode = own.lstat(gitPath("HEAD"))?.mode ?? FILE_MODE;
      return { objects: birthOf(disk, own), mode, items: walk.items, ...optional({ problem }) };
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      throw new UnreadableGit(`it cannot be read (${errno})`);
    }
  }

  /** Removes what is kept of repositories that `keep` was not called for. */
  async drop(): Promise<void> {
    const { disk, place, isIdle } = this.#parts;
    const kept = disk.lstat(place)?.kind === "dir" ? disk.list(place).map(({ name }) => decodeName(name)) : [];
    const gone = kept.filter((name) => !this.#seen.has(`${place}/${name}`));
    if (gone.length > 0 && (await isIdle())) for (const name of gone) removeTree(disk, `${place}/${name}`);
  }

  #noteOf(place: string): Note {
    const bytes = readDiskFile(this.#parts.disk, `${place}/note.json`);
    return bytes === undefined ? NO_NOTE : parseNote(bytes);
  }

  #write(place: string, before: Note, note: Note): void {
    const { disk } = this.#parts;
    const text = JSON.stringify(note);
    if (text === JSON.stringify(before)) return;
    const fresh = `${place}/note.json.${process.pid}.new`;
    if (disk.lstat(fresh) !== undefined) disk.unlink(fresh);
    const fd = disk.open(fresh, "create");
    try {
      writeFully(disk, fd, Buffer.from(text), null);
    } finally {
      disk.close(fd);
    }
    disk.rename(fresh, `${place}/note.json`);
  }
}

function placeOf(folder: string, path: WorkspacePath): string {
  return `${folder}/${sha256(Buffer.from(path)).slice(0, 16)}`;
}

/** Returns the folder with the objects that are kept of a repository; `undefined` if there is none. */
export function keptObjects(disk: Disk, folder: string, path: WorkspacePath): ConfinedFs | undefined {
  const place = `${placeOf(folder, path)}/files`;
  return disk.lstat(place)?.kind === "dir" ? new ConfinedFs(disk, place) : undefined;
}

/** A note that was cut off by a power loss is no note. */
function parseNote(bytes: Buffer): Note {
  try {
    return JSON.parse(bytes.toString()) as Note;
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

/** Identifies the folder of the objects of a git folder; empty if there is none. */
export function birthOf(disk: Disk, own: ConfinedFs): string {
  const path = gitPath("objects");
  const stat = own.lstat(path);
  return stat === undefined ? "" : `${stat.dev} ${stat.ino} ${disk.birthOf(own.at(path)) ?? ""}`;
}

interface WalkParts {
  readonly own: ConfinedFs;
  readonly keep: KeepContent;
  readonly known: Note["items"];
  readonly nowNs: bigint;
}

/** Walks through a git folder. */
class FolderWalk {
  readonly items: GitFolderItem[] = [];
  /** The folders of objects, which are not walked through. */
  readonly objects: string[] = [];
  readonly known: Record<string, Note["items"][string]> = {};
  problem: string | undefined;
  readonly #parts: WalkParts;
  #bytes = 0;
  #logs = 0;

  constructor(parts: WalkParts) {
    this.#parts = parts;
    for (const name of REF_FOLDERS) this.items.push(folderItem(name, FOLDER_MODE));
  }

  async folder(folder: WorkspacePath): Promise<void> {
    const { own } = this.#parts;
    for (const { name: bytes, kind } of own.list(folder)) {
      const path = childOf(folder, decodeName(bytes));
      if (path === "refs" || isInState(path) || path.endsWith(".lock")) continue;
      if (kind === "dir") await this.#folder(path);
      else if (kind !== "special" && !this.#isPastLogs(path)) await this.#file(path, kind);
    }
  }

  async #folder(path: WorkspacePath): Promise<void> {
    const stat = this.#parts.own.lstat(path);
    if (stat?.kind !== "dir" || !this.#isNamed(path)) return;
    this.#add(folderItem(path, stat.mode));
    if (/(?:^|\/)objects$/.test(path) && !/(?:^|\/)(?:refs|logs)\//.test(path)) this.objects.push(path);
    else await this.folder(path);
  }

  /** True for the reflog of a branch if there are too many. They are left out, as git works without them. */
  #isPastLogs(path: WorkspacePath): boolean {
    return path.startsWith("logs/refs/") && (this.#logs += 1) > MOST_LOGS;
  }

  async #file(path: WorkspacePath, kind: NodeKind): Promise<void> {
    const { own, keep, known, nowNs } = this.#parts;
    const stat = own.lstat(path);
    if (stat?.kind !== kind || !this.#isNamed(path)) return;
    this.#bytes += stat.size;
    if (stat.size > MOST_ITEM_BYTES || this.#bytes > MOST_BYTES) return this.#miss(`${path} in it is too large`);
    const mark = markOf(stat);
    const before = known[path];
    if (before?.mark === mark) return this.#addFile(path, stat, before);
    const bytes = kind === "symlink" ? own.readlink(path) : readBytes(own, path, MOST_ITEM_BYTES)?.bytes;
    if (bytes === undefined) return;
    const blob = await keep(bytes);
    this.#addFile(path, { ...stat, size: bytes.length }, { mark: isRacy(stat, nowNs) ? "" : mark, blob });
  }

  #addFile(path: WorkspacePath, { kind, mode, size, mtimeNs }: FileStat, known: Note["items"][string]): void {
    if (known.mark !== "") this.known[path] = known;
    this.#add({ name: path, kind: kind === "symlink" ? kind : "file", mode, size, mtimeNs, blob: known.blob });
  }

  #isNamed(path: WorkspacePath): boolean {
    if (!isGitName(path)) this.#miss("a name in it is no plain text");
    return isGitName(path);
  }

  #add(item: GitFolderItem): void {
    if (this.items.length >= MOST_ITEMS) this.#miss(`it has more than ${MOST_ITEMS} files beside its objects`);
    else this.items.push(item);
  }

  #miss(problem: string): void {
    this.problem ??= problem;
  }
}

function folderItem(name: string, mode: number): GitFolderItem {
  return { name, kind: "dir", mode, size: 0, mtimeNs: 0n };
}
