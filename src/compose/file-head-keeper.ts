import { ChronicleError, errnoOf } from "../core/errors.ts";
import {
  encodeHead,
  generateKey,
  parseSignedHead,
  signHead,
  type SignedHeadContent,
  verifySignedHead,
  vkeyOf,
} from "../core/signed-head.ts";
import { createPublicKey } from "node:crypto";
import type { Disk } from "../disk/disk.ts";
import { readFully, writeFileDurably } from "../disk/write-fully.ts";
import type { HeadKeeper, HeadToSign, KeptHead } from "../workspace/context.ts";

const KEY_NAME = "chronicle";

/** A head as it was when its file was last read. */
interface Loaded {
  /** Another one: the file has changed since. */
  readonly mark: string;
  readonly head: KeptHead | undefined;
}

/** Keeps the key (0600, made at first use) and the signed heads in the configuration folder, apart from the store. */
export class FileHeadKeeper implements HeadKeeper {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #pid: number;
  readonly #last = new Map<string, Loaded>();
  #key: { readonly pem: string; readonly vkey: string } | undefined;

  /** `pid`: this process's, so that several may keep heads at the same time. */
  constructor(disk: Disk, configFolder: string, pid: number) {
    this.#disk = disk;
    this.#folder = configFolder;
    this.#pid = pid;
  }

  verifierKey(): string | undefined {
    const isThere = this.#key !== undefined || this.#disk.lstat(this.#keyFile) !== undefined;
    return isThere ? this.#keyPair().vkey : undefined;
  }

  last(workspaceId: string): KeptHead | undefined {
    const mark = markOf(this.#disk, this.#headFile(workspaceId));
    const known = this.#last.get(workspaceId);
    if (known !== undefined && known.mark === mark) return known.head;
    const head = this.#load(workspaceId);
    this.#last.set(workspaceId, { mark, head });
    return head;
  }

  keep(head: HeadToSign): KeptHead {
    const { workspaceId } = head;
    const newest = this.#load(workspaceId);
    // Another process is further: its head is the one to keep.
    return newest !== undefined && newest.seq > head.seq && newest.valid ? newest : this.#write(this.sign(head));
  }

  #write(kept: KeptHead): KeptHead {
    makeFolders(this.#disk, `${this.#folder}/heads`);
    writeFileDurably(this.#disk, this.#headFile(kept.workspaceId), Buffer.from(kept.note), { mark: this.#mark });
    return kept;
  }

  sign(head: HeadToSign): KeptHead {
    const { pem, vkey } = this.#keyPair();
    const { workspaceId, seq, hash, logRoot, root } = head;
    const note = signHead(encodeHead({ workspace: workspaceId, seq, hash, logRoot, root }), pem, KEY_NAME);
    return { ...head, note, key: vkey, valid: true };
  }

  #load(workspaceId: string): KeptHead | undefined {
    const note = readText(this.#disk, this.#headFile(workspaceId));
    if (note === undefined) return undefined;
    try {
      return this.#checkedWhenAsked(workspaceId, note, parseSignedHead(note).content);
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      const nothing = "0".repeat(64) as KeptHead["hash"];
      const { vkey: key } = this.#keyPair();
      return { workspaceId, seq: 0, hash: nothing, logRoot: nothing, root: nothing, note, key, valid: false };
    }
  }

  /** Reading the key and checking a signature takes milliseconds, and is seldom needed: what agrees needs no proof. */
  #checkedWhenAsked(workspaceId: string, note: string, content: SignedHeadContent): KeptHead {
    const { seq, hash, logRoot, root, workspace } = content;
    const vkey = (): string => this.#keyPair().vkey;
    let valid: boolean | undefined;
    return {
      workspaceId,
      seq,
      hash,
      logRoot,
      root,
      note,
      get key() {
        return vkey();
      },
      get valid() {
        valid ??= workspace === workspaceId && verifySignedHead(note, vkey());
        return valid;
      },
    };
  }

  get #mark(): string {
    return `.${this.#pid}`;
  }

  #headFile(workspaceId: string): string {
    return `${this.#folder}/heads/${workspaceId}`;
  }

  get #keyFile(): string {
    return `${this.#folder}/key.pem`;
  }

  #keyPair(): { readonly pem: string; readonly vkey: string } {
    if (this.#key !== undefined) return this.#key;
    const pem = readText(this.#disk, this.#keyFile) ?? this.#makeKey(this.#keyFile);
    const publicKey = createPublicKey(pem);
    this.#key = { pem, vkey: vkeyOf(publicKey, KEY_NAME) };
    return this.#key;
  }

  /** Of several processes that begin at the same time one makes the key, and all use it. */
  #makeKey(path: string): string {
    const disk = this.#disk;
    makeFolders(disk, this.#folder);
    const own = `${path}${this.#mark}`;
    const pem = generateKey().privateKeyPem;
    writeFileDurably(disk, own, Buffer.from(pem));
    try {
      disk.link(own, path);
      disk.syncFolder(this.#folder);
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    } finally {
      disk.unlink(own);
    }
    return readText(disk, path) ?? pem;
  }
}

/** Differs after each change of a file. */
function markOf(disk: Disk, path: string): string {
  const stat = disk.lstat(path);
  return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
}

/** A small text file, or `undefined` if there is none. */
export function readText(disk: Disk, path: string): string | undefined {
  const stat = disk.lstat(path);
  if (stat === undefined) return undefined;
  const fd = disk.open(path, "read");
  try {
    const bytes = Buffer.alloc(stat.size);
    return bytes.subarray(0, readFully(disk, fd, bytes, 0)).toString("utf8");
  } finally {
    disk.close(fd);
  }
}

/** Makes a folder and those above it, 0700, durably. */
export function makeFolders(disk: Disk, folder: string): void {
  if (disk.lstat(folder) !== undefined) return;
  const parent = folder.slice(0, folder.lastIndexOf("/")) || "/";
  makeFolders(disk, parent);
  try {
    disk.makeFolder(folder, 0o700);
  } catch (error) {
    if (disk.lstat(folder) === undefined) throw error;
  }
  disk.syncFolder(parent);
}
