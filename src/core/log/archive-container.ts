import { ChronicleError } from "../values/errors.ts";

/**
 * The container of an exported history. The container is a tar file (POSIX.1-1988, "ustar") in one fixed encoding, so
 * that the same history always gives the same bytes. Every entry is a regular file with the mode 0600, the user and
 * group id 0, and the time 0. The prefix field of an entry's header has the archive's folder. A reader accepts a header
 * only if the header has exactly the bytes that a writer makes of the entry's folder, name and size. Therefore, links,
 * other kinds of entries, and other encodings are refused.
 */

const BLOCK = 512;

/** The offset, in bytes, of the size in a header. */
const SIZE_AT = 124;

/** The largest size that eleven octal digits can state. A larger size is written in binary, as GNU tar does. */
const MAX_OCTAL = 8 ** 11 - 1;

/** The end of a container: two blocks of zeros. */
export const CONTAINER_END = new Uint8Array(2 * BLOCK);

/** One file in a container. */
export interface ContainerEntry {
  /** The path relative to the archive's folder, such as `contents/<hash>`. At most 100 ASCII characters. */
  readonly name: string;
  /** The size in bytes. */
  readonly size: number;
}

/** An entry that is being read. All its pieces must be read before the next entry is requested. */
export interface OpenedEntry extends ContainerEntry {
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Returns the header of an entry. `folder` has at most 155 ASCII characters. */
export function entryHeader(folder: string, { name, size }: ContainerEntry): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100, "latin1");
  block.write("0000600\0", 100, "latin1");
  block.write("0000000\0", 108, "latin1");
  block.write("0000000\0", 116, "latin1");
  writeSize(block, size);
  block.write("00000000000\0", 136, "latin1");
  block.write("0", 156, "latin1");
  block.write("ustar\0" + "00", 257, "latin1");
  block.write("0000000\0", 329, "latin1");
  block.write("0000000\0", 337, "latin1");
  block.write(folder, 345, 155, "latin1");
  // The checksum is computed as if its own field had eight spaces.
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function writeSize(block: Buffer, size: number): void {
  if (size <= MAX_OCTAL) block.write(`${size.toString(8).padStart(11, "0")}\0`, SIZE_AT, "latin1");
  else {
    block[SIZE_AT] = 0x80;
    block.writeBigUInt64BE(BigInt(size), SIZE_AT + 4);
  }
}

/** Returns the size in a header; `NaN` if the field is neither octal nor binary. */
function readSize(header: Buffer): number {
  if (header[SIZE_AT] === 0x80) return Number(header.readBigUInt64BE(SIZE_AT + 4));
  const digits = textOf(header.subarray(SIZE_AT, SIZE_AT + 12));
  return /^[0-7]{11}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

/** Returns the zero bytes that follow the content of an entry, up to the end of its last block. */
export function entryPadding({ size }: Pick<ContainerEntry, "size">): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/**
 * Reads a container entry by entry. Throws `INTEGRITY_VIOLATION` if the bytes are not a container, end too early, or
 * continue after the end of the container.
 */
export class ContainerReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);
  #folder: string | undefined;
  /** True while the content of the current entry has not been read completely. */
  #isOpen = false;

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#source = pieces[Symbol.asyncIterator]();
  }

  /** The folder of all entries; `""` until the first entry has been read. */
  get folder(): string {
    return this.#folder ?? "";
  }

  /** Resolves to the next entry; `undefined` at the end of the container. Throws an error if bytes follow this end. */
  async next(): Promise<OpenedEntry | undefined> {
    if (this.#isOpen) throw new Error("the previous entry has not been read completely");
    const header = await this.#block();
    if (header.every((byte) => byte === 0)) {
      await this.#checkEnd();
      return undefined;
    }
    const entry = this.#parse(header);
    this.#isOpen = true;
    return { ...entry, pieces: this.#pieces(entry) };
  }

  #parse(header: Buffer): ContainerEntry {
    const name = textOf(header.subarray(0, 100));
    const folder = textOf(header.subarray(345, 500));
    const size = readSize(header);
    const isExact = Number.isSafeInteger(size) && entryHeader(folder, { name, size }).equals(header);
    if (!isExact || (this.#folder ?? folder) !== folder) refuse("an entry has a header that no export writes");
    this.#folder = folder;
    return { name, size };
  }

  async *#pieces(entry: ContainerEntry): AsyncGenerator<Uint8Array, void> {
    for (let left = entry.size; left > 0;) {
      const piece = await this.#some(left);
      left -= piece.length;
      yield piece;
    }
    const padding = await this.#exactly(entryPadding(entry).length);
    if (padding.some((byte) => byte !== 0)) refuse(`the padding behind ${entry.name} is not empty`);
    this.#isOpen = false;
  }

  async #checkEnd(): Promise<void> {
    const second = await this.#block();
    if (second.some((byte) => byte !== 0)) refuse("its end is damaged");
    if (this.#held.length > 0 || (await this.#more())) refuse("there are bytes behind its end");
  }

  #block(): Promise<Buffer> {
    return this.#exactly(BLOCK);
  }

  async #exactly(length: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0;) {
      const piece = await this.#some(left);
      parts.push(piece);
      left -= piece.length;
    }
    return Buffer.concat(parts, length);
  }

  async #some(most: number): Promise<Uint8Array> {
    if (this.#held.length === 0 && !(await this.#more())) refuse("it ends too early: a part of it is missing");
    const piece = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }

  /** Reads from the source until `#held` has bytes. Resolves to false if the source ends before that. */
  async #more(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done === true) return false;
      if (value.length === 0) continue;
      this.#held = value;
      return true;
    }
  }
}

/** Returns the text of a field up to its first NUL. */
function textOf(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("latin1", 0, end < 0 ? field.length : end);
}

function refuse(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `the archive is refused: ${reason}`, {
    hint: "nothing was imported; take another copy of the archive, or export the history again",
  });
}
