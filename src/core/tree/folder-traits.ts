import type { Entry } from "../values/entry.ts";
import type { NameRules } from "./find-collisions.ts";
import { isUtf8Path, nameOf } from "../values/path.ts";

/**
 * The traits of a folder's file system, which determine what the folder can hold. If the folder cannot hold a property
 * of files, such as permission bits, a difference in this property never counts as a change. Captures, restores, syncs
 * and `status` do not compare the property with the record, send it to other copies, or restore it.
 */
export interface FolderTraits {
  /** The operating system's name for the kind of the file system, such as `ext4`, `exfat` or `fuseblk`. */
  readonly fileSystem: string;
  /**
   * The source of the traits. `known`: all file systems of this kind have these traits. `probed`: the traits were
   * tested in the folder. `assumed`: the kind is unknown, and no test was possible.
   */
  readonly source: "known" | "probed" | "assumed";
  /** True if permission bits are stored. */
  readonly modes: boolean;
  readonly symlinks: boolean;
  readonly hardLinks: boolean;
  /** True if every change of a file sets its change time (ctime), and no program can set the ctime back. */
  readonly ctime: boolean;
  /** The resolution of modification times, in ns. */
  readonly timeStepNs: number;
  /** The rules that determine which names are the same name in the folder. */
  readonly names: NameRules;
  /**
   * The characters that no name in the folder can have; `""` if names can have all characters. If the text is not
   * empty, names cannot have control characters either.
   */
  readonly refusedCharacters: string;
  /** True if names may have bytes that are not UTF-8. */
  readonly anyBytes: boolean;
}

/** The traits of a folder that can hold every state in a history. */
export const HOLDS_ALL: FolderTraits = {
  fileSystem: "",
  source: "known",
  modes: true,
  symlinks: true,
  hardLinks: true,
  ctime: true,
  timeStepNs: 1,
  names: {},
  refusedCharacters: "",
  anyBytes: true,
};

/**
 * The modes that are recorded for a new file and a new folder if the disk stores no modes. Most programs create files
 * and folders with these modes.
 */
const USUAL_FILE_MODE = 0o644;
const USUAL_FOLDER_MODE = 0o755;

/**
 * The maximum size, in bytes and entries, of a folder whose files are all read at each scan. Such a scan is needed if
 * stat cannot prove that a file is unchanged.
 */
const MOST_READ_BYTES = 32 * 1024 * 1024;
const MOST_READ_ENTRIES = 10_000;

/**
 * Returns true if each scan of a folder reads every file again. Reading every file is unnecessary if the ctime reveals
 * changes. In a folder above the limits, reading every file would take too long.
 */
export function readsAll(
  { ctime }: Pick<FolderTraits, "ctime">,
  { entries, bytes }: { readonly entries: number; readonly bytes: number },
): boolean {
  return !ctime && bytes <= MOST_READ_BYTES && entries <= MOST_READ_ENTRIES;
}

/**
 * The kinds of file systems that are on another machine, or are shared with another machine. The set has the names that
 * /proc/self/mountinfo uses. The watcher is not notified of changes that other machines make. FUSE file systems that
 * are not in `OWN_FUSE` are regarded as shared (sshfs, shared folders of a virtual machine, the mounts of containers).
 */
const SHARED = new Set(
  (
    "nfs nfs4 cifs smb3 smbfs 9p virtiofs ceph afs lustre beegfs gpfs ocfs2 gfs2 orangefs coda " +
    "vboxsf prl_fs vmhgfs drvfs fakeowner"
  ).split(" "),
);
/** The FUSE file systems whose files are on a disk of this machine. */
const OWN_FUSE = new Set(["fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.encfs", "fuse.ntfs-3g", "fuse.exfat"]);

/**
 * Returns true for a file system that other machines can change. A watcher does not report the changes of other
 * machines.
 */
export function isSharedFileSystem(kind: string): boolean {
  return SHARED.has(kind) || kind === "fuse" || (kind.startsWith("fuse.") && !OWN_FUSE.has(kind));
}

export function foldsNames({ names }: Pick<FolderTraits, "names">): boolean {
  return names.caseInsensitive === true || names.normalise === true;
}

