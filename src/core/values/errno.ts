// This module names errors of the operating system. Node.js has no name for some error numbers. The `code` of such an
// error is `UNKNOWN` or `Unknown system error -122`. These errors get their names here, so that a full quota is
// reported like a full disk.

const NO_PERMISSION =
  "the file or folder belongs to another user, or its permissions keep this user out (`ls -ld` shows which); if it is in the " +
  "store, `chronicle doctor` shows the command that gives it back to this user";

/** The errors of `rmdir` for a folder that is not empty. POSIX allows both names. */
export const NOT_EMPTY: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST"]);

interface Named {
  readonly name: string;
  /** The text that strerror(3) gives for the error. */
  readonly words: string;
}

/**
 * Maps the error numbers of Linux (errno.h) that have no name in libuv to names. 69 and 70 are error numbers of macOS.
 * On Linux, no file operation returns these two numbers.
 */
const WITHOUT_NAME: Readonly<Record<number, Named>> = {
  35: { name: "EDEADLK", words: "resource deadlock avoided" },
  37: { name: "ENOLCK", words: "no locks available" },
  52: { name: "EBADE", words: "invalid exchange" },
  62: { name: "ETIME", words: "timer expired" },
  67: { name: "ENOLINK", words: "link has been severed" },
  69: { name: "EDQUOT", words: "disk quota exceeded" },
  70: { name: "ESTALE", words: "stale file handle" },
  74: { name: "EBADMSG", words: "bad message" },
  115: { name: "EINPROGRESS", words: "operation now in progress" },
  116: { name: "ESTALE", words: "stale file handle" },
  117: { name: "EUCLEAN", words: "structure needs cleaning" },
  122: { name: "EDQUOT", words: "disk quota exceeded" },
  123: { name: "ENOMEDIUM", words: "no medium found" },
  124: { name: "EMEDIUMTYPE", words: "wrong medium type" },
  126: { name: "ENOKEY", words: "required key not available" },
  127: { name: "EKEYEXPIRED", words: "key has expired" },
  128: { name: "EKEYREVOKED", words: "key has been revoked" },
  129: { name: "EKEYREJECTED", words: "key was rejected by service" },
  133: { name: "EHWPOISON", words: "memory page has hardware error" },
  524: { name: "ENOTSUPP", words: "operation is not supported" },
};

/** Match Node's code for an error that Node cannot name, and the beginning of the error's message. */
const UNKNOWN = /^(?:UNKNOWN|Unknown system error -\d{1,5})$/;
const UNKNOWN_WORDS = /^(?:UNKNOWN: unknown error|(?:Unknown system error -\d+: )?Unknown system error -\d+)/;

/**
 * Returns the name of a system error, such as `ENOENT`. If neither Node nor `WITHOUT_NAME` has a name for the error's
 * number, the name is `E` and the number (`E999`). Returns `undefined` if the error's code is not that of a system
 * error. Ignores the class and the message of the error.
 */
export function nameOfErrno(error: Error): string | undefined {
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code !== "string") return undefined;
  if (/^E[A-Z0-9]+$/.test(code)) return code;
  return UNKNOWN.test(code) ? namedBy(numberOf(error)).name : undefined;
}

/**
 * Returns the message of a system error in Node's wording, even if Node does not know the number: `EDQUOT: disk quota
 * exceeded, write`.
 */
export function systemMessage(error: Error): string {
  return error.message.replace(UNKNOWN_WORDS, () => {
    const { name, words } = namedBy(numberOf(error));
    return `${name}: ${words}`;
  });
}

function numberOf(error: Error): number {
  if ("errno" in error && typeof error.errno === "number") return -error.errno;
  return "code" in error ? Number(/\d+$/.exec(String(error.code))?.[0] ?? 0) : 0;
}

function namedBy(number: number): Named {
  return WITHOUT_NAME[number] ?? { name: `E${number}`, words: `system error ${number}` };
}

