import type { Entry } from "../values/entry.ts";
import type { NameRules } from "./find-collisions.ts";
import { isUtf8Path, nameOf } from "../values/path.ts";

/**
 * What a folder on a disk can hold. Capture, apply, sync and status ask this one description. What the folder cannot hold
 * is not compared with the record, not told to others, and not restored as a change.
 */
export interface FolderTraits {
  /** The kind of file system, as the system calls it: `ext4`, `exfat`, `fuseblk`. */
  readonly fileSystem: string;
  /** `known`: all file systems of this kind are so. `probed`: it was tried out there. `assumed`: neither was possible. */
  readonly source: "known" | "probed" | "assumed";
  /** Permission bits stay as they were set. */
  readonly modes: boolean;
  readonly symlinks: boolean;
  readonly hardLinks: boolean;
  /** The time of change moves with every change, and nobody can set it back. */
  readonly ctime: boolean;
  /** The step of the times of modification, in ns. */
  readonly timeStepNs: number;
  /** Which names are one and the same there. */
  readonly names: NameRules;
  /** Characters that no name there has. */
  readonly refusedCharacters: string;
  /** Names may be bytes that are not UTF-8. */
  readonly anyBytes: boolean;
}

/** A folder that can hold everything that a history can. */
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

/** The mode that is recorded of something new where the disk keeps none: as other programs make it. */
const USUAL_FILE_MODE = 0o644;
const USUAL_FOLDER_MODE = 0o755;

/** So much of a folder is read again at each look, where no stat tells for certain that nothing was changed. */
const MOST_READ_BYTES = 32 * 1024 * 1024;
const MOST_READ_ENTRIES = 10_000;

/** Is all of it read again at each look? Where times of change tell of changes, nothing has to be. */
export function readsAll(
  { ctime }: Pick<FolderTraits, "ctime">,
  { entries, bytes }: { readonly entries: number; readonly bytes: number },
): boolean {
  return !ctime && bytes <= MOST_READ_BYTES && entries <= MOST_READ_ENTRIES;
}

/**
 * Kinds of file systems, as /proc/self/mountinfo names them, that lie on another machine or are shared with one: what is changed there,
 * the system here is not told of. Those of FUSE count as such (sshfs, a virtual machine's shared folders, the mounts of containers).
 */
const SHARED = new Set(
  (
    "nfs nfs4 cifs smb3 smbfs 9p virtiofs ceph afs lustre beegfs gpfs ocfs2 gfs2 orangefs coda " +
    "vboxsf prl_fs vmhgfs drvfs fakeowner"
  ).split(" "),
);
/** Those of FUSE whose files lie on a disk of this machine. */
const OWN_FUSE = new Set(["fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.encfs", "fuse.ntfs-3g", "fuse.exfat"]);

/** May other machines change a file system of this kind without a word to this one? Then a watcher tells of a part of the changes only. */
export function isSharedFileSystem(kind: string): boolean {
  return SHARED.has(kind) || (kind.startsWith("fuse.") && !OWN_FUSE.has(kind));
}

/** Are some names there one and the same? */
export function foldsNames({ names }: Pick<FolderTraits, "names">): boolean {
  return names.caseInsensitive === true || names.normalise === true;
}

/**
 * An entry as it was found on disk, as what it stands for: where the disk keeps no modes, it has the mode that is recorded of
 * the path, and a usual one if nothing of its kind is.
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

/** Why a folder cannot hold an entry, in words; `undefined`: it can. */
export function whyNotHeld(traits: FolderTraits, { path, kind }: Pick<Entry, "path" | "kind">): string | undefined {
  if (kind === "symlink" && !traits.symlinks) return `${fileSystemOf(traits)} has no symbolic links`;
  return whyNoName(traits, nameOf(path));
}

/** The same, but that the folders above the path are looked at, too. */
export function whyNotHeldAt(traits: FolderTraits, entry: Pick<Entry, "path" | "kind">): string | undefined {
  if (holdsAllNames(traits)) return whyNotHeld(traits, entry);
  for (const name of entry.path.split("/").slice(0, -1)) {
    const why = whyNoName(traits, name);
    if (why !== undefined) return why;
  }
  return whyNotHeld(traits, entry);
}

/** Characters that some file systems have in no name, beside those that cannot be printed. */
export const REFUSED_SOMEWHERE = '"*:<>?\\|';

/** Are there disks that cannot hold an entry, by its kind or its name? */
export function mayNotBeHeld({ path, kind }: Pick<Entry, "path" | "kind">): boolean {
  if (kind === "symlink" || !isUtf8Path(path)) return true;
  return [...path].some((one) => one < " " || REFUSED_SOMEWHERE.includes(one));
}

/** Can it hold every name and every link? Then nothing has to be asked of single paths. */
export function holdsAllEntries(traits: FolderTraits): boolean {
  return traits.symlinks && holdsAllNames(traits);
}

function holdsAllNames({ refusedCharacters, anyBytes }: FolderTraits): boolean {
  return refusedCharacters === "" && anyBytes;
}

function whyNoName(traits: FolderTraits, name: string): string | undefined {
  if (holdsAllNames(traits)) return undefined;
  const { refusedCharacters, anyBytes } = traits;
  if (!anyBytes && !isUtf8Path(name)) return `${fileSystemOf(traits)} has no names that are not UTF-8`;
  const found = [...name].find((one) => refusedCharacters.includes(one) || (one < " " && refusedCharacters !== ""));
  if (found === undefined) return undefined;
  return `${fileSystemOf(traits)} has no names with ${JSON.stringify(found)}`;
}

function fileSystemOf({ fileSystem }: FolderTraits): string {
  return fileSystem === "" ? "the file system" : `this file system (${fileSystem})`;
}

/** What a folder cannot hold or tell, for people; empty: it can hold and tell everything. */
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