/**
 * Converts an entry that was found on disk to the entry that is compared with the record. If the disk stores no modes,
 * the result has the recorded mode of the path. If the path has no recorded entry of the same kind, the result has the
 * usual mode.
 */
export function heldEntry(
  { modes }: Pick<FolderTraits, "modes">,
  found: Entry | undefined,
  recorded?: Entry,
): Entry | undefined {
  if (modes || found === undefined || found.kind === "symlink") return found;
  const usual = found.kind === "dir" ? USUAL_FOLDER_MODE : USUAL_FILE_MODE;
  const mode = recorded?.kind === found.kind ? recorded.mode : usual;
  return mode === found.mode ? found : { ...found, mode };
}

/**
 * Returns the reason why a folder cannot hold an entry, as text for people; `undefined` if the folder can hold the
 * entry. Checks the kind of the entry and the last name of its path.
 */
export function whyNotHeld(traits: FolderTraits, { path, kind }: Pick<Entry, "path" | "kind">): string | undefined {
  if (kind === "symlink" && !traits.symlinks) return `${fileSystemOf(traits)} has no symbolic links`;
  return whyNoName(traits, nameOf(path));
}

/** Like `whyNotHeld`, but also checks the folders above the path. */
export function whyNotHeldAt(traits: FolderTraits, entry: Pick<Entry, "path" | "kind">): string | undefined {
  if (holdsAllNames(traits)) return whyNotHeld(traits, entry);
  for (const name of entry.path.split("/").slice(0, -1)) {
    const why = whyNoName(traits, name);
    if (why !== undefined) return why;
  }
  return whyNotHeld(traits, entry);
}

/** The characters that some file systems do not allow in names, besides control characters. */
export const REFUSED_SOMEWHERE = '"*:<>?\\|';

/** Returns true for an entry that some file systems cannot hold. */
export function mayNotBeHeld({ path, kind }: Pick<Entry, "path" | "kind">): boolean {
  if (kind === "symlink" || !isUtf8Path(path)) return true;
  return [...path].some((one) => one < " " || REFUSED_SOMEWHERE.includes(one));
}

/** Returns true if the folder can hold every name and every symbolic link. Single paths then need no check. */
export function holdsAllEntries(traits: FolderTraits): boolean {
  return traits.symlinks && holdsAllNames(traits);
}

function holdsAllNames({ refusedCharacters, anyBytes }: FolderTraits): boolean {
  return refusedCharacters === "" && anyBytes;
}

function whyNoName(traits: FolderTraits, name: string): string | undefined {
  if (holdsAllNames(traits)) return undefined;
  const { refusedCharacters, anyBytes } = traits;
  if (!anyBytes && !isUtf8Path(name)) return `${fileSystemOf(traits)} stores only names that are UTF-8`;
  const found = [...name].find((one) => refusedCharacters.includes(one) || (one < " " && refusedCharacters !== ""));
  if (found === undefined) return undefined;
  return `${fileSystemOf(traits)} has no names with ${JSON.stringify(found)}`;
}

function fileSystemOf({ fileSystem }: FolderTraits): string {
  return fileSystem === "" ? "the file system" : `this file system (${fileSystem})`;
}

/** Returns a list of what a folder cannot hold or report, as text for people. */
export function lackedBy(traits: FolderTraits): string[] {
  const { modes, symlinks, hardLinks, ctime, names, refusedCharacters, anyBytes, timeStepNs } = traits;
  return [
    ...(modes ? [] : ["permissions"]),
    ...(symlinks ? [] : ["symbolic links"]),
    ...(hardLinks ? [] : ["hard links"]),
    ...(ctime ? [] : ["times of change"]),
    ...(timeStepNs < SECOND_NS ? [] : ["parts of a second"]),
    ...(names.caseInsensitive === true ? ["names that differ in case only"] : []),
    ...(names.normalise === true ? ["names that differ in their Unicode form only"] : []),
    ...(refusedCharacters === "" ? [] : [`names with any of ${[...refusedCharacters].join(" ")}`]),
    ...(anyBytes ? [] : ["names that are not UTF-8"]),
  ];
}

const SECOND_NS = 1_000_000_000;
