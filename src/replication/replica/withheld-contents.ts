import { isHash, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { folderOf, writeFully } from "../../disk/write-fully.ts";
import { readDiskFile } from "../../disk/read-disk-file.ts";

/**
 * Contents that lines of the origin name and this replica did not take, because they were filtered out or the origin
 * had freed them. Stored before the lines, so that `verify` knows what is rightly missing. Listing a content that the
 * replica has all the same (for another path, or later) does no harm.
 */
export interface WithheldContents {
  /** Returns all of them. */
  list(): ReadonlySet<Hash>;
  /** Stores them durably. Throws `IO`. */
  add(hashes: readonly Hash[]): void;
}

/** A list in its own append-only file, one hash per line. A line that a crash has torn is ignored. */
export class FileWithheldContents implements WithheldContents {
  readonly #disk: Disk;
  readonly #path: string;
  #known: Set<Hash> | undefined;
  /** False until a sync: a process that died may have left unsynced lines, on which nothing may rely. */
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
      // The text before it may be torn, so each list begins on a line of its own.
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
