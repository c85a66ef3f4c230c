import { isHash, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { folderOf, writeFully } from "../../disk/write-fully.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";

/**
 * The contents that the origin's lines name but that this replica did not store. Either the replica's rules leave them
 * out, or the origin does not have them. The list is stored before the lines, so that `verify` does not report these
 * contents as missing. A listed content can still be in the store, for example because another path needs the content,
 * or because the content arrived later.
 */
export interface WithheldContents {
  list(): ReadonlySet<Hash>;
  /** Adds hashes durably. Throws `IO` if the write fails. */
  add(hashes: readonly Hash[]): void;
}

/**
 * Keeps the list in a file of its own, with one hash per line. The file is only appended to. A torn line is ignored.
 */
export class FileWithheldContents implements WithheldContents {
  readonly #disk: Disk;
  readonly #path: string;
  #known: Set<Hash> | undefined;
  /** True once this object has synced the file. Until then, lines of an earlier process may not be durable. */
  #isDurable = false;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  list(): ReadonlySet<Hash> {
    return (this.#known ??= parse(readDiskFile(this.#disk, this.#path)));
  }

  add(hashes: readonly Hash[]): void {
    const known = (this.#known ??= parse(readDiskFile(this.#disk, this.#path)));
    const fresh = [...new Set(hashes)].filter((hash) => !known.has(hash));
    if (fresh.length === 0 && (this.#isDurable || hashes.length === 0)) return;
    const fd = this.#disk.open(this.#path, "append", 0o600);
    try {
      // Begin on a new line, because the file may end with a torn line.
      if (fresh.length > 0) writeFully(this.#disk, fd, Buffer.from(`\n${fresh.join("\n")}\n`), null);
      this.#disk.sync(fd);
    } finally {
      this.#disk.close(fd);
    }
    if (!this.#isDurable) this.#disk.syncFolder(folderOf(this.#path));
    this.#isDurable = true;
    for (const hash of fresh) known.add(hash);
  }
}

function parse(bytes: Buffer | undefined): Set<Hash> {
  return new Set(bytes?.toString("latin1").split("\n").filter(isHash));
}
