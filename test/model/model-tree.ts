import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { isStagedBeside } from "../../src/core/tree/staging-folder.ts";
import { folderOf, inRoot, onDisk, type ModelRoot } from "./model-roots.ts";

/**
 * The files of a model test: what is at a path is a text, so that states can be compared with `===`. `dir`, or
 * `<mode> <content>`, or `-> <target>`; `undefined`: nothing.
 */
export type State = string | undefined;

/** All paths of a project, each with its state. */
export type Tree = ReadonlyMap<string, string>;

/** The files of all roots. */
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
 * Places in which an apply staged files beside their own, of which the loss of power has taken the notes: on some disks
 * (btrfs) these are not durable in the order in which they were made. Such a place stays for a day, and is captured by
 * nothing. With its note it has to go.
 */
export function placesWithoutNotes(disk: SimDisk, tree: Tree, roots: readonly ModelRoot[]): string[] {
  const noted = new Set<string>();
  const walk = (folder: string): void => {
    for (const { name } of disk.list(folder)) {
      const at = `${folder}/${name.toString()}`;
      const kind = disk.lstat(at)?.kind;
      if (kind === "dir") walk(at);
      else if (kind === "symlink") noted.add(disk.readlink(at).toString());
    }
  };
  for (const folder of ["/store", ...roots.map((root) => `${root.folder}/.chronicle-tmp`)])
    if (disk.lstat(folder)?.kind === "dir") walk(folder);
  return [...tree.keys()].filter((path) => {
    const [, folder = "", name = ""] = /^(?:@[a-z]+:)?(?:(.*)\/)?([^/]*)$/s.exec(path) ?? [];
    return isStagedBeside(name) && !noted.has(folder === "" ? "." : folder);
  });
}

/** What a tool, or a person, does to a path. */
export interface Touch {
  /** `large`: over the limit. `lock`: from now on this very file cannot be opened. */
  readonly how: "edit" | "remove" | "chmod" | "binary" | "link" | "folder" | "large" | "lock";
  readonly path: string;
  /** Which place of a text, which mode. */
  readonly place: number;
}

const PLACES = 3;
/** The limit of a file's size. */
export const MOST_BYTES = 400;

/** A text of some places of a line each (or none), with lines between them that nobody edits. */
export function textOf(places: readonly string[]): string {
  const lines: string[] = [];
  for (let i = 0; i < PLACES; i += 1) {
    const place = places[i] ?? "";
    lines.push(...(place === "" ? [] : [`${place}\n`]), `-- ${i} end\n`, `-- ${i} gap\n`);
  }
  return lines.join("");
}

/** The places of such a text; `undefined`: it is another content. */
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

/** What a touch needs of a disk. */
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

/** Where something is done. */
export interface Touched {
  readonly disk: TouchedDisk;
  readonly roots: readonly ModelRoot[];
}

/** Does something to a path, durably; what a file system refuses is not done. `word`: new each time. */
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
  // Now and then a line is taken out.
  places[place % PLACES] = place >= PLACES * 3 ? "" : word;
  writeText(disk, at, textOf(places));
}

/** Writes as most editors do: another file takes the place. The mode stays. */
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

/** The folders in which a path lies, the root's first. */
function foldersAbove({ roots }: Touched, path: string): string[] {
  const top = folderOf(roots, path);
  const names = onDisk(roots, path)
    .slice(top.length + 1)
    .split("/");
  return names.map((_, i) => [top, ...names.slice(0, i)].join("/"));
}

function makeParents({ disk, roots }: Touched, path: string): boolean {
  for (const at of foldersAbove({ disk, roots }, path).slice(1)) {
    const kind = disk.lstat(at)?.kind;
    if (kind === undefined) disk.makeFolder(at, 0o755);
    else if (kind !== "dir") return false;
  }
  return true;
}

/** Is it a text of which only a part was written? How two of those merge, the model does not work out. */
export function isTorn(state: string): boolean {
  const text = /^\d+ (.*)$/s.exec(state)?.[1];
  return text !== undefined && !text.includes("\0") && placesOf(text) === undefined;
}
