import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { readFully } from "../disk/write-fully.ts";

/** The folders of a store, and its user's home. */
export interface StorePlaces {
  readonly home: string;
  readonly configFolder: string;
  readonly userHome?: string;
}

/** The folders of a home in which a desktop keeps a person's own files, by their names on macOS and most of Linux. */
const PERSONAL = ["Desktop", "Documents", "Downloads"] as const;
/** The variables of `user-dirs.dirs` (freedesktop.org) that name the same folders, in the person's language. */
const VARIABLES = /^\s*XDG_(?:DESKTOP|DOCUMENTS|DOWNLOAD)_DIR="((?:[^"\\]|\\.)*)"\s*$/gm;
/** Only so much of the file is read: it is a few lines. */
const MOST_BYTES = 64 * 1024;

/**
 * Describes a folder that a person would not track as a project: the whole file system, a home folder, or a home's
 * folder for the desktop, documents or downloads. `undefined`: any other folder. `folder`: without links.
 */
export function personalPlace(disk: Disk, folder: string, { configFolder, userHome }: StorePlaces): string | undefined {
  if (folder === "/") return "the whole file system";
  if (userHome === undefined) return undefined;
  const homes = [userHome, ...resolved(disk, userHome)];
  if (homes.includes(folder)) return "a home folder";
  const named = namedFolders(disk, `${parentOf(configFolder)}/user-dirs.dirs`, userHome);
  const usual = PERSONAL.map((name) => `${userHome}/${name}`);
  const all = [...usual, ...named].flatMap((one) => [one, ...resolved(disk, one)]);
  return all.includes(folder) ? "a person's own folder, not a project's" : undefined;
}

function parentOf(folder: string): string {
  return folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
}

/**
 * Returns the folders that the person's `user-dirs.dirs` names; none if there is no such file, or it cannot be read.
 */
function namedFolders(disk: Disk, file: string, userHome: string): string[] {
  try {
    const [real] = resolved(disk, file);
    if (real === undefined || disk.lstat(real)?.kind !== "file") return [];
    const named = [...textOf(disk, real).matchAll(VARIABLES)].map(([, value = ""]) => value.replaceAll(/\\(.)/g, "$1"));
    const absolute = named.map((value) => value.replace(/^\$HOME(?=\/|$)/, () => userHome).replace(/\/+$/, ""));
    return absolute.filter((value) => value.startsWith("/"));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

function textOf(disk: Disk, file: string): string {
  const fd = disk.open(file, "read");
  try {
    const bytes = Buffer.alloc(Math.min(disk.fstat(fd).size, MOST_BYTES));
    return bytes.toString("utf8", 0, readFully(disk, fd, bytes, 0));
  } finally {
    disk.close(fd);
  }
}

/** Returns the path with every link resolved, if it exists. */
function resolved(disk: Disk, path: string): string[] {
  try {
    return [disk.realpath(path)];
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}
