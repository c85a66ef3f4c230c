import { HOLDS_ALL, REFUSED_SOMEWHERE, type FolderTraits, foldsNames } from "../../core/tree/folder-traits.ts";
import type { NameRules } from "../../core/tree/find-collisions.ts";
import { childOf, decodeName, parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { STAGING_FOLDER } from "../../core/tree/staging-folder.ts";
import type { Disk, FileStat, FileSystem } from "../../disk/disk.ts";
import { folderOf } from "../../disk/write-fully.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { removeTree } from "./remove-staged.ts";

/** A cache of the traits of file systems, by mount. */
export interface TraitsMemory {
  get(mount: string): FolderTraits | undefined;
  set(mount: string, traits: FolderTraits): unknown;
}

interface FolderProbeOptions {
  readonly disk: Disk;
  readonly memory: TraitsMemory;
  /** True if the probe may write to the folder. False for read-only commands. */
  readonly mayWrite: boolean;
  /** Returns a new mark, which becomes part of a name. Must be unique among the probes of a folder. */
  readonly newMark: () => string;
}

interface Known {
  readonly dev: bigint;
  readonly traits: FolderTraits;
  /**
   * True if the rules for names (see `rulesForNames`) were observed in this folder or in another folder of the same
   * mount. False if the rules were derived from the parent or assumed.
   */
  readonly isWhole: boolean;
}

/**
 * Finds the traits of folders. Reuses a result only if it is complete (`isWhole`) and the folder is still on the same
 * device.
 */
export class FolderProbe {
  readonly #options: FolderProbeOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: FolderProbeOptions) {
    this.#options = options;
  }

  /** Returns the traits of a folder; `HOLDS_ALL` if the folder is missing or cannot be inspected. */
  of(folder: string): FolderTraits {
    const { disk } = this.#options;
    try {
      const dev = disk.lstat(folder)?.dev;
      if (dev === undefined) return HOLDS_ALL;
      const known = this.#known.get(folder);
      if (known?.dev === dev && known.isWhole) return known.traits;
      const found = this.#find(folder, disk.fileSystemOf(folder));
      this.#known.set(folder, { dev, ...found });
      return found.traits;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return HOLDS_ALL;
    }
  }

  #find(folder: string, fileSystem: FileSystem): Omit<Known, "dev"> {
    const { disk } = this.#options;
    const base = fileSystem.isLinux ? { ...HOLDS_ALL, fileSystem: fileSystem.kind } : this.#probed(folder, fileSystem);
    if (base.source === "probed") return { traits: base, isWhole: true };
    const looked = lookAtNames(disk, folder);
    const names = looked ?? lookAtOwnName(disk, folder);
    return { traits: { ...base, names: names ?? {} }, isWhole: looked !== undefined };
  }

  #probed(folder: string, { kind, mount }: FileSystem): FolderTraits {
    const { disk, memory, mayWrite, newMark } = this.#options;
    const kept = memory.get(mount);
    if (kept !== undefined) return kept;
    const found = mayWrite ? probeByWriting(disk, folder, newMark()) : undefined;
    if (found === undefined) return assumedTraits(kind);
    const traits: FolderTraits = { ...found, fileSystem: kind, source: "probed" };
    memory.set(mount, traits);
    return traits;
  }
}

/** Returns the rules by which a folder treats different names as one; `undefined` if the folder never does so. */
export function rulesForNames(traits: FolderTraits): FolderTraits["names"] | undefined {
  return foldsNames(traits) ? traits.names : undefined;
}

/** The maximum number of names in a folder that are examined to find a name with letters. */
const MOST_NAMES = 16;

/**
 * The time 2001-09-09 01:46:41.001953125 UTC, in ns since the epoch. A double represents this number of seconds
 * exactly. The number of whole seconds is odd, so that a time step of one second can be distinguished from a step of
 * two seconds.
 */
const PAST_NS = 1_000_000_001_001_953_125n;
const SECOND_NS = 1_000_000_000;

/** The time step of FAT, in ns. No file system has a longer time step. */
const COARSE_NS = 2 * SECOND_NS;

type ProbedTraits = Omit<FolderTraits, "fileSystem" | "source">;

/**
 * Finds the traits of a folder by writing to it; `undefined` if the folder cannot be written. `mark` must be unique
 * among the probes of this folder.
 */
export function probeByWriting(disk: Disk, folder: string, mark: string): ProbedTraits | undefined {
  using fs = new ConfinedFs(disk, folder);
  const wasThere = fs.lstat(STAGING_FOLDER as WorkspacePath) !== undefined;
  const place = `${STAGING_FOLDER}/probe-${mark}` as WorkspacePath;
  try {
    if (!wasThere) fs.makeFolder(STAGING_FOLDER as WorkspacePath, 0o700);
    fs.makeFolder(place, 0o700);
    return new Probe(disk, fs, place).all();
  } catch (error) {
    // The folder is read-only, full, or another user's.
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  } finally {
    cleanUp(fs, place, wasThere);
  }
}

function cleanUp(fs: ConfinedFs, place: WorkspacePath, wasThere: boolean): void {
  try {
    removeTree(fs, place);
    if (!wasThere) fs.removeFolder(parentOf(place));
  } catch (error) {
    // Nothing was created, or the staging folder now has files of an apply.
    if (errnoOf(error) === undefined) throw error;
  }
}

class Probe {
  readonly #disk: Disk;
  readonly #fs: ConfinedFs;
  readonly #place: WorkspacePath;

