import type { SimDisk } from "../../src/disk/sim-disk.ts";

/**
 * The files of a model test: what is at a path is a text, so that states can be compared with `===`. `dir`, or
 * `<mode> <content>`, or `-> <target>`; `undefined`: nothing.
 */
export type State = string | undefined;

/** All paths of a project, each with its state. */
export type Tree = ReadonlyMap<string, string>;

const ROOT = "/proj";

/** The project's files. */
export function readTree(disk: SimDisk): Map<string, string> {
  const tree = new Map<string, string>();
  const walk = (folder: string): void => {
    for (const item of disk.list(folder === "" ? ROOT : `${ROOT}/${folder}`)) {
      const path = folder === "" ? item.name.toString() : `${folder}/${item.name.toString()}`;
      if (path === ".chronicle-tmp") continue;
      const stat = disk.lstat(`${ROOT}/${path}`);
      if (stat?.kind === "dir") {
        tree.set(path, "dir");
        walk(path);
      } else if (stat?.kind === "symlink") tree.set(path, `-> ${disk.readlink(`${ROOT}/${path}`).toString()}`);
      else tree.set(path, `${((stat?.mode ?? 0) & 0o777).toString(8)} ${disk.content(`${ROOT}/${path}`)?.toString()}`);
    }
  };
  walk("");
  return tree;
}

/** What a tool, or a person, does to a path. */
export interface Touch {
  readonly how: "edit" | "remove" | "chmod" | "binary" | "link" | "folder";
  readonly path: string;
  /** Which place of a text, which mode. */
  readonly place: number;
}

const PLACES = 3;

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

/** Does something to a path, durably; what a file system refuses is not done. `word`: new each time. */
export function touch(disk: SimDisk, { how, path, place }: Touch, word: string): void {
  const at = `${ROOT}/${path}`;
  const stat = disk.lstat(at);
  if (how === "remove") return remove(disk, at);
  if (how === "chmod")
    return stat?.kind === "file" ? chmod(disk, at, [0o600, 0o644, 0o755][place % 3] ?? 0o644) : undefined;
  if (stat?.kind === "dir" || !makeParents(disk, path)) return;
  if (how === "folder") {
    if (stat === undefined) disk.makeFolder(at, 0o755);
  } else if (how === "link") {
    if (stat !== undefined) disk.unlink(at);
    disk.symlink(Buffer.from(word), at);
  } else if (how === "binary") write(disk, at, `\0${word}`);
  else edit(disk, at, { place, word });
  syncFolders(disk, path);
}

function edit(disk: SimDisk, at: string, { place, word }: { readonly place: number; readonly word: string }): void {
  const isFile = disk.lstat(at)?.kind === "file";
  const places = (isFile ? placesOf(disk.content(at)?.toString() ?? "") : undefined) ?? [];
  // Now and then a line is taken out.
  places[place % PLACES] = place >= PLACES * 3 ? "" : word;
  write(disk, at, textOf(places));
}

/** Writes as most editors do: another file takes the place. The mode stays. */
function write(disk: SimDisk, at: string, text: string): void {
  const stat = disk.lstat(at);
  if (stat !== undefined) disk.unlink(at);
  const fd = disk.open(at, "create", stat?.kind === "file" ? stat.mode & 0o777 : 0o644);
  disk.write(fd, Buffer.from(text), 0);
  disk.sync(fd);
  disk.close(fd);
}

function remove(disk: SimDisk, at: string): void {
  const kind = disk.lstat(at)?.kind;
  if (kind === undefined) return;
  if (kind === "dir") {
    for (const item of disk.list(at)) remove(disk, `${at}/${item.name.toString()}`);
    disk.removeFolder(at);
  } else disk.unlink(at);
  disk.syncFolder(at.slice(0, at.lastIndexOf("/")));
}

function chmod(disk: SimDisk, at: string, mode: number): void {
  const fd = disk.open(at, "read");
  disk.chmod(fd, mode);
  disk.sync(fd);
  disk.close(fd);
}

function makeParents(disk: SimDisk, path: string): boolean {
  const names = path.split("/").slice(0, -1);
  for (let i = 1; i <= names.length; i += 1) {
    const at = `${ROOT}/${names.slice(0, i).join("/")}`;
    const kind = disk.lstat(at)?.kind;
    if (kind === undefined) disk.makeFolder(at, 0o755);
    else if (kind !== "dir") return false;
  }
  return true;
}

function syncFolders(disk: SimDisk, path: string): void {
  const names = path.split("/");
  for (let i = names.length - 1; i >= 0; i -= 1) disk.syncFolder([ROOT, ...names.slice(0, i)].join("/"));
}
