import { HOLDS_ALL, REFUSED_SOMEWHERE, type FolderTraits } from "../../core/tree/folder-traits.ts";
import type { NameRules } from "../../core/tree/find-collisions.ts";
import { childOf, decodeName, parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { STAGING_FOLDER } from "../../core/tree/staging-folder.ts";
import type { Disk, FileStat } from "../../disk/disk.ts";
import { folderOf } from "../../disk/write-fully.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { removeTree } from "./remove-staged.ts";

/** Tries out what a folder can hold, in a folder of our own that is gone again afterwards. */

/** Names of a folder that are looked at for one with letters. */
const MOST_NAMES = 16;
/** 2001-09-09 01:46:40.123 UTC. */
const PAST_MS = 1_000_000_000_123;
const SECOND_NS = 1_000_000_000;
/** Two seconds: FAT has no smaller step. */
const COARSE_NS = 2 * SECOND_NS;

/** What is tried out; the rest is known otherwise. */
export type ProbedTraits = Omit<FolderTraits, "fileSystem" | "source">;

/** `undefined`: nothing can be written there. `mark`: no other probe of this folder has it. */
export function probeByWriting(disk: Disk, folder: string, mark: string): ProbedTraits | undefined {
  using fs = new ConfinedFs(disk, folder);
  const wasThere = fs.lstat(STAGING_FOLDER as WorkspacePath) !== undefined;
  const place = `${STAGING_FOLDER}/probe-${mark}` as WorkspacePath;
  try {
    if (!wasThere) fs.makeFolder(STAGING_FOLDER as WorkspacePath, 0o700);
    fs.makeFolder(place, 0o700);
    return new Probe(disk, fs, place).all();
  } catch (error) {
    // Read-only, full, or of somebody else: what cannot be tried out is not known.
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
    // Nothing was made, or somebody else stages there now.
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

  /** Does a time that is set back show in another one, which nobody can set? */
  #times(file: WorkspacePath): Pick<FolderTraits, "ctime" | "timeStepNs"> {
    using opened = this.#fs.openRead(file);
    const isSet = this.#can(() => this.#disk.setMtime(opened.fd, PAST_MS));
    const stat = this.#fs.fstat(opened);
    return { ctime: isSet && stat.ctimeNs > stat.mtimeNs, timeStepNs: stepOf(stat) };
  }

  #takesForOne(name: string, other: string): boolean {
    return this.#takes(name) && this.#has(other);
  }

  /** Can something be called so, and is it called so then? */
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

/** As far as one time shows it. */
function stepOf({ mtimeNs }: FileStat): number {
  const rest = Number(mtimeNs % BigInt(COARSE_NS));
  if (rest % SECOND_NS !== 0) return rest % 1_000_000 === 0 ? 1_000_000 : 1;
  return rest === 0 ? COARSE_NS : SECOND_NS;
}

/** What a folder does to the case of names, as far as a look tells; `undefined`: nothing with letters is there to look at. */
export function lookAtNames(disk: Disk, folder: string): NameRules | undefined {
  using fs = new ConfinedFs(disk, folder);
  for (const bytes of disk.someNames(folder, MOST_NAMES)) {
    const name = decodeName(bytes);
    const swapped = swappedCase(name);
    if (swapped === name) continue;
    const isOne = isSame(fs.lstat(childOf(ROOT, name)), fs.lstat(childOf(ROOT, swapped)));
    // Two names of one file, where names are told apart, are both on the list.
    return isOne && !hasName(fs, swapped) ? { caseInsensitive: true } : {};
  }
  return undefined;
}

/** The same of the folder that holds this one, where both are on one device: a new folder is as the one that it was made in. */
export function lookAtOwnName(disk: Disk, folder: string): NameRules | undefined {
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

/** What is not known of a folder that can be looked at only: what such a file system has lacked everywhere so far. */
export function assumedTraits(kind: string): FolderTraits {
  const known = { ...HOLDS_ALL, fileSystem: kind, source: "assumed" } as const;
  if (!WITHOUT_MODES.has(kind)) return known;
  return { ...known, modes: false, ctime: false };
}

const WITHOUT_MODES: ReadonlySet<string> = new Set(["vfat", "msdos", "exfat", "fuseblk", "ntfs", "ntfs3", "cifs"]);