  constructor(disk: Disk, fs: ConfinedFs, place: WorkspacePath) {
    this.#disk = disk;
    this.#fs = fs;
    this.#place = place;
  }

  all(): ProbedTraits {
    const file = this.#at("Probe");
    this.#fs.create(file, 0o600)[Symbol.dispose]();
    const times = this.#times(file);
    return {
      modes: this.#keepsModes(file),
      symlinks: this.#can(() => this.#fs.symlink(Buffer.from("target"), this.#at("link"))),
      hardLinks: this.#can(() => this.#fs.link(file, this.#at("second"))),
      ...times,
      names: {
        ...(this.#has("pROBE") ? { caseInsensitive: true } : {}),
        ...(this.#takesForOne("caf\u00e9", "cafe\u0301") ? { normalise: true } : {}),
      },
      refusedCharacters: [...REFUSED_SOMEWHERE].filter((one) => !this.#takes(`a${one}b`)).join(""),
      anyBytes: this.#takes("a\udce9b"),
    };
  }

  #at(name: string): WorkspacePath {
    return childOf(this.#place, name);
  }

  #has(name: string): boolean {
    return this.#fs.lstat(this.#at(name)) !== undefined;
  }

  #keepsModes(file: WorkspacePath): boolean {
    return [0o640, 0o711].every((mode) => {
      const isSet = this.#can(() => this.#fs.chmod(file, mode, "file"));
      return isSet && this.#fs.lstat(file)?.mode === mode;
    });
  }

  /**
   * Sets the mtime of a file to the past. Tests whether the ctime is still later than the mtime, and estimates the time
   * step of the disk.
   */
  #times(file: WorkspacePath): Pick<FolderTraits, "ctime" | "timeStepNs"> {
    using opened = this.#fs.openRead(file);
    const isSet = this.#can(() => this.#disk.setMtime(opened.fd, PAST_NS));
    const stat = this.#fs.fstat(opened);
    return { ctime: isSet && stat.ctimeNs > stat.mtimeNs, timeStepNs: stepOf(stat) };
  }

  #takesForOne(name: string, other: string): boolean {
    return this.#takes(name) && this.#has(other);
  }

  /** True if a file of this name can be created and is then listed under exactly this name. */
  #takes(name: string): boolean {
    const path = this.#at(name);
    if (!this.#can(() => this.#fs.create(path, 0o600)[Symbol.dispose]())) return false;
    return this.#fs.list(this.#place).some((item) => decodeName(item.name) === name);
  }

  #can(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  }
}

/** Estimates the time step of a disk, in ns, from the mtime of one file. */
function stepOf({ mtimeNs }: FileStat): number {
  const rest = Number(mtimeNs % BigInt(COARSE_NS));
  if (rest % SECOND_NS !== 0) return rest % 1_000_000 === 0 ? 1_000_000 : 1;
  return rest === 0 ? COARSE_NS : SECOND_NS;
}

/**
 * Finds out without writing how a folder treats the case of names; `undefined` if none of its first `MOST_NAMES` names
 * has letters.
 */
function lookAtNames(disk: Disk, folder: string): NameRules | undefined {
  using fs = new ConfinedFs(disk, folder);
  for (const bytes of disk.someNames(folder, MOST_NAMES)) {
    const name = decodeName(bytes);
    const swapped = swappedCase(name);
    if (swapped === name) continue;
    const isOne = isSame(fs.lstat(childOf(ROOT, name)), fs.lstat(childOf(ROOT, swapped)));
    // In a case-sensitive folder, one file can have both names, as hard links. In this case, the folder lists both
    // names.
    return isOne && !hasName(fs, swapped) ? { caseInsensitive: true } : {};
  }
  return undefined;
}

/**
 * Returns the assumed rules for the case of names in a folder in which no name with letters was found. These are the
 * rules that the parent applies to the folder's own name. Returns `undefined` if that name has no letters, or if the
 * parent is on another device.
 */
function lookAtOwnName(disk: Disk, folder: string): NameRules | undefined {
  const above = folderOf(folder).toString();
  const name = folder.slice(folder.lastIndexOf("/") + 1);
  const swapped = swappedCase(name);
  const [own, around] = [disk.lstat(folder), disk.lstat(above)];
  if (swapped === name || own === undefined || own.dev !== around?.dev) return undefined;
  return isSame(own, disk.lstat(`${above === "/" ? "" : above}/${swapped}`)) ? { caseInsensitive: true } : {};
}

function hasName(fs: ConfinedFs, name: string): boolean {
  return fs.list(ROOT).some((item) => decodeName(item.name) === name);
}

function isSame(a: FileStat | undefined, b: FileStat | undefined): boolean {
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function swappedCase(name: string): string {
  const upper = name.toUpperCase();
  return upper === name ? name.toLowerCase() : upper;
}

/**
 * Returns the assumed traits of a folder that was not probed. The kind of the file system decides whether the folder
 * counts as one with modes and a reliable ctime.
 */
function assumedTraits(kind: string): FolderTraits {
  const known = { ...HOLDS_ALL, fileSystem: kind, source: "assumed" } as const;
  if (!WITHOUT_MODES.has(kind)) return known;
  return { ...known, modes: false, ctime: false };
}

const WITHOUT_MODES: ReadonlySet<string> = new Set(["vfat", "msdos", "exfat", "fuseblk", "ntfs", "ntfs3", "cifs"]);
