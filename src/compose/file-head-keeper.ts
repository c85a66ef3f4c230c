import { ChronicleError } from "../core/errors.ts";
import { encodeHead, generateKey, parseSignedHead, signHead, verifySignedHead, vkeyOf } from "../core/signed-head.ts";
import { createPublicKey } from "node:crypto";
import type { Disk } from "../disk/disk.ts";
import { readFully, writeFileDurably } from "../disk/write-fully.ts";
import type { HeadKeeper, HeadToSign, KeptHead } from "../workspace/context.ts";

const KEY_NAME = "chronicle";

/** Keeps the key (0600, made at first use) and the signed heads in the configuration folder, apart from the store. */
export class FileHeadKeeper implements HeadKeeper {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #last = new Map<string, KeptHead | undefined>();
  #key: { readonly pem: string; readonly vkey: string } | undefined;

  constructor(disk: Disk, configFolder: string) {
    this.#disk = disk;
    this.#folder = configFolder;
  }

  last(workspaceId: string): KeptHead | undefined {
    if (!this.#last.has(workspaceId)) this.#last.set(workspaceId, this.#load(workspaceId));
    return this.#last.get(workspaceId);
  }

  keep(head: HeadToSign): KeptHead {
    const kept = this.sign(head);
    makeFolders(this.#disk, `${this.#folder}/heads`);
    writeFileDurably(this.#disk, `${this.#folder}/heads/${head.workspaceId}`, Buffer.from(kept.note), 0o600);
    this.#last.set(head.workspaceId, kept);
    return kept;
  }

  sign(head: HeadToSign): KeptHead {
    const { pem, vkey } = this.#keyPair();
    const { workspaceId, seq, hash, logRoot, root } = head;
    const note = signHead(encodeHead({ workspace: workspaceId, seq, hash, logRoot, root }), pem, KEY_NAME);
    return { ...head, note, key: vkey, valid: true };
  }

  #load(workspaceId: string): KeptHead | undefined {
    const note = readText(this.#disk, `${this.#folder}/heads/${workspaceId}`);
    if (note === undefined) return undefined;
    const { vkey } = this.#keyPair();
    try {
      const { content } = parseSignedHead(note);
      const valid = content.workspace === workspaceId && verifySignedHead(note, vkey);
      return { ...content, workspaceId, note, key: vkey, valid };
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      const nothing = "0".repeat(64) as KeptHead["hash"];
      return { workspaceId, seq: 0, hash: nothing, logRoot: nothing, root: nothing, note, key: vkey, valid: false };
    }
  }

  #keyPair(): { readonly pem: string; readonly vkey: string } {
    if (this.#key !== undefined) return this.#key;
    const path = `${this.#folder}/key.pem`;
    let pem = readText(this.#disk, path);
    if (pem === undefined) {
      makeFolders(this.#disk, this.#folder);
      pem = generateKey().privateKeyPem;
      writeFileDurably(this.#disk, path, Buffer.from(pem), 0o600);
    }
    const publicKey = createPublicKey(pem);
    this.#key = { pem, vkey: vkeyOf(publicKey, KEY_NAME) };
    return this.#key;
  }
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
