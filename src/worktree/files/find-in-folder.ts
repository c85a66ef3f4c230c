import { createHash } from "node:crypto";
import { errnoOf } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { childOf, decodeName, displayPath, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, NodeKind } from "../../disk/disk.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { ConfinedFs, type OpenedFile } from "./confined-fs.ts";

/**
 * The size in bytes up to which a found file stays in memory. A larger file is read again when its content is
 * requested.
 */
const HELD_BYTES = 8 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** The number of bytes of one file after which the search yields to other tasks. */
const YIELD_BYTES = 16 * PIECE_BYTES;

/** A file or link whose content or target had a wanted hash when it was read. */
export interface FoundFile {
  readonly hash: Hash;
  readonly size: number;
  /** The path on the disk, for people. */
  readonly where: string;
  /** Reads the content. A large file is read again, and may have changed since it was found. */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** The wanted hashes, with sizes in bytes if known. The caller removes a hash once its content is found. */
export type WantedFiles = ReadonlyMap<Hash, number | undefined>;

/**
 * Searches all files and links below `folder` for the wanted contents. `folder` must be an absolute path with all links
 * resolved. Does not follow links, and opens no special file. Reads a file only if a wanted content has the size of the
 * file, or an unknown size. Ignores bytes that are appended after the file was opened. Skips files and folders that
 * cannot be read.
 */
export async function* findInFolder(disk: Disk, folder: string, wanted: WantedFiles): AsyncGenerator<FoundFile, void> {
  using fs = new ConfinedFs(disk, folder);
  const looking = new FolderSearch(fs, wanted);
  const folders: WorkspacePath[] = [ROOT];
  for (let next = folders.pop(); next !== undefined && wanted.size > 0; next = folders.pop()) {
    for (const { path, kind } of looking.list(next)) {
      if (kind === "dir") folders.push(path);
      const found = wanted.size === 0 ? undefined : await looking.look(path, kind);
      if (found !== undefined && wanted.has(found.hash)) yield found;
    }
    fs.release();
    await yieldToEventLoop();
  }
}

class FolderSearch {
  readonly #fs: ConfinedFs;
  readonly #wanted: WantedFiles;

  constructor(fs: ConfinedFs, wanted: WantedFiles) {
    this.#fs = fs;
    this.#wanted = wanted;
  }

  list(folder: WorkspacePath): readonly { readonly path: WorkspacePath; readonly kind: NodeKind }[] {
    const items = despiteErrors(() => this.#fs.list(folder)) ?? [];
    return items.map(({ name, kind }) => ({ path: childOf(folder, decodeName(name)), kind }));
  }

  async look(path: WorkspacePath, kind: NodeKind): Promise<FoundFile | undefined> {
    if (kind === "symlink") return this.#link(path);
    if (kind !== "file") return undefined;
    const opened = despiteErrors(() => this.#fs.openRead(path));
    if (opened === undefined) return undefined;
    using file = opened;
    // Other tasks may run now. Meanwhile, the file stays open, but no folder does.
    this.#fs.release();
    return await this.#file(path, file);
  }

  #link(path: WorkspacePath): FoundFile | undefined {
    const target = despiteErrors(() => this.#fs.readlink(path));
    if (target === undefined || !this.#isWanted(target.length)) return undefined;
    return { hash: sha256(target), size: target.length, where: this.#shown(path), pieces: () => [target] };
  }

  async #file(path: WorkspacePath, file: OpenedFile): Promise<FoundFile | undefined> {
    const stat = despiteErrors(() => this.#fs.fstat(file));
    if (stat?.kind !== "file" || !this.#isWanted(stat.size)) return undefined;
    const { size } = stat;
    const where = this.#shown(path);
    if (size <= HELD_BYTES) {
      const bytes = this.#whole(file, size);
      return bytes && { hash: sha256(bytes), size: bytes.length, where, pieces: () => [bytes] };
    }
    const digest = createHash("sha256");
    if (!(await this.#readOn(file, size, (piece) => digest.update(piece)))) return undefined;
    return { hash: digest.digest("hex") as Hash, size, where, pieces: () => this.#reread(path, size) };
  }

  #whole(file: OpenedFile, size: number): Buffer | undefined {
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size;) {
      const count = despiteErrors(() => this.#fs.read(file, bytes.subarray(at), at));
      if (count === undefined) return undefined;
      // The file has become shorter.
      if (count === 0) return bytes.subarray(0, at);
      at += count;
    }
    return bytes;
  }

  /** Passes the first `size` bytes of a file to `take`, piece by piece. Returns false if the file could not be read. */
  async #readOn(file: OpenedFile, size: number, take: (piece: Uint8Array) => void): Promise<boolean> {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let at = 0, yieldAt = YIELD_BYTES; at < size;) {
      const count = despiteErrors(() => this.#fs.read(file, piece.subarray(0, Math.min(PIECE_BYTES, size - at)), at));
      if (count === undefined) return false;
      if (count === 0) return true;
      take(piece.subarray(0, count));
      at += count;
      if (at < yieldAt) continue;
      yieldAt = at + YIELD_BYTES;
      await yieldToEventLoop();
    }
    return true;
  }

  /** Opens the file again, and yields at most `size` bytes of it. */
  *#reread(path: WorkspacePath, size: number): Generator<Uint8Array, void> {
    using file = this.#fs.openRead(path);
    this.#fs.release();
    if (this.#fs.fstat(file).kind !== "file") return;
    for (let at = 0; at < size;) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - at));
      const count = this.#fs.read(file, piece, at);
      if (count === 0) return;
      yield piece.subarray(0, count);
      at += count;
    }
  }

  #isWanted(size: number): boolean {
    for (const wanted of this.#wanted.values()) if (wanted === undefined || wanted === size) return true;
    return false;
  }

  #shown(path: WorkspacePath): string {
    return `${this.#fs.root}/${displayPath(path)}`;
  }
}

function despiteErrors<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
