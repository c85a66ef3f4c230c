import { createPrivateKey } from "node:crypto";
import { ChronicleError, errnoOf, hintOfSystemError } from "../core/values/errors.ts";
import type { HeadKeeper, HeadToSign, KeptHead, SignedHead } from "../engine/log/context.ts";
import { hintOfErrno, systemMessage } from "../core/values/errno.ts";
import { sha256 } from "../core/values/hash.ts";
import {
  encodeHead,
  generateKey,
  parseSignedHead,
  signHead,
  type SignedHeadContent,
  verifySignedHead,
  vkeyOf,
} from "../core/log/signed-head.ts";
import type { Disk } from "../disk/disk.ts";
import { readDiskFile } from "../disk/read-disk-file.ts";
import { createFileDurably, folderOf, uniqueMark, writeFileDurably, writeFully } from "../disk/write-fully.ts";

const KEY_NAME = "chronicle";

/**
 * The suffix of a file that names the store of a workspace's history. The name of the file is the workspace's id with
 * this suffix.
 */
const STORE = ".store";

/**
 * The text between the workspace's id and a hash in the file name of a retired head. The hash is that of the head's
 * note (its signed text).
 */
const FORMER = ".former-";

interface Loaded<T> {
  /** A text that changes when the file changes. */
  readonly mark: string;
  readonly value: T;
}

interface KeyPair {
  readonly pem: string;
  readonly vkey: string;
}

interface HeadPlaces {
  readonly configFolder: string;
  readonly home: string;
  readonly pid: number;
  /** The file of the key. Default: `key.pem` in the configuration folder. */
  readonly keyFile?: string;
}

/**
 * Returns the folder of the store that holds the history of a workspace; `undefined` if no store is noted beside the
 * workspace's head.
 */
export function storeOfHead(disk: Disk, configFolder: string, workspaceId: string): string | undefined {
  const home = readDerived(disk, `${configFolder}/heads/${workspaceId}${STORE}`) ?? "";
  // The note is never synced, so a power cut can leave zeros in place of its bytes.
  return home === "" || home.includes("\0") ? undefined : home;
}

/** Keeps the key (0600) and the signed heads in the configuration folder, apart from the store. */
export class FileHeadKeeper implements HeadKeeper {
  readonly keyFile: string;
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #pid: number;
  readonly #home: string;
  /** The workspaces whose store this process has already noted beside their heads. */
  readonly #noted = new Set<string>();
  readonly #last = new Map<string, Loaded<KeptHead | undefined>>();
  #key: Loaded<KeyPair> | undefined;

  /** `pid` is part of temporary file names, so that several processes can keep heads at the same time. */
  constructor(disk: Disk, { configFolder, home, pid, keyFile = `${configFolder}/key.pem` }: HeadPlaces) {
    this.#disk = disk;
    this.#folder = configFolder;
    this.#home = home;
    this.#pid = pid;
    this.keyFile = keyFile;
  }

  verifierKey(): string | undefined {
    return this.#keyPair()?.vkey;
  }

  makeKey(): string {
    if (this.#keyPair() === undefined) this.#orNotKept(() => this.#writeKey());
    return this.#ownKey().vkey;
  }

  last(workspaceId: string): KeptHead | undefined {
    const mark = markOf(this.#disk, this.#headFile(workspaceId));
    const known = this.#last.get(workspaceId);
    if (known !== undefined && known.mark === mark) return known.value;
    const value = this.#load(workspaceId, this.#headFile(workspaceId));
    this.#last.set(workspaceId, { mark, value });
    return value;
  }

  first(workspaceId: string): KeptHead | undefined {
    return this.#load(workspaceId, this.#firstFile(workspaceId));
  }

  signFirst(head: HeadToSign): void {
    this.#orNotKept(() => {
      this.#noteStore(head.workspaceId);
      this.#write(this.#firstFile(head.workspaceId), this.sign(head).note);
    });
  }

