import { errnoOf, ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { readFully } from "../disk/write-fully.ts";
import { processPath } from "../disk/process-path.ts";
import type { InitOptions } from "../api/store-api.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../core/filter/filter.ts";
import { isIn, placeOfRoot, wholePath } from "../core/tree/root-place.ts";
import type { RootRecord } from "../core/records/workspace-record.ts";
import { liesIn, listedName, ownFolderAround } from "../disk/refuse-own-folders.ts";
import { changedRoot } from "../engine/commit/config.ts";

/** Returns the roots of a new workspace. The first root has no id. */
export function rootsFrom(disk: Disk, options: InitOptions): RootRecord[] {
  const { roots, adopt: _adopt, force: _force, onProgress: _onProgress, ...config } = options;
  const ids = new Set<string>();
  const places = roots.map((given) => placeOf(disk, given));
  refuseNested(disk, places);
  return places.map((place, i) => {
    const root: RootRecord = {
      id: i === 0 ? null : newRootId(place, ids),
      ...place,
      filter: DEFAULT_FILTER,
      limits: DEFAULT_LIMITS,
    };
    return changedRoot(root, config);
  });
}

/** Throws `REFUSED` for equal or nested roots, because files in two roots would be recorded and restored twice. */
function refuseNested(disk: Disk, places: readonly Place[]): void {
  for (const [i, inner] of places.entries()) {
    const outer = places.find((one, at) => at !== i && one.only === undefined && isWithin(disk, inner, one.folder));
    const twin = places.find((one, at) => at < i && placeOfRoot(one) === placeOfRoot(inner));
    if (outer === undefined && twin === undefined) continue;
    const path = placeOfRoot(inner);
    throw new ChronicleError("REFUSED", `${path} is tracked already, with ${placeOfRoot(outer ?? twin ?? inner)}`, {
      hint: "leave it out: a tracked folder includes everything in it",
      data: { path },
    });
  }
}

/** True if the place is this folder or lies in it. A single file counts as being in its folder. */
function isWithin(disk: Disk, place: Place, folder: string): boolean {
  return isIn(placeOfRoot(place), folder) || liesIn(disk, place.folder, folder);
}

interface Place {
  readonly folder: string;
  readonly only?: string;
}

function placeOf(disk: Disk, given: string): Place {
  const path = resolved(disk, wholePath("a root", given));
  if (!path.isWellFormed())
    throw new ChronicleError("REFUSED", "a tracked folder's own path must be UTF-8", { hint: "rename the folder" });
  const kind = disk.lstat(path)?.kind;
  if (kind === "dir") return { folder: path };
  if (kind !== "file")
    throw new ChronicleError("REFUSED", `${path} is neither a folder nor a file`, { hint: "name a folder or a file" });
  const slash = path.lastIndexOf("/");
  const folder = path.slice(0, slash) || "/";
  return { folder, only: listedName(disk, folder, path.slice(slash + 1)) };
}

/** The errnos of a path that is missing, or that leads through a file. */
const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

/**
 * Returns the path with its links resolved. Throws `NOT_FOUND` if the path does not exist, and `USAGE` for the paths
 * that `refuseProcessPath` refuses.
 */
export function resolved(disk: Disk, given: string): string {
  try {
    const real = disk.realpath(given);
    if (real !== given) refuseProcessPath(disk, given);
    return real;
  } catch (error) {
    if (!GONE.has(errnoOf(error) ?? "")) throw error;
    throw new ChronicleError("NOT_FOUND", `there is no ${given}`, {
      hint: "name a folder or a file that exists",
      data: { folder: given },
      cause: error,
    });
  }
}

function newRootId({ folder, only }: Place, taken: Set<string>): string {
  const name = only ?? folder.slice(folder.lastIndexOf("/") + 1);
  const base =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 40) || "root";
  let id = base;
  for (let n = 2; taken.has(id); n += 1) id = `${base}-${n}`;
  taken.add(id);
  return id;
}

/**
 * Throws `UNSAFE` if the folder belongs to the store. Without `force`, also throws `UNSAFE` for a personal place, such
 * as a home folder. `folder` must have no links.
 */
export function refuseUnsafe(disk: Disk, folder: string, options: StorePlaces & { readonly force: boolean }): void {
  if (ownFolderAround(disk, folder, [options.home, options.configFolder]) !== undefined) {
    throw new ChronicleError("UNSAFE", `${folder} belongs to Chronicle's own store: it cannot be tracked`, {
      hint: "choose another folder",
    });
  }
  const what = options.force ? undefined : personalPlace(disk, folder, options);
  if (what === undefined) return;
  throw new ChronicleError("UNSAFE", `${folder} is ${what}`, {
    hint: "begin in a project's folder (`-C DIR`), or say --force if you mean it",
    data: { folder },
  });
}

interface StorePlaces {
  readonly home: string;
  readonly configFolder: string;
  readonly userHome?: string;
}

/** The folders in a home folder for a person's own files, as macOS and most Linux systems name them. */
const PERSONAL = ["Desktop", "Documents", "Downloads"] as const;

/** Matches the lines of `user-dirs.dirs` (freedesktop.org) that name these folders in the person's language. */
const VARIABLES = /^\s*XDG_(?:DESKTOP|DOCUMENTS|DOWNLOAD)_DIR="((?:[^"\\]|\\.)*)"\s*$/gm;

/** The maximum number of bytes that are read from `user-dirs.dirs`. Usually, the file has only a few lines. */
const MOST_BYTES = 64 * 1024;

/**
 * Returns a description of a personal place for people; `undefined` for any other folder. `folder` must have no links.
 */
function personalPlace(disk: Disk, folder: string, { configFolder, userHome }: StorePlaces): string | undefined {
  if (folder === "/") return "the whole file system";
  if (userHome === undefined) return undefined;
  const homes = [userHome, ...resolvedPlace(disk, userHome)];
  if (homes.includes(folder)) return "a home folder";
  const named = namedFolders(disk, `${parentOf(configFolder)}/user-dirs.dirs`, userHome);
  const usual = PERSONAL.map((name) => `${userHome}/${name}`);
  const all = [...usual, ...named].flatMap((one) => [one, ...resolvedPlace(disk, one)]);
  return all.includes(folder) ? "a person's own folder, not a project's" : undefined;
}

function parentOf(folder: string): string {
  return folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
}

/** Returns the personal folders that `user-dirs.dirs` names; none if the file is missing or unreadable. */
function namedFolders(disk: Disk, file: string, userHome: string): string[] {
  try {
    const [real] = resolvedPlace(disk, file);
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

/**
 * Returns a list of one path: the given path with its links resolved. Returns an empty list if the path cannot be
 * resolved.
 */
function resolvedPlace(disk: Disk, path: string): string[] {
  try {
    return [disk.realpath(path)];
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

/**
 * Throws `USAGE` if the path leads into `/proc` or `/dev/fd`, because such a path means another file in each process.
 * `path` must be absolute.
 */
export function refuseProcessPath(disk: Disk, path: string): void {
  const led = processPath(disk, path);
  if (led === undefined) return;
  throw new ChronicleError("USAGE", `${path} leads to ${led}, which differs in each process`, {
    hint: "give the folder's own path",
    data: { path },
  });
}