const CHECK_DISK = "the disk reports a failure: check it (`dmesg` says more) before going on";
const CHECK_FILE_SYSTEM =
  "the file system is damaged: unmount it and check it (`fsck`, `xfs_repair`, `btrfs check`), then try again";
const MOUNT_AGAIN = "the device or the server behind this file system is gone: mount it again, and try again";
const UNLOCK = "this folder is encrypted, and its key is not at hand: unlock it, and try again";

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: "free some space on that disk, and try again",
  EDQUOT: "free some space within your quota (`quota -s` shows it), or have it raised, and try again",
  EROFS: "mount that file system for writing again (`mount -o remount,rw`), and try again",
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  EMFILE: "too many files are open: raise the limit (`ulimit -n`)",
  ENFILE: "too many files are open on this machine: end some programs, and try again",
  EIO: CHECK_DISK,
  EREMOTEIO: CHECK_DISK,
  EHWPOISON: CHECK_DISK,
  EUCLEAN: CHECK_FILE_SYSTEM,
  EBADMSG: CHECK_FILE_SYSTEM,
  EBADE: CHECK_FILE_SYSTEM,
  ESTALE: MOUNT_AGAIN,
  ENOTCONN: MOUNT_AGAIN,
  ENODEV: MOUNT_AGAIN,
  ENXIO: MOUNT_AGAIN,
  ENOLINK: MOUNT_AGAIN,
  ENOMEDIUM: MOUNT_AGAIN,
  ESHUTDOWN: MOUNT_AGAIN,
  ENOLCK: "this file system gives no locks: put the store on a local disk (--store), or start its lock service",
  ENOKEY: UNLOCK,
  EKEYEXPIRED: UNLOCK,
  EKEYREVOKED: UNLOCK,
};

/** Returns the user's next step after a system error of this name, as a sentence; `undefined` if no step is known. */
export function hintOfErrno(errno: string): string | undefined {
  if (Object.hasOwn(HINTS, errno)) return HINTS[errno];
  return /^E\d+$/.test(errno)
    ? "Chronicle has no name for this error number of the system; `dmesg` may say more"
    : undefined;
}

export function isOutOfSpace(errno: unknown): boolean {
  return errno === "ENOSPC" || errno === "EDQUOT";
}

const FAILURES: ReadonlySet<string> = new Set([
  ...["EIO", "EREMOTEIO", "EHWPOISON", "EUCLEAN", "EBADMSG", "EBADE"],
  ...["ENODEV", "ENXIO", "ENOLINK", "ENOMEDIUM", "ENOTCONN", "ESHUTDOWN", "ESTALE"],
]);

/** Returns true if the disk itself has failed. It is then unknown whether earlier writes are on the disk. */
export function isDiskFailure(errno: string | undefined): boolean {
  return errno !== undefined && FAILURES.has(errno);
}

/**
 * Returns true for a disk problem that can end while a process runs: a full disk, a read-only file system, or a failing
 * disk.
 */
export function isTroubleOfDisk(errno: string | undefined): boolean {
  return isOutOfSpace(errno) || errno === "EROFS" || isDiskFailure(errno);
}

/**
 * The reason why a server accepts no changes until somebody restarts it. The text names no path, because some readers
 * must not know the machine's paths.
 */
export const STAYS_IN_WORDS =
  "an earlier write may be in the file and not on the disk: changes are accepted again once the server is ended and started anew";

/** Describes a failure of a store's disk without naming a path, for people who must not know the machine's paths. */
export function troubleInWords(errno: string): string {
  if (errno === "EDQUOT") return "the quota of the store's disk is used up (EDQUOT)";
  if (isOutOfSpace(errno)) return `the store's disk has no room (${errno})`;
  if (errno === "EROFS") return "the store's file system is read-only (EROFS)";
  return isDiskFailure(errno) ? `the store's disk fails (${errno})` : `the system refuses it (${errno})`;
}