  keep(head: HeadToSign): void {
    const newest = this.#load(head.workspaceId, this.#headFile(head.workspaceId));
    // If another process has kept a later valid head, that head stays.
    if (newest === undefined || newest.seq <= head.seq || !newest.valid) this.replace(head);
  }

  replace(head: HeadToSign): void {
    const { workspaceId } = head;
    this.#noteStore(workspaceId);
    this.#write(this.#headFile(workspaceId), this.sign(head).note);
    const first = this.#firstFile(workspaceId);
    // The first head is used only while no other head is kept, so a power cut before this removal is harmless.
    if (this.#disk.lstat(first) !== undefined) this.#disk.unlink(first);
  }

  /**
   * Keeps a signed note from elsewhere as the head of an imported history. Retires the note that was kept until now.
   * Also keeps the notes in `former` as retired notes.
   */
  take(workspaceId: string, { note, former }: { readonly note: string; readonly former: readonly string[] }): void {
    this.#orNotKept(() => {
      this.#noteStore(workspaceId);
      const kept = readText(this.#disk, this.#headFile(workspaceId));
      for (const one of [...former, ...(kept === undefined || kept === note ? [] : [kept])])
        this.#keepFormer(workspaceId, one);
      if (kept !== note) this.#write(this.#headFile(workspaceId), note);
      const first = this.#firstFile(workspaceId);
      if (this.#disk.lstat(first) !== undefined) this.#disk.unlink(first);
    });
  }

  /** Writes the key file, unless the file exists already. `pem` must be an Ed25519 private key. */
  takeKey(pem: string): void {
    this.#orNotKept(() => this.#writeKey(pem));
  }

  former(workspaceId: string): readonly KeptHead[] {
    const folder = `${this.#folder}/heads`;
    if (this.#disk.lstat(folder)?.kind !== "dir") return [];
    return this.#disk
      .list(folder)
      .map(({ name }) => name.toString())
      .filter((name) => name.startsWith(`${workspaceId}${FORMER}`))
      .sort()
      .flatMap((name) => this.#load(workspaceId, `${folder}/${name}`) ?? []);
  }

  retire(workspaceId: string): string | undefined {
    const note = readText(this.#disk, this.#headFile(workspaceId));
    return note === undefined ? undefined : this.#keepFormer(workspaceId, note);
  }

  /** Keeps a note for ever, and returns the name of its file. */
  #keepFormer(workspaceId: string, note: string): string {
    // The name contains the note's hash, so that an equal note is kept only once.
    const name = `${workspaceId}${FORMER}${sha256(Buffer.from(note)).slice(0, 16)}`;
    const path = `${this.#folder}/heads/${name}`;
    if (this.#disk.lstat(path) === undefined) this.#write(path, note);
    return name;
  }

  sign(head: HeadToSign): SignedHead {
    const { pem, vkey } = this.#ownKey();
    const { workspaceId, seq, hash, logRoot, root } = head;
    const note = signHead(encodeHead({ workspace: workspaceId, seq, hash, logRoot, root }), pem, KEY_NAME);
    return { workspaceId, seq, hash, logRoot, root, note, key: vkey };
  }

  /**
   * Notes the store of a workspace beside its head. Several stores can keep their heads in one folder, and `doctor`
   * must tell these stores apart.
   */
  #noteStore(workspaceId: string): void {
    if (this.#noted.has(workspaceId)) return;
    this.#noted.add(workspaceId);
    const path = `${this.#headFile(workspaceId)}${STORE}`;
    if (readDerived(this.#disk, path) === this.#home) return;
    makeFolders(this.#disk, `${this.#folder}/heads`);
    const fresh = `${path}.${this.#pid}.new`;
    if (this.#disk.lstat(fresh) !== undefined) this.#disk.unlink(fresh);
    const fd = this.#disk.open(fresh, "create");
    try {
      // The note is not synced to the disk. If a power cut loses the note, a later process writes it again.
      writeFully(this.#disk, fd, Buffer.from(this.#home), 0);
    } finally {
      this.#disk.close(fd);
    }
    this.#disk.rename(fresh, path);
  }

  /**
   * Calls `keep`. Converts an error of the system to an error that names the folder and a way to choose another folder.
   */
  #orNotKept(keep: () => void): void {
    try {
      keep();
    } catch (error) {
      throw notKept(error, this.#folder);
    }
  }

  #write(path: string, note: string): void {
    makeFolders(this.#disk, `${this.#folder}/heads`);
    writeFileDurably(this.#disk, path, Buffer.from(note), { mark: `.${this.#pid}` });
  }

  #load(workspaceId: string, path: string): KeptHead | undefined {
    let note: string | undefined;
    try {
      note = readText(this.#disk, path);
      return note === undefined ? undefined : this.#checkedWhenAsked(workspaceId, note, parseSignedHead(note).content);
    } catch (error) {
      if (error instanceof ChronicleError) return noHead(workspaceId, note ?? "");
      if (!isNotPermitted(error)) throw error;
      return { ...noHead(workspaceId, ""), unreadable: `${path} cannot be read: ${errnoOf(error) ?? ""}` };
    }
  }

  /**
   * Returns a head whose signature is checked only when `valid` is read. Most heads agree with the log, and then need
   * no proof.
   */
  #checkedWhenAsked(workspaceId: string, note: string, content: SignedHeadContent): KeptHead {
    const { seq, hash, logRoot, root, workspace } = content;
    const isSignedBy = (key: string): boolean => workspace === workspaceId && isSigned(note, key);
    const own = (): string | undefined => this.#readableKey()?.vkey;
    let judged: { readonly key: string | undefined; readonly valid: boolean } | undefined;
    return {
      workspaceId,
      seq,
      hash,
      logRoot,
      root,
      note,
      isSignedBy,
      get valid() {
        const key = own();
        if (judged === undefined || judged.key !== key) judged = { key, valid: key !== undefined && isSignedBy(key) };
        return judged.valid;
      },
    };
  }

  #headFile(workspaceId: string): string {
    return `${this.#folder}/heads/${workspaceId}`;
  }

  #firstFile(workspaceId: string): string {
    return `${this.#headFile(workspaceId)}.first`;
  }

  /** Throws `NOT_FOUND` if there is no key file, and `IO` if the file holds no key or cannot be read. */
  #ownKey(): KeyPair {
    const pair = this.#keyPair();
    if (pair !== undefined) return pair;
    throw new ChronicleError("NOT_FOUND", `the signing key is gone: there is no file ${this.keyFile}`, {
      hint: "put this file back from a copy",
      data: { path: this.keyFile },
    });
  }

  /**
   * Like `#keyPair`, but returns `undefined` if the key file cannot be read or holds no key. `#ownKey` reports these
   * faults.
   */
  #readableKey(): KeyPair | undefined {
    try {
      return this.#keyPair();
    } catch (error) {
      if (error instanceof ChronicleError) return undefined;
      throw error;
    }
  }

  #keyPair(): KeyPair | undefined {
    const mark = markOf(this.#disk, this.keyFile);
    if (mark === "") return undefined;
    if (this.#key?.mark !== mark) this.#key = { mark, value: this.#readKey() };
    return this.#key.value;
  }

  #readKey(): KeyPair {
    try {
      const pem = readText(this.#disk, this.keyFile) ?? "";
      createPrivateKey(pem);
      return { pem, vkey: vkeyOf(pem, KEY_NAME) };
    } catch (cause) {
      const errno = errnoOf(cause);
      const why =
        errno === undefined ? "holds no signing key (an Ed25519 private key in PEM)" : `cannot be read: ${errno}`;
      throw new ChronicleError("IO", `${this.keyFile} ${why}`, {
        hint:
          isNotPermitted(cause) && errno !== undefined
            ? (hintOfErrno(errno) ?? "")
            : "put the right key back from a copy; if there is no copy, move the file away: a new key is made for new workspaces, " +
              "and existing ones use it after `chronicle head --accept`",
        data: { path: this.keyFile },
        cause,
      });
    }
  }

  /**
   * Makes the key file. If several processes make a key at the same time, only the first key is kept, and all processes
   * use that key.
   */
  #writeKey(pem = generateKey().privateKeyPem): void {
    const disk = this.#disk;
    makeFolders(disk, String(folderOf(this.keyFile)));
    // The mark is not the id of the process, because processes in different containers can have the same id.
    createFileDurably(disk, this.keyFile, Buffer.from(pem), { mark: uniqueMark() });
  }
}

function notKept(error: unknown, folder: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || !(error instanceof Error)) return error;
  const hint = hintOfSystemError(error, errno);
  const another = "choose another place for them with XDG_CONFIG_HOME";
  return new ChronicleError(
    "IO",
    `the signing key and the signed heads cannot be kept in ${folder}: ${systemMessage(error)}`,
    {
      hint: hint === undefined ? another : `${another}; ${hint}`,
      data: { errno, path: folder },
      cause: error,
    },
  );
}

function noHead(workspaceId: string, note: string): KeptHead {
  const nothing = "0".repeat(64) as KeptHead["hash"];
  const isSignedBy = (): boolean => false;
  return { workspaceId, seq: 0, hash: nothing, logRoot: nothing, root: nothing, note, valid: false, isSignedBy };
}

function isSigned(note: string, key: string): boolean {
  try {
    return verifySignedHead(note, key);
  } catch (error) {
    // A log can name any text as a key, so `key` is not always a valid verifier key.
    if (error instanceof ChronicleError) return false;
    throw error;
  }
}

/** Returns a string that differs after each change of a file; empty if the file is missing. */
function markOf(disk: Disk, path: string): string {
  const stat = disk.lstat(path);
  return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
}

/**
 * Returns the text of a file; `undefined` if there is no such file. Another process may replace or remove the file at the
 * same time.
 */
export function readText(disk: Disk, path: string): string | undefined {
  // Often there is no file, and `lstat` of a missing file costs a tenth of `open`.
  return disk.lstat(path) === undefined ? undefined : readDiskFile(disk, path)?.toString("utf8");
}

/** Like `readText`, for a derived file. A file that this user is not permitted to read is treated as missing. */
export function readDerived(disk: Disk, path: string): string | undefined {
  try {
    return readText(disk, path);
  } catch (error) {
    if (!isNotPermitted(error)) throw error;
    return undefined;
  }
}

function isNotPermitted(error: unknown): boolean {
  return ["EACCES", "EPERM"].includes(errnoOf(error) ?? "");
}

/** Makes a folder and the missing folders above it durably, with mode 0700. */
export function makeFolders(disk: Disk, folder: string): void {
  if (disk.lstat(folder) !== undefined) return;
  const parent = folder.slice(0, folder.lastIndexOf("/")) || "/";
  makeFolders(disk, parent);
  try {
    disk.makeFolder(folder, 0o700);
  } catch (error) {
    if (disk.lstat(folder) === undefined) throw error;
  }
  // Sync the target of the folder above, because that folder may be a link.
  disk.syncFolder(disk.realpath(parent));
}

/**
 * The head keeper of a mirror. A mirror keeps no heads, because only its origin signs heads. The replica's witness
 * checks the mirror against the origin's heads. A mirror has the same id as its origin, so kept heads with that id
 * belong to the origin. Signing or keeping a head throws `READ_ONLY`.
 */
export const NO_HEADS: HeadKeeper = {
  keyFile: "",
  verifierKey: () => undefined,
  makeKey: refuse,
  last: () => undefined,
  first: () => undefined,
  signFirst: refuse,
  keep: refuse,
  replace: refuse,
  former: () => [],
  retire: () => undefined,
  sign: refuse,
};

function refuse(): never {
  throw new ChronicleError("READ_ONLY", "heads of an origin's history are signed by the origin", {
    hint: "ask the origin, or leave out --upstream for the head of the replica's own history",
  });
}
