import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { isStagedBeside, STAGING_FOLDER } from "../../src/core/tree/staging-folder.ts";
import { folderOf, inRoot, onDisk, type ModelRoot } from "./model-roots.ts";

/**
 * The state of a path in a model. It is a text, so that states can be compared with `===`:
 *
 * - `dir`: a folder.
 * - `<mode> <content>`: a file. The mode is octal.
 * - `-> <target>`: a symbolic link.
 * - `undefined`: nothing.
 */
export type State = string | undefined;

/** The state of every path of a project. Absent paths are not in it. */
export type Tree = ReadonlyMap<string, string>;

/** Reads the files of all roots from the disk. The staging folder of a root (`.chronicle-tmp`) is left out. */
export function readTree(disk: SimDisk, roots: readonly ModelRoot[]): Map<string, string> {
  const tree = new Map<string, string>();
  const walk = (root: ModelRoot, folder: string): void => {
    for (const item of disk.list(folder === "" ? root.folder : `${root.folder}/${folder}`)) {
      const inner = folder === "" ? item.name.toString() : `${folder}/${item.name.toString()}`;
      const isOther = folder === "" && root.only !== undefined && inner !== root.only;
      if (isOther || inner === ".chronicle-tmp") continue;
      const [at, path] = [`${root.folder}/${inner}`, inRoot(root, inner)];
      const stat = disk.lstat(at);
      if (stat?.kind === "dir") {
        tree.set(path, "dir");
        walk(root, inner);
      } else if (stat?.kind === "symlink") tree.set(path, `-> ${disk.readlink(at).toString()}`);
      else tree.set(path, `${((stat?.mode ?? 0) & 0o777).toString(8)} ${disk.content(at)?.toString()}`);
    }
  };
  for (const root of roots) walk(root, "");
  return tree;
}

/**
 * Returns the paths of the staging folders that an apply has made beside its files, and whose notes a loss of power has
 * removed. This is possible because some disks (btrfs) do not make notes and staging folders durable in the order in
 * which they were made. Such a folder stays for a day, and no capture takes it. A staging folder that has a note must
 * be removed, so it is not among these paths.
 */
export function placesWithoutNotes(disk: SimDisk, tree: Tree, roots: readonly ModelRoot[]): string[] {
  const noted = new Set<string>();
  const walk = (folder: string): void => {
    for (const { name } of disk.list(folder)) {
      const at = `${folder}/${name.toString()}`;
      const kind = disk.lstat(at)?.kind;
      if (kind === "dir") walk(at);
      else if (kind === "symlink") noted.add(`${ownName(at)}/${disk.readlink(at).toString()}`);
    }
  };
  for (const folder of ["/store", ...roots.map((root) => `${root.folder}/.chronicle-tmp`)])
    if (disk.lstat(folder)?.kind === "dir") walk(folder);
  return [...tree.keys()].filter((path) => {
    const [, folder = "", name = ""] = /^(?:@[a-z]+:)?(?:(.*)\/)?([^/]*)$/s.exec(path) ?? [];
    const own = name.slice(`${STAGING_FOLDER}-`.length);
    return isStagedBeside(name) && !noted.has(`${own}/${folder === "" ? "." : folder}`);
  });
}

/** Returns the name of the staging folder that holds this note. Each root has its own staging folder for an apply. */
function ownName(note: string): string {
  return note.split("/").at(-3) ?? "";
}

/** A change that a tool or a person makes to a path. */
export interface Touch {
  /** `large`: the file is larger than the limit. `lock`: this file cannot be opened from now on. */
  readonly how: "edit" | "remove" | "chmod" | "binary" | "link" | "folder" | "large" | "lock";
  readonly path: string;
  /** Selects the place of a text that is edited, or the mode. */
  readonly place: number;
}

/** The number of places of a text. A place is one line, or no line. */
const PLACES = 3;
/** The maximum size of a file that is recorded, in bytes. */
export const MOST_BYTES = 400;

/**
 * Returns a text with these places. Fixed lines that nobody edits separate the places, so that edits of different
 * places always merge, and edits of the same place conflict.
 */
export function textOf(places: readonly string[]): string {
  const lines: string[] = [];
  for (let i = 0; i < PLACES; i += 1) {
    const place = places[i] ?? "";
    lines.push(...(place === "" ? [] : [`${place}\n`]), `-- ${i} end\n`, `-- ${i} gap\n`);
  }
  return lines.join("");
}

/** Returns the places of a text that `textOf` made. `undefined` for any other content. */
export function placesOf(text: string): string[] | undefined {
  const places: string[] = [];
  let rest = text;
  for (let i = 0; i < PLACES; i += 1) {
    const match = new RegExp(`^(?:([a-z]\\d+)\\n)?-- ${i} end\\n-- ${i} gap\\n`).exec(rest);
    if (match === null) return undefined;
    places.push(match[1] ?? "");
    rest = rest.slice(match[0].length);
  }
  return rest === "" ? places : undefined;
}

/** The functions of a disk that `touch` needs. */
export type TouchedDisk = Pick<
  SimDisk,
  | "lstat"
  | "content"
  | "list"
  | "open"
  | "write"
  | "sync"
  | "close"
  | "chmod"
  | "unlink"
  | "symlink"
  | "makeFolder"
  | "removeFolder"
  | "syncFolder"
>;

/** The disk and the roots that `touch` changes. */
export interface Touched {
  readonly disk: TouchedDisk;
  readonly roots: readonly ModelRoot[];
}

/**
 * Changes a path, and syncs the change. If a real file system would refuse the change, does nothing. `word`: a text
 * that is new each time.
 */
export function touch({ disk, roots }: Touched, { how, path, place }: Touch, word: string): void {
  const at = onDisk(roots, path);
  const stat = disk.lstat(at);
  if (how === "remove") return remove(disk, at);
  if (how === "chmod")
    return stat?.kind === "file" ? chmod(disk, at, [0o600, 0o644, 0o755][place % 3] ?? 0o644) : undefined;
  if (stat?.kind === "dir" || !makeParents({ disk, roots }, path)) return;
  if (how === "folder") {
    if (stat === undefined) disk.makeFolder(at, 0o755);
  } else if (how === "link") {
    if (stat !== undefined) disk.unlink(at);
    disk.symlink(Buffer.from(word), at);
  } else if (how === "binary" || how === "lock") writeText(disk, at, `\0${word}`);
  else if (how === "large") writeText(disk, at, word.repeat(MOST_BYTES));
  else edit(disk, at, { place, word });
  for (const folder of foldersAbove({ disk, roots }, path).toReversed()) disk.syncFolder(folder);
}

function edit(disk: TouchedDisk, at: string, { place, word }: { readonly place: number; readonly word: string }): void {
  const isFile = disk.lstat(at)?.kind === "file";
  const places = (isFile ? placesOf(disk.content(at)?.toString() ?? "") : undefined) ?? [];
  // Sometimes the line of the place is removed.
  places[place % PLACES] = place >= PLACES * 3 ? "" : word;
  writeText(disk, at, textOf(places));
}

/** Writes a file durably as most editors do: a new file replaces the old one. The mode stays. */
export function writeText(disk: TouchedDisk, at: string, text: string): void {
  const stat = disk.lstat(at);
  if (stat !== undefined) disk.unlink(at);
  const fd = disk.open(at, "create", stat?.kind === "file" ? stat.mode & 0o777 : 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.sync(fd);
  disk.close(fd);
}

function remove(disk: TouchedDisk, at: string): void {
  const kind = disk.lstat(at)?.kind;
  if (kind === undefined) return;
  if (kind === "dir") {
    for (const item of disk.list(at)) remove(disk, `${at}/${item.name.toString()}`);
    disk.removeFolder(at);
  } else disk.unlink(at);
  disk.syncFolder(at.slice(0, at.lastIndexOf("/")));
}

function chmod(disk: TouchedDisk, at: string, mode: number): void {
  const fd = disk.open(at, "read");
  disk.chmod(fd, mode);
  disk.sync(fd);
  disk.close(fd);
}

/** Returns the folders above a path, from the folder of the root down. */
function foldersAbove({ roots }: Touched, path: string): string[] {
  const top = folderOf(roots, path);
  const names = onDisk(roots, path)
    .slice(top.length + 1)
    .split("/");
  return names.map((_, i) => [top, ...names.slice(0, i)].join("/"));
}

/** Makes the missing folders above a path. Returns false if something that is not a folder is in the way. */
function makeParents({ disk, roots }: Touched, path: string): boolean {
  for (const at of foldersAbove({ disk, roots }, path).slice(1)) {
    const kind = disk.lstat(at)?.kind;
    if (kind === undefined) disk.makeFolder(at, 0o755);
    else if (kind !== "dir") return false;
  }
  return true;
}

/** True if the state is a text that was written only in part. The model does not compute how such texts merge. */
export function isTorn(state: string): boolean {
  const text = /^\d+ (.*)$/s.exec(state)?.[1];
  return text !== undefined && !text.includes("\0") && placesOf(text) === undefined;
}
